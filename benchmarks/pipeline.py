"""Time of the whole pipeline, relative to a plain PyG GCN.

    python benchmarks/pipeline.py [--parts cora,citeseer,table] [--rows 100000] [--save results/pipeline.md]

``MAGnetClassifier("gcn")`` on Cora and CiteSeer with replaced rows (attribute injection, ratio 0.5, seed 0) against one
training of a plain GCN on the same graph: hidden 64, dense x, uncached ``GCNConv``, 200 epochs, validation every epoch.
``clean`` on a made-up linked table (8 continuous columns, 4 counts, a category of 50, a flag; 3 links a row). Memory
is the peak of the process less what it held before. Every line runs in a process of its own.

The bars: at most 4 times the plain training on Cora, 6 times on CiteSeer, and 4 times the memory of the dense features;
the table of 100 000 rows in at most 30 s and 1 GB, of a million rows in 5 minutes and 6 GB.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from _measure import PeakMemory, in_own_process, plain_gcn, with_replaced_rows
from _pages import command, cores, header, save

#: Targets that were set before the runs: times as long as a plain training, and memory in dense feature matrices.
TIME_TARGETS, MEMORY_TARGET = {"cora": 4.0, "citeseer": 6.0}, 4.0


def plain(dataset: str) -> dict[str, float]:
    data = with_replaced_rows(dataset)
    plain_gcn(data, epochs=3)
    with PeakMemory() as memory:
        seconds, _ = plain_gcn(data)
    return {"seconds": seconds, "memory": memory.peak, "dense": data.x.numel() * 4}


def classifier(dataset: str) -> dict[str, float]:
    from magnet import MAGnetClassifier

    data = with_replaced_rows(dataset)
    MAGnetClassifier("gcn", epochs=2).fit(data)  # compiles the kernels where they are not in the cache yet
    began = time.perf_counter()
    with PeakMemory() as memory:
        model = MAGnetClassifier("gcn").fit(data)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "memory": memory.peak, "dense": data.x.numel() * 4, "accuracy": model.score(data)}


def linked_table(rows: int):  # type: ignore[no-untyped-def]
    """8 continuous columns, 4 counts, a category of 50, a flag; 3 links a row, mostly within a category; 1 % wrong."""
    import pandas as pd

    rng = np.random.default_rng(0)
    group = rng.integers(50, size=rows)
    centers = rng.normal(size=(50, 8))
    columns = {f"value{k}": np.round(centers[group, k] + 0.3 * rng.normal(size=rows), 3) for k in range(8)}
    columns |= {f"count{k}": rng.poisson(np.exp(1 + 0.5 * centers[group, k])) for k in range(4)}
    columns |= {"category": np.char.add("c", group.astype(str)), "flag": np.where(centers[group, 0] > 0, "yes", "no")}
    for k in range(8):
        wrong = rng.random(rows) < 0.01
        columns[f"value{k}"][wrong] *= 20
    order = np.argsort(group, kind="stable")
    near = order[(np.argsort(order)[:, None] + rng.integers(1, 20, (rows, 3))) % rows]
    nodes = pd.DataFrame({"id": np.arange(rows), **columns})
    edges = pd.DataFrame({"source": np.repeat(np.arange(rows), 3), "target": near.ravel()})
    return nodes, edges


def clean(rows: str) -> dict[str, float]:
    import magnet

    nodes, edges = linked_table(int(rows))
    began = time.perf_counter()
    with PeakMemory() as memory:
        result = magnet.clean(nodes, edges, id="id")
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "memory": memory.peak, "listed": float(len(result.suspicious_cells))}


WORK = {"plain": plain, "classifier": classifier, "clean": clean}


def graph_line(dataset: str) -> str:
    plain, ours = (in_own_process(__file__, "--one", work, dataset) for work in ("plain", "classifier"))
    if plain is None or ours is None:
        return f"| {dataset} | failed | | | | | |"
    ratio, memory = ours["seconds"] / plain["seconds"], ours["memory"] / ours["dense"]
    of_plain = plain["memory"] / plain["dense"]
    return (
        f"| {dataset} | {plain['seconds']:.1f} | {ours['seconds']:.1f} | "
        f"{ratio:.1f} (target {TIME_TARGETS[dataset]:g}) | "
        f"{of_plain:.1f} | {memory:.1f} (target {MEMORY_TARGET:g}) | {ours['accuracy']:.3f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="cora,citeseer,table", help="comma-separated; all by default")
    parser.add_argument("--rows", default="100000", help="rows of the tables, comma-separated")
    parser.add_argument("--save", type=Path, help="write the tables to this file")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(WORK[options.one[0]](options.one[1])))
        return
    lines = ["# The whole pipeline", "", f"`{command()}` on {cores()}:", ""]
    seconds = ("plain GCN, seconds", "MAGnetClassifier, seconds", "times as long")
    lines += header("graph", *seconds, "plain GCN, memory / dense x", "MAGnetClassifier, memory / dense x", "accuracy")
    print("\n".join(lines))
    parts = options.parts.split(",")
    for dataset in (part for part in parts if part in TIME_TARGETS):
        lines.append(graph_line(dataset))
        print(lines[-1], flush=True)
    if "table" in parts:
        lines += ["", *header("table", "seconds", "peak memory", "cells listed")]
        print("\n".join(lines[-3:]))
        in_own_process(__file__, "--one", "clean", "500")  # compiles the kernels where they are not in the cache yet
        for rows in options.rows.split(","):
            measured = in_own_process(__file__, "--one", "clean", rows)
            if measured is not None:
                lines.append(
                    f"| {rows} x 14, 3 links a row | {measured['seconds']:.0f} | "
                    f"{measured['memory'] / 2**30:.2f} GiB | {measured['listed']:.0f} |"
                )
                print(lines[-1], flush=True)
    save("\n".join([*lines, ""]), options.save)


if __name__ == "__main__":
    main()
