"""Detection and recovery on power-law graphs of growing size, and what ogbn-papers100M would cost.

    python benchmarks/scale.py [--nodes 100000,1000000,5000000] [--threads 2] [--save results/scale.md]

Graphs with 10 links a node on average and 32 continuous features, of which a tenth of the rows were replaced (random
injection, seed 0). ``detection.make("auto").fit`` judges rows and cells, ``recover`` repairs what it distrusts (its
defaults, at most 20 iterations, no history). Every size runs in a process of its own. Memory is the peak of that
process, the graph and what Python holds included. The table and the plot (``.svg`` beside it) are written after every
size; the estimate for ogbn-papers100M uses the cost per edge and feature and the bytes per node of the largest one.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

FEATURES, DEGREE = 32, 10.0
#: ogbn-papers100M: nodes, undirected edges, features (Hu et al., "Open Graph Benchmark", NeurIPS 2020).
PAPERS = (111_059_956, 1_615_685_872, 128)
#: Machines: name, memory in GB, cores and dollars an hour. On-demand list prices of memory-optimized sizes of one cloud
#: (AWS, us-east, 2024), rounded. They age; the memory and the hours do not.
MACHINES = (("r7i.24xlarge", 768, 96, 6.35), ("r7i.48xlarge", 1536, 192, 12.70), ("x2idn.32xlarge", 2048, 128, 13.34))
#: Bytes of a sparse matrix for each direction of an edge: an index of 8 and a value of 8.
BYTES_PER_EDGE = 32


def peak() -> float:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def measure(nodes: int) -> dict[str, float]:
    from magnet import FrameletTransform, corruption, datasets, recover
    from magnet.detection import make

    data = datasets.synthetic(nodes, FEATURES, average_degree=DEGREE, degree="power", kind="continuous", seed=0)
    data = corruption.inject_attributes(data, ratio=0.1, candidates=1, select="random", seed=0).data
    found = {"nodes": nodes, "edges": data.num_edges // 2, "before": peak()}
    began = time.perf_counter()
    detector = make("auto").fit(data)
    trust = detector.trust_
    found |= {"detect": time.perf_counter() - began, "detect_peak": peak()}
    found["flagged"] = float(detector.flagged_rows().float().mean())
    del detector
    began = time.perf_counter()
    recover(data.x, trust, FrameletTransform(data.edge_index, nodes), max_iter=20, tol=0.0, history=False)
    return found | {"recover": time.perf_counter() - began, "peak": peak()}


def table(rows: list[dict[str, float]]) -> list[str]:
    lines = ["| nodes | edges | detection, s | recovery, s | ns per edge and feature | peak memory | rows flagged |"]
    lines.append("|---|---|---|---|---|---|---|")
    for row in rows:
        work = row["edges"] * FEATURES
        each = [row[stage] / work * 1e9 for stage in ("detect", "recover")]
        lines.append(
            f"| {row['nodes']:.0f} | {row['edges']:.0f} | {row['detect']:.1f} | {row['recover']:.1f} | "
            f"{each[0]:.0f} + {each[1]:.0f} | {row['peak'] / 1e9:.1f} GB | {row['flagged']:.1%} |"
        )
    return lines


def papers(row: dict[str, float], threads: int) -> list[str]:
    """The estimate for ogbn-papers100M from one measured size."""
    nodes, edges, features = PAPERS
    work = edges * features
    hours = {stage: row[stage] / (row["edges"] * FEATURES) * work / 3600 * threads for stage in ("detect", "recover")}
    # what is proportional to the nodes and features, beside the graph itself
    matrices = (row["peak"] - BYTES_PER_EDGE * row["edges"]) / (row["nodes"] * FEATURES)
    memory = matrices * nodes * features + BYTES_PER_EDGE * edges
    lines = [
        f"ogbn-papers100M ({nodes} nodes, {edges} edges, {features} features), from {row['nodes']:.0f} nodes above:",
        f"{hours['detect']:.0f} core hours of detection, {hours['recover']:.0f} of recovery and {memory / 1e12:.1f} TB",
        f"({matrices:.0f} bytes for each node and feature, {BYTES_PER_EDGE} for each edge).",
        "",
        "| machine | memory | cores | holds it in memory | recovery, hours | recovery, dollars |",
        "|---|---|---|---|---|---|",
    ]
    for name, size, cores, price in MACHINES:
        time_ = hours["recover"] / cores
        fits = "yes" if memory < size * 1e9 else "no: features and results as memory maps, a range of columns at a time"
        lines.append(f"| {name} | {size} GB | {cores} | {fits} | {time_:.2f} | {time_ * price:.0f} |")
    detect = hours["detect"]
    lines += [
        "",
        "Assumed: time linear in edges times features (the table above says how far that holds); columns of the",
        f"recovery shared evenly by all cores, as fast as one of the {threads} here (memory bandwidth will give less:",
        f"twice the hours are the upper end); detection on one core, {detect:.0f} hours, as only its array operations",
        "use several. List prices of a cloud's memory-optimized machines, on demand, 2024; storage is not counted.",
    ]
    return lines


def plot(rows: list[dict[str, float]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.5), layout="constrained")
    axes = figure.add_subplot()
    work = [row["edges"] * FEATURES for row in rows]
    for stage, label in (("detect", "detection"), ("recover", "recovery")):
        axes.loglog(work, [row[stage] for row in rows], "o-", label=label)
        axes.loglog(work, [rows[0][stage] * w / work[0] for w in work], ":", color="gray")
    axes.set_xlabel("edges x features")
    axes.set_ylabel("seconds (dotted: linear)")
    axes.legend()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="100000,1000000,5000000", help="comma-separated")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--save", type=Path, help="write the tables to this file, the plot beside it")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)))
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    command = " ".join(["python", "benchmarks/scale.py", *sys.argv[1:]])
    head = ["# Large graphs", "", f"`{command}` on {cores} CPU cores ({platform.machine()}):", ""]
    rows: list[dict[str, float]] = []
    threads = str(options.threads)
    environment = os.environ | {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
    for nodes in map(int, options.nodes.split(",")):
        command_one = [sys.executable, __file__, "--one", str(nodes)]
        done = subprocess.run(command_one, capture_output=True, text=True, env=environment)
        if done.returncode:
            print(f"{nodes} nodes failed: {(done.stderr.strip().splitlines() or ['killed'])[-1]}", file=sys.stderr)
            break
        rows.append(json.loads(done.stdout.strip().splitlines()[-1]))
        lines = [*table(rows), "", *papers(rows[-1], options.threads)]
        print("\n".join(lines), flush=True)
        if options.save is not None:
            options.save.parent.mkdir(parents=True, exist_ok=True)
            picture = options.save.with_suffix(".svg")
            plot(rows, picture)
            shown = ["", f"![seconds against edges x features]({picture.name})", ""]
            options.save.write_text("\n".join([*head, *table(rows), *shown, *papers(rows[-1], options.threads), ""]))


if __name__ == "__main__":
    main()
