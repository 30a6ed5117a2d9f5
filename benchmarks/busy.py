"""The whole pipeline on a quiet machine, and with one core kept busy.

    python benchmarks/busy.py [--dataset cora] [--repeats 3] [--save results/busy.md]

Stages: detection (``auto``), ``propagate`` with lam = 30 on the detector's soft trust, the framelet recovery of the
classifier, and ``MAGnetClassifier("gcn")`` as a whole, on rows replaced by attribute injection (ratio 0.5, seed 0).
Every stage runs in a process of its own, the median of its repeats counts, and the neighbor is a process that does
nothing but compute. On two cores half of the work has to wait: a stage that shares its work out evenly and waits
for the slower half takes twice as long; one that leans on many small parallel regions takes ten times as long.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from _measure import in_own_process, with_replaced_rows
from _pages import command, cores, header, save

STAGES = ("detection", "propagate", "recover", "classifier")
LAM = 30.0


def stage(name: str, inputs: Path) -> Callable[[], object]:
    """A function that runs the stage once, everything else prepared."""
    from torch_geometric.data import Data

    from magnet import FrameletTransform, Graph, MAGnetClassifier, propagate, recover
    from magnet.detection import make

    stored = torch.load(inputs, weights_only=True)
    data = Data(**{key: stored[key] for key in ("x", "edge_index", "y", "train_mask", "val_mask", "test_mask")})
    if name == "detection":
        return lambda: make("auto").fit(data)
    if name == "classifier":
        return lambda: MAGnetClassifier("gcn").fit(data)
    graph = Graph.from_edges(data.edge_index, data.num_nodes)
    if name == "propagate":
        weight = stored["soft_trust"].square()
        return lambda: propagate(data.x, weight, graph, lam=LAM)
    transform = FrameletTransform(graph)
    options = {"max_iter": 20, "tol": 0.0, "history": False, "start": "propagated", "degree_weights": False}
    return lambda: recover(data.x, stored["soft_trust"], transform, **options)


def measure(name: str, inputs: Path, repeats: int) -> float:
    """Median seconds of a stage in this process, after one run that compiles and fills caches."""
    run = stage(name, inputs)
    run()
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


@contextmanager
def neighbor() -> Iterator[None]:
    """A process that keeps one core busy."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def prepare(dataset: str, target: Path) -> None:
    """The corrupted data and the detector's trust, once for all stages."""
    from magnet.arrays import dense
    from magnet.detection import make

    data = with_replaced_rows(dataset)
    soft = dense(make("auto").fit(data).soft_trust_)
    torch.save({**data.to_dict(), "soft_trust": soft.to(data.x)}, target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--stages", default=",".join(STAGES), help="comma-separated; all by default")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--save", type=Path, help="write the table to this file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--inputs", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.inputs, options.repeats)))
        return
    where = f"{cores()}, torch {torch.__version__.split('+')[0]}"
    lines = ["# A busy machine", "", f"`{command()}` on {where}, {options.dataset}:", ""]
    lines += header("stage", "quiet, seconds", "one core busy, seconds", "ratio")
    print("\n".join(lines))
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder) / "inputs.pt"
        prepare(options.dataset, inputs)
        total = [0.0, 0.0]
        for name in options.stages.split(","):
            words = ("--one", name, "--inputs", inputs, "--repeats", options.repeats)
            quiet = in_own_process(__file__, *words)
            with neighbor():
                busy = in_own_process(__file__, *words)
            if quiet is None or busy is None:
                raise SystemExit(1)
            total = [total[0] + quiet, total[1] + busy]
            lines.append(f"| {name} | {quiet:.2f} | {busy:.2f} | {busy / quiet:.2f} |")
            print(lines[-1], flush=True)
    lines.append(f"| together | {total[0]:.2f} | {total[1]:.2f} | {total[1] / total[0]:.2f} |")
    print(lines[-1])
    save("\n".join([*lines, ""]), options.save)


if __name__ == "__main__":
    main()
