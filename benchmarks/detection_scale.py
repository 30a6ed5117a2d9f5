"""Time and memory of the detectors on large graphs, each run in a separate process.

    python benchmarks/detection_scale.py [--graphs coauthor-cs,wordnet,mixed] [--before 0c32955]

Writes results/detection_scale.md. Memory is the highest resident size of the process, with what Python, PyTorch and the
data occupy before ``fit`` beside it. ``--before`` measures the code of another commit as well, just before this one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from _measure import highest_memory, in_own_process
from _mixed_table import mixed_table
from _pages import command, commit, cores, header, made_by, save
from torch_geometric.data import Data

from magnet import corruption, datasets, detection

GRAPHS = {
    "coauthor-cs": "Coauthor-CS, sparse",
    "wordnet": "WordNet",
    "mixed": "columns of every kind, errors in 10 % of the rows",
    "million": "synthetic, homophily 0.8, 20 % of the rows replaced",
}
#: Targets that were set before the runs: seconds, gigabytes.
TARGETS = {
    ("coauthor-cs", "context"): "60 s, 2 GB",
    ("wordnet", "context"): "60 s",
    ("million", "context"): "600 s, 10 GB",
    ("million", "auto"): "600 s, 10 GB",
}


def load(name: str) -> tuple[Data, list[detection.Column] | None]:
    if name == "mixed":
        return mixed_table(0, True, 100_000)[:2]
    if name != "million":
        return datasets.load(name), None
    graph = datasets.synthetic(1_000_000, 64, 8, 20.0, 0.8, kind="continuous", seed=0)
    return corruption.inject_attributes(graph, ratio=0.2, candidates=1, select="random", seed=0).data, None


def measure(name: str, detector: str) -> dict[str, Any]:
    data, columns = load(name)
    detection.make(detector).fit(datasets.synthetic(500, 40, seed=0))  # compiles what is not in Numba's cache yet
    before = highest_memory() / 2**30
    start = time.perf_counter()
    fitted = detection.make(detector).fit(data, columns)
    seconds = time.perf_counter() - start
    flagged = float(fitted.flagged_nodes_.float().mean())
    return {
        "nodes": data.num_nodes,
        "edges": data.num_edges // 2,
        "features": data.num_features,
        "seconds": seconds,
        "with_flags": time.perf_counter() - start,
        "before": before,
        "peak": highest_memory() / 2**30,
        "flagged": flagged,
    }


def run(name: str, detector: str, threads: int, source: Path) -> dict[str, Any]:
    """Measure the code in a folder, in a process of its own."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])}
    words = ("--one", f"{name}/{detector}", "--threads", threads)
    measured = in_own_process(__file__, *words, environment=environment)
    if measured is None:
        raise SystemExit(1)
    return dict(measured)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--detectors", default="context,auto")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--before", default="", help="a commit to compare with")
    parser.add_argument("--output", type=Path, default=Path("results"))
    parser.add_argument("--one", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.one:
        print(json.dumps(measure(*options.one.split("/"))))
        return
    lines = [
        "# Detection on large graphs",
        "",
        f"{options.threads} threads on {cores()}, commit {commit()}. Seconds of",
        "`fit` / of `fit` and the flags of all rows and cells. Memory: peak of the process / before `fit`.",
        "",
        *header(
            *("graph", "nodes", "edges", "features", "detector", "seconds", f"at {options.before or 'another commit'}"),
            *("GB", "flagged rows", "target"),
        ),
    ]
    with tempfile.TemporaryDirectory() as folder:
        if options.before:
            archive = subprocess.run(["git", "archive", options.before, "src"], check=True, stdout=subprocess.PIPE)
            subprocess.run(["tar", "-x", "-C", folder], check=True, input=archive.stdout)
        for name in options.graphs.split(","):
            for detector in options.detectors.split(","):
                then = run(name, detector, options.threads, Path(folder) / "src") if options.before else None
                r = run(name, detector, options.threads, Path(__file__).resolve().parents[1] / "src")
                old = f"{then['seconds']:.1f} / {then['with_flags']:.1f}" if then else "-"
                line = (
                    f"| {GRAPHS[name]} | {r['nodes']} | {r['edges']} | {r['features']} | {detector} | "
                    f"{r['seconds']:.1f} / {r['with_flags']:.1f} | {old} | {r['peak']:.1f} / {r['before']:.1f} | "
                    f"{r['flagged']:.1%} | {TARGETS.get((name, detector), '-')} |"
                )
                print(line, flush=True)
                lines.append(line)
    save("\n".join([*lines, *made_by([command()])]), options.output / "detection_scale.md")


if __name__ == "__main__":
    main()
