"""Clean graphs: how many rows does `auto` flag where nothing is known to be wrong?

Breadth-first and random parts of the datasets, and made-up graphs with columns of many kinds. Writes results/clean.md
and results/clean.csv (one line for each graph).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from _pages import command, header, save
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order
from torch_geometric.data import Data

from magnet import datasets, detection
from magnet.arrays import to_scipy
from magnet.graph import Graph

SIZES = {
    "cora": (500, 1200),
    "citeseer": (500, 1500),
    "pubmed": (800, 3000),
    "amazon-computers": (500, 1000, 2000),
    "coauthor-cs": (1000, 3000),
    "wordnet": (800, 1500, 3000, 6000, 20_000),
    "digits": (400, 900),
    "wisconsin": (120,),
    "texas": (100,),
}
NODES, CLASSES, FACTORS = (120, 300, 800, 2000, 5000), (3, 6), 5  # of the made-up graphs
FloatArray = NDArray[np.float64]


@cache
def whole(name: str) -> Data:
    data = datasets.load(name)
    return Data(x=data.x, edge_index=data.edge_index)


def part(name: str, how: str, size: int, seed: int) -> Data:
    """Some nodes of a dataset, with the columns that are not 0 in all of them."""
    data, rng = whole(name), np.random.default_rng(seed)
    if how == "random":
        nodes = rng.permutation(data.num_nodes)[:size]
    else:  # one component after another, until there are enough
        adjacency = Graph.from_edges(data.edge_index, num_nodes=data.num_nodes).adjacency
        taken = np.zeros(data.num_nodes, dtype=bool)
        while taken.sum() < size:
            start = int(rng.choice(np.flatnonzero(~taken)))
            order = breadth_first_order(adjacency, start, return_predecessors=False)
            taken[order[: size - int(taken.sum())]] = True
        nodes = np.flatnonzero(taken)
    keep = torch.zeros(data.num_nodes, dtype=torch.bool)
    keep[torch.from_numpy(nodes)] = True
    chosen = Data(edge_index=data.edge_index, num_nodes=data.num_nodes).subgraph(keep)
    chosen.x = (
        torch.from_numpy(to_scipy(data.x)[keep.numpy()].toarray()) if data.x.layout != torch.strided else data.x[keep]
    )
    chosen.x = chosen.x[:, (chosen.x != 0).any(dim=0)]
    return chosen


def made_up(kind: str, seed: int) -> Data:
    """Columns of one kind that follow some factors of a class and a node, on a homophilic graph."""
    rng = np.random.default_rng([list(KINDS).index(kind), seed])
    nodes, classes = int(rng.choice(NODES)), int(rng.choice(CLASSES))
    labels = rng.integers(0, classes, nodes)
    factors = rng.normal(size=(classes, FACTORS))[labels] + 0.7 * rng.normal(size=(nodes, FACTORS))
    homophily, links = rng.choice([0.45, 0.7, 0.85]), int(nodes * rng.choice([1, 2, 4]))
    left, right = rng.integers(0, nodes, links), rng.integers(0, nodes, links)
    by_class = [np.flatnonzero(labels == k) for k in range(classes)]
    inside = np.array([rng.choice(by_class[labels[i]]) for i in left])
    right = np.where(rng.random(links) < homophily, inside, right)

    def columns(count: int, noise: float = 1.0) -> FloatArray:
        signal = factors @ rng.normal(size=(FACTORS, count)) / np.sqrt(FACTORS)
        return np.asarray(signal + noise * rng.normal(size=(nodes, count)))

    x = torch.from_numpy(np.asarray(KINDS[kind](rng, columns), dtype=np.float32))
    return Data(x=x, edge_index=torch.from_numpy(np.stack([left, right])))


Columns = Callable[..., FloatArray]


def _zeros(rng: np.random.Generator, columns: Columns, least: float, most: float) -> FloatArray:
    z = columns(int(rng.choice([8, 20, 50])))
    return np.where(z > np.quantile(z, rng.uniform(least, most)), np.exp(z), 0)


def _scaled(rng: np.random.Generator, columns: Columns) -> FloatArray:
    z = columns(int(rng.choice([32, 64, 128])))
    return z * np.exp(0.7 * rng.normal(size=(len(z), 1))) * np.exp(0.5 * rng.normal(size=(1, z.shape[1])))


def _wide(rng: np.random.Generator, columns: Columns) -> FloatArray:
    z = columns(int(rng.choice([300, 500])), noise=0.0)
    return z + rng.standard_t(4, size=z.shape)


def _flags(rng: np.random.Generator, columns: Columns) -> FloatArray:
    z = columns(int(rng.choice([6, 12, 30])), noise=0.3)
    return (rng.random(z.shape) < 1 / (1 + np.exp(-2 * z + rng.normal(size=z.shape[1])))).astype(float)


def _one_hot(rng: np.random.Generator, columns: Columns) -> FloatArray:
    parts = []
    for _ in range(int(rng.choice([3, 6, 10]))):
        z = columns(int(rng.choice([2, 4, 8])), noise=0.5)
        parts.append(np.eye(z.shape[1])[(z + rng.gumbel(size=z.shape)).argmax(axis=1)])
    return np.hstack(parts)


def _mixed(rng: np.random.Generator, columns: Columns) -> FloatArray:
    age, income, calls = 40 + 12 * columns(1), np.exp(9 + 0.8 * columns(1)), rng.poisson(np.exp(columns(2) / 2))
    return np.hstack([age.round(), income.round(-2), calls, columns(3) > 0.8, (5 + 2 * columns(2)).round(1)])


def _unit(rng: np.random.Generator, columns: Columns) -> FloatArray:
    z = columns(int(rng.choice([32, 64, 128])))
    return np.asarray(z / np.linalg.norm(z, axis=1, keepdims=True))


KINDS: dict[str, Callable[[np.random.Generator, Columns], FloatArray]] = {
    "300 or 500 columns, t with 4 degrees of freedom": _wide,
    "embeddings, rows and columns of different size": _scaled,
    "embeddings, rows of norm 1": _unit,
    "numbers, 30 to 50 % zeros": partial(_zeros, least=0.3, most=0.5),
    "numbers, 50 to 80 % zeros": partial(_zeros, least=0.5, most=0.8),
    "skewed numbers": lambda rng, columns: np.exp(columns(int(rng.choice([6, 15, 40]))) * rng.uniform(0.5, 1.5)),
    "answers from 1 to 5": lambda rng, columns: np.clip(
        np.round(3 + 1.2 * columns(int(rng.choice([5, 12, 25])))), 1, 5
    ),
    "0/1 columns": _flags,
    "one-hot categories": _one_hot,
    "numbers, counts and flags": _mixed,
}


def graphs(seeds: int, first: int) -> Iterator[tuple[str, str, Callable[[], Data]]]:
    """Group, name and maker of every graph."""
    for name, sizes in SIZES.items():
        for how in ("breadth-first", "random"):
            for size in sizes:
                for seed in range(first, first + seeds):
                    yield f"{name}, {how} parts", f"{size} nodes, seed {seed}", partial(part, name, how, size, seed)
    for kind in KINDS:
        for seed in range(first, first + 2 * seeds):
            yield f"made up: {kind}", f"seed {seed}", partial(made_up, kind, seed)


def measure(data: Data, seed: int) -> dict[str, Any]:
    verdict = detection.make("auto", seed=seed).fit(data).verdict_
    assert verdict.gate is not None
    return {
        "nodes": data.num_nodes,
        "features": data.num_features,
        "flagged": float(verdict.flagged_nodes.float().mean()),
        "swapped": float(verdict.swapped_rows.float().mean()),
        "open": verdict.gate.open,
    }


def as_markdown(frame: pd.DataFrame, seconds: float) -> str:
    kind = frame["group"].str.split(", |: ").str
    summary = np.where(kind[0] == "made up", "made-up graphs", kind[-1])
    lines = [
        "# Clean graphs",
        "",
        f"{len(frame)} graphs in which nothing is known to be wrong: parts of datasets and made-up ones. Rows",
        "that `auto` flags, as swapped or for a wrong cell; swapped: as swapped.",
        "",
        *_table([*frame.groupby(summary, sort=False), ("**all**", frame)]),
        "",
        *_table(list(frame.groupby("group", sort=False))),
    ]
    return "\n".join([*lines, "", f"Made in {seconds:.0f} s of CPU time by:", "", f"    {command()}", ""])


def _table(groups: list[tuple[Any, pd.DataFrame]]) -> list[str]:
    lines = header("graphs", "number", "flagged, mean", "worst", "swapped, mean", "gate open")
    for group, rows in groups:
        lines.append(
            f"| {group} | {len(rows)} | {rows['flagged'].mean():.2%} | {rows['flagged'].max():.2%} "
            f"| {rows['swapped'].mean():.2%} | {rows['open'].mean():.0%} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4, help="parts of each size; twice as many made-up graphs")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", default="", help="groups whose name contains this")
    parser.add_argument("--output", type=Path, default=Path("results"))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    start, rows = time.process_time(), []
    for group, name, make in graphs(options.seeds, options.first_seed):
        if options.only in group:
            rows.append({"group": group, "graph": name, **measure(make(), options.first_seed)})
            print(f"{rows[-1]['flagged']:.4f} {group}, {name}", flush=True)
    frame = pd.DataFrame(rows)
    frame.to_csv(options.output / "clean.csv", index=False, float_format="%.4f")
    save(as_markdown(frame, time.process_time() - start), options.output / "clean.md")


if __name__ == "__main__":
    main()
