"""A graph whose nodes have columns of every kind."""

from __future__ import annotations

import numpy as np
import torch
from torch_geometric.data import Data

from magnet import datasets
from magnet.detection import Column


def mixed_table(seed: int, wrong: bool, nodes: int = 3000) -> tuple[Data, list[Column], torch.Tensor]:
    """People in eight towns: two categories, two flags, a count and three numbers, all depending on the town; in a
    tenth of the rows one or two cells are wrong, half of the numbers by a slip of the decimal point, the rest by
    another row's value."""
    rng = np.random.default_rng(seed)
    graph = datasets.synthetic(nodes, 16, 8, 6.0, 0.85, seed=seed)
    town = graph.y.numpy()
    table: dict[str, tuple[str, np.ndarray]] = {}
    for name, size in (("city", 8), ("trade", 5)):
        of_town = rng.permutation(8) % size
        table[name] = ("categorical", np.where(rng.random(nodes) < 0.97, of_town[town], rng.integers(0, size, nodes)))
    for name in ("premium", "owner"):
        table[name] = ("binary", (rng.random(nodes) < np.where(rng.random(8) < 0.5, 0.03, 0.95)[town]).astype(int))
    table["children"] = ("count", rng.poisson(rng.uniform(0.5, 8, 8)[town]))
    table["income"] = ("continuous", np.exp(rng.normal(rng.uniform(9, 12, 8)[town], 0.35)))
    table["age"] = ("continuous", rng.normal(rng.uniform(25, 70, 8)[town], 7))
    table["rent"] = ("continuous", rng.normal(rng.uniform(300, 1500, 8)[town], 120))
    hit = np.zeros((nodes, len(table)), bool)
    if wrong:
        for node in rng.choice(nodes, nodes // 10, replace=False):
            hit[node, rng.choice(len(table), rng.integers(1, 3), replace=False)] = True
    blocks, columns, cells, at = [], [], [], 0
    for j, (name, (kind, true)) in enumerate(table.items()):
        values = true.copy()
        for node in np.flatnonzero(hit[:, j]):
            other = true[rng.integers(nodes)]
            slip = kind == "continuous" and rng.random() < 0.5
            values[node] = true[node] * rng.choice([0.1, 10.0]) if slip else other
        width = int(true.max()) + 1 if kind == "categorical" else 1
        blocks.append(np.eye(width)[values] if kind == "categorical" else values[:, None])
        cells.append(np.repeat((values != true)[:, None], width, axis=1))
        columns.append(Column(name, kind, at, at + width))  # type: ignore[arg-type]
        at += width
    x = torch.from_numpy(np.hstack(blocks)).float()
    return Data(x=x, edge_index=graph.edge_index), columns, torch.from_numpy(np.hstack(cells))
