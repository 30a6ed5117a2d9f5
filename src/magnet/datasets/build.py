"""Shared last steps of the loaders: an undirected graph in a PyG ``Data``, and node splits."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from magnet.arrays import Bools, Ints


def undirected(edge_index: Any, num_nodes: int) -> torch.Tensor:
    """Both directions of every edge, once each, sorted, without self-loops.

    Example:
        >>> undirected(np.array([[0, 0, 2, 1], [1, 1, 2, 0]]), 3).tolist()
        [[0, 1], [1, 0]]
    """
    row, col = np.asarray(edge_index, dtype=np.int64)
    if row.size and (min(row.min(), col.min()) < 0 or max(row.max(), col.max()) >= num_nodes):
        raise ValueError(f"edges name nodes outside 0 to {num_nodes - 1}")
    other = row != col
    row, col = row[other], col[other]
    key = sorted_unique(np.minimum(row, col) * num_nodes + np.maximum(row, col))
    low, high = key // num_nodes, key % num_nodes
    both = np.sort(np.concatenate([key, high * num_nodes + low]))
    return torch.from_numpy(np.stack([both // num_nodes, both % num_nodes]))


def sorted_unique(keys: Ints) -> Ints:
    """``np.unique`` by sorting, which for ten million keys is ten times as fast as NumPy's hashing."""
    keys = np.sort(keys)
    first = np.ones(keys.size, dtype=bool)
    first[1:] = keys[1:] != keys[:-1]
    return keys[first]


def make_data(x: torch.Tensor, edges: Any, y: Any = None, masks: tuple[Bools, Bools, Bools] | None = None) -> Data:
    """A ``Data`` with float32 features, an undirected ``edge_index``, integer labels and 1-D bool masks."""
    data = Data(x=x.to(torch.float32), edge_index=undirected(edges, x.shape[0]))
    if y is not None:
        data.y = torch.as_tensor(np.asarray(y), dtype=torch.long)
    if masks is not None:
        names = ("train_mask", "val_mask", "test_mask")
        for name, mask in zip(names, masks, strict=True):
            data[name] = torch.as_tensor(np.asarray(mask), dtype=torch.bool)
    return data


def index_mask(index: Any, num_nodes: int) -> Bools:
    mask = np.zeros(num_nodes, dtype=bool)
    mask[np.asarray(index)] = True
    return mask


def random_split(
    y: Any, per_class: int = 20, val: int = 500, test: int = 1000, seed: int = 0, *, in_order: bool = False
) -> tuple[Bools, Bools, Bools]:
    """``per_class`` training nodes of every class, then ``val`` and ``test`` nodes of the rest, at random.

    Where that is more than half of a class, or more nodes than are left, the numbers shrink: at most half
    of each class trains, and validation gets a third of the rest.

    With ``in_order`` the validation nodes come from the beginning of the order that the training nodes were drawn from.
    The nodes of small classes are then used up: validation nodes have fewer of them than test nodes, or none.

    Example:
        >>> train, val, test = random_split([0, 0, 0, 1, 1, 1] * 10, per_class=2, val=6, test=50)
        >>> int(train.sum()), int(val.sum()), int(test.sum())
        (4, 6, 50)
    """
    y = np.asarray(y)
    rng = np.random.default_rng(seed)
    order = rng.permutation(y.size)
    train = [order[y[order] == c] for c in np.unique(y)]
    train_index = np.concatenate([nodes[: min(per_class, (nodes.size + 1) // 2)] for nodes in train])
    rest = order[~np.isin(order, train_index)]
    if not in_order:
        rest = rng.permutation(rest)
    val = min(val, rest.size // 3)
    masks = (train_index, rest[:val], rest[val : val + test])
    return tuple(index_mask(index, y.size) for index in masks)  # type: ignore[return-value]


def homophily(data: Data) -> float:
    """Share of the edges that join nodes of the same class."""
    row, col = data.edge_index
    return float((data.y[row] == data.y[col]).double().mean())
