"""Detection and recovery on power-law graphs of growing size, and the estimated cost of ogbn-papers100M.

    python benchmarks/scale.py [--nodes 100000,1000000,5000000] [--threads 2] [--save results/scale.md]
    python benchmarks/scale.py --nodes 5000000 --stages detect --save detect.md   # one stage
    python benchmarks/scale.py --nodes "" --add detect.json,recover.json --save results/scale.md   # put together

Graphs with 10 links a node on average and 32 continuous features, of which a tenth of the rows were replaced (random
injection, seed 0). ``detection.make("auto").fit`` judges rows and cells; ``recover`` repairs the replaced rows (its
defaults, 20 iterations, no history). Every stage of every size runs in a process of its own, the kernels compiled
before. Memory is the peak of that process, the graph and what Python holds included. The table, the measurements
(``.json``) and the plot (``.svg``) are written after every stage; the estimate for ogbn-papers100M uses the cost per
edge and feature and the bytes per node of the largest size.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import _pages
from _measure import highest_memory, in_own_process
from _pages import command, header

FEATURES, DEGREE = 32, 10.0
STAGES = {"detect": "detection", "recover": "recovery"}
#: ogbn-papers100M: nodes, undirected edges, features (Hu et al., "Open Graph Benchmark", NeurIPS 2020).
PAPERS = (111_059_956, 1_615_685_872, 128)
#: Machines: name, memory in GB, cores and dollars an hour. On-demand list prices of memory-optimized sizes of one cloud
#: (AWS, us-east, 2024), rounded. They age; the memory and the hours do not.
MACHINES = (("r7i.24xlarge", 768, 96, 6.35), ("r7i.48xlarge", 1536, 192, 12.70), ("x2idn.32xlarge", 2048, 128, 13.34))
#: Bytes for an edge, both directions: the matrix (an index and a value of 8 each), its copy for the kernels, and the
#: ends and products of the pairs (detection) or the scaled Laplacian (recovery).
BYTES_PER_EDGE = 100

Row = dict[str, Any]


def measure(stage: str, nodes: int) -> Row:
    from magnet import FrameletTransform, corruption, datasets, recover
    from magnet.detection import make

    def graph(size: int) -> Any:
        data = datasets.synthetic(size, FEATURES, average_degree=DEGREE, degree="power", kind="continuous", seed=0)
        return corruption.inject_attributes(data, ratio=0.1, candidates=1, select="random", seed=0)

    def run(bad: Any) -> float:
        data = bad.data
        if stage == "recover":
            trust = (~bad.nodes).float()
            transform = FrameletTransform(data.edge_index, data.num_nodes)
            recover(data.x, trust, transform, max_iter=20, tol=0.0, history=False)
            return float("nan")
        detector = make("auto").fit(data)
        detector.trust_  # noqa: B018  (computed when it is asked for)
        return float(detector.swapped_rows_.float().mean())

    run(graph(2000))
    bad = graph(nodes)
    began = time.perf_counter()
    flagged = run(bad)
    seconds = time.perf_counter() - began
    edges = bad.data.num_edges // 2
    return {
        "nodes": nodes,
        "edges": edges,
        "stage": stage,
        "seconds": seconds,
        "peak": highest_memory(),
        "flagged": flagged,
    }


def table(rows: list[Row]) -> list[str]:
    lines = header("nodes", "edges", "stage", "seconds", "ns per edge and feature", "peak memory", "rows flagged")
    for row in rows:
        nanoseconds = row["seconds"] / (row["edges"] * FEATURES) * 1e9
        flagged = f"{row['flagged']:.1%}" if row["stage"] == "detect" else "-"
        lines.append(
            f"| {row['nodes']} | {row['edges']} | {STAGES[row['stage']]} | {row['seconds']:.1f} | {nanoseconds:.0f} | "
            f"{row['peak'] / 1e9:.1f} GB | {flagged} |"
        )
    return lines


def papers(rows: list[Row], threads: int) -> list[str]:
    """The estimate for ogbn-papers100M from the largest size of each stage."""
    nodes, edges, features = PAPERS
    hours, memory, lines = {}, {}, []
    for stage, name in STAGES.items():
        of_stage = [row for row in rows if row["stage"] == stage]
        if not of_stage:
            return []
        row = of_stage[-1]
        hours[stage] = row["seconds"] / (row["edges"] * FEATURES) * edges * features / 3600
        # what is proportional to the nodes and features, beside the graph itself
        each = max(0.0, row["peak"] - BYTES_PER_EDGE * row["edges"]) / (row["nodes"] * FEATURES)
        memory[stage] = each * nodes * features + BYTES_PER_EDGE * edges
        lines.append(
            f"- {name}: {hours[stage]:.0f} hours on {threads} cores and {memory[stage] / 1e12:.1f} TB "
            f"({each:.0f} bytes for each node and feature), from {row['nodes']} nodes above"
        )
    lines = [f"ogbn-papers100M ({nodes} nodes, {edges} edges, {features} features):", "", *lines, ""]
    lines += header("machine", "memory", "cores", "stage", "fits in memory", "hours", "dollars")
    for machine, size, cores, price in MACHINES:
        for stage, name in STAGES.items():
            took = hours[stage] * (threads / cores if stage == "recover" else 1.0)
            fits = "yes" if memory[stage] < size * 1e9 else "no: from files"
            lines.append(f"| {machine} | {size} GB | {cores} | {name} | {fits} | {took:.1f} | {took * price:.0f} |")
    return [
        *lines,
        "",
        "Assumed: time linear in edges times features (the table above says how far that holds);"
        f" {BYTES_PER_EDGE} bytes for each edge; columns of the recovery shared evenly by all cores (on one machine, or"
        f" as tasks of a Ray cluster), each as fast as one of the {threads} here: memory bandwidth will give less, so"
        " that twice the hours are the upper end; detection no faster than on"
        f" {threads} cores, as only its array operations use several. Where the features do not fit in memory they are"
        " read from a file (`x` as a `.npy` path; results of the recovery by `out=`), and detection keeps matrices of"
        " their size in temporary files: the graph (0.2 TB) and some kilobytes per node stay in memory, the disk's time"
        " is not counted. List prices of a cloud's memory-optimized machines, on demand, 2024; storage is not counted.",
    ]


def plot(rows: list[Row], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.5), layout="constrained")
    axes = figure.add_subplot()
    for stage, name in STAGES.items():
        points = [(row["edges"] * FEATURES, row["seconds"]) for row in rows if row["stage"] == stage]
        if points:
            work, seconds = zip(*points, strict=True)
            axes.loglog(work, seconds, "o-", label=name)
            axes.loglog(work, [seconds[0] * w / work[0] for w in work], ":", color="gray")
    axes.set_xlabel("edges x features")
    axes.set_ylabel("seconds (dotted: linear)")
    axes.legend()
    figure.savefig(path, metadata={"Date": None})


def save(rows: list[Row], path: Path, head: str, threads: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = path.with_suffix(".svg")
    plot(rows, picture)
    path.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    shown = ["", f"![seconds against edges x features]({picture.name})", ""]
    lines = ["# Large graphs", "", head, "", *table(rows), *shown, *papers(rows, threads), ""]
    _pages.save("\n".join(lines), path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="100000,1000000,5000000", help="comma-separated")
    parser.add_argument("--stages", default=",".join(STAGES), help="comma-separated")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--add", default="", help="measurements of other runs (.json, comma-separated)")
    parser.add_argument("--save", type=Path, help="write the tables to this file, measurements and plot beside it")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one[0], int(options.one[1]))))
        return
    head = f"`{command()}` on {_pages.cores()}:"
    rows: list[Row] = [row for path in options.add.split(",") if path for row in json.loads(Path(path).read_text())]
    threads = str(options.threads)
    environment = os.environ | {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
    for nodes in [int(size) for size in options.nodes.split(",") if size]:
        for stage in options.stages.split(","):
            row = in_own_process(__file__, "--one", stage, nodes, environment=environment)
            if row is None:
                continue
            rows.append(row)
            print(table(rows)[-1], flush=True)
            if options.save is not None:
                save(rows, options.save, head, options.threads)
    rows.sort(key=lambda row: (row["nodes"], row["stage"]))
    print("\n".join(papers(rows, options.threads)))
    if options.save is not None:
        save(rows, options.save, head, options.threads)


if __name__ == "__main__":
    main()
