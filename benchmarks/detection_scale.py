"""Time and memory of the detectors on large graphs, each run in a separate process.

Writes results/detection_scale.md. Memory is the highest resident size of the process, with what Python, PyTorch and the
data occupy before ``fit`` beside it.
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
from typing import Any

import torch
from torch_geometric.data import Data

from magnet import corruption, datasets, detection

GRAPHS = {
    "coauthor-cs": "Coauthor-CS, sparse",
    "wordnet": "WordNet",
    "million": "synthetic, homophily 0.8, 20 % of the rows replaced",
}
# What the project promises: seconds, gigabytes.
BARS = {
    ("coauthor-cs", "context"): "60 s, 2 GB",
    ("wordnet", "context"): "60 s",
    ("million", "context"): "600 s, 10 GB",
    ("million", "auto"): "600 s, 10 GB",
}


def load(name: str) -> Data:
    if name != "million":
        return datasets.load(name)
    graph = datasets.synthetic(1_000_000, 64, 8, 20.0, 0.8, kind="continuous", seed=0)
    return corruption.inject_attributes(graph, ratio=0.2, candidates=1, select="random", seed=0).data


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(name: str, detector: str) -> dict[str, Any]:
    data = load(name)
    detection.make(detector).fit(datasets.synthetic(500, 40, seed=0))  # compiles what is not in Numba's cache yet
    before = peak()
    start = time.perf_counter()
    found = detection.make(detector).fit(data)
    seconds = time.perf_counter() - start
    flagged = float(found.flagged_nodes_.float().mean())
    return {
        "nodes": data.num_nodes,
        "edges": data.num_edges // 2,
        "features": data.num_features,
        "seconds": seconds,
        "with_flags": time.perf_counter() - start,
        "before": before,
        "peak": peak(),
        "flagged": flagged,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--detectors", default="context,auto")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
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
        f"{options.threads} threads on {os.cpu_count()} CPU cores ({platform.machine()}). Seconds of",
        "`fit` / of `fit` and the flags of all rows and cells. Memory: peak of the process / before `fit`.",
        "",
        "| graph | nodes | edges | features | detector | seconds | GB | flagged rows | asked for |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in options.graphs.split(","):
        for detector in options.detectors.split(","):
            command = [sys.executable, __file__, "--one", f"{name}/{detector}", "--threads", str(options.threads)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            r = json.loads(done.stdout.splitlines()[-1])
            line = (
                f"| {GRAPHS[name]} | {r['nodes']} | {r['edges']} | {r['features']} | {detector} | "
                f"{r['seconds']:.0f} / {r['with_flags']:.0f} | {r['peak']:.1f} / {r['before']:.1f} | "
                f"{r['flagged']:.1%} | {BARS.get((name, detector), '-')} |"
            )
            print(line, flush=True)
            lines.append(line)
    lines += ["", "Made by:", "", f"    python benchmarks/detection_scale.py {' '.join(sys.argv[1:])}".rstrip(), ""]
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "detection_scale.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
