"""Attributed stochastic-block graphs of any size."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from magnet.arrays import Floats, Ints, to_torch_csr
from magnet.checks import one_of
from magnet.datasets.build import make_data, random_split, sorted_unique

DEGREE_TAIL = 1.5  # of Pareto propensities: degrees fall with the power 2.5
ZIPF_SHIFT = 10.0  # words of rank k are as frequent as 1 / (k + this) (Mandelbrot)
TOPICS = 10  # a class prefers one word in this many
MAX_ROUNDS = 100  # of drawing repeated edges again

Kind = Literal["binary", "counts", "continuous", "mixed"]


def synthetic(
    nodes: int = 1000,
    features: int = 64,
    classes: int = 5,
    average_degree: float = 10.0,
    homophily: float = 0.8,
    kind: Kind = "binary",
    degree: Literal["uniform", "power"] = "uniform",
    signal: float = 0.5,
    words: float = 20.0,
    seed: int = 0,
    dense: bool = True,
) -> Data:
    r"""A random graph with planted classes whose features depend on the class.

    Edges: one end is drawn by its propensity among all nodes, the other among the nodes of the same class
    (with probability ``homophily``) or of the other classes. Repeated edges are drawn again, so that the graph
    has ``round(nodes * average_degree / 2)`` distinct edges.

    Features by ``kind``: ``"counts"`` draws about ``words`` words per node, each from the topic of the node's
    class with probability ``signal`` and from the common vocabulary otherwise; ``"binary"`` marks which of
    them occur; ``"continuous"`` adds standard normal noise to class means drawn with deviation ``signal``;
    ``"mixed"`` has a third of the columns of each kind, in that order: binary, counts, continuous.

    Args:
        nodes: number of nodes. (default: ``1000``)
        features: number of columns. (default: ``64``)
        classes: number of planted groups. (default: ``5``)
        average_degree: mean number of neighbors. (default: ``10.0``)
        homophily: share of edges within a class. (default: ``0.8``)
        kind: kind of the features. (default: ``"binary"``)
        degree: ``"uniform"`` propensities, or ``"power"`` for a power-law tail with exponent 2.5.
            (default: ``"uniform"``)
        signal: information of the features about the class, from 0. (default: ``0.5``)
        words: mean number of words drawn per node (binary, counts, mixed). (default: ``20.0``)
        seed: random seed, also of the split. (default: ``0``)
        dense: ``False`` gives binary and count features as a sparse CSR tensor. (default: ``True``)

    Example:
        >>> data = synthetic(nodes=500, features=30, homophily=0.9, kind="continuous")
        >>> data.num_nodes, data.num_features, data.edge_index.shape[1] // 2
        (500, 30, 2500)
    """
    if nodes < 2 or features < 1 or not 1 <= classes <= nodes:
        raise ValueError(f"{nodes} nodes, {features} features, {classes} classes; at least 2, 1 and 1 are needed")
    if not 0 <= homophily <= 1 or (classes == 1 and homophily < 1):
        raise ValueError(f"homophily is {homophily}; it must be in [0, 1], and 1 where there is one class")
    if not 0 <= average_degree <= (nodes - 1) / 4:
        raise ValueError(f"average_degree is {average_degree}; it must be between 0 and (nodes - 1) / 4")
    if not 0 <= signal <= (1 if kind != "continuous" else np.inf) or not words > 0:
        raise ValueError(f"signal is {signal} and words is {words}; signal must be in [0, 1], words positive")
    one_of("degree", degree, ("uniform", "power"))
    one_of("kind", kind, get_args(Kind))
    rng = np.random.default_rng(seed)
    # Nodes are sorted by class here and numbered at random at the end.
    sizes = np.full(classes, nodes // classes)
    sizes[: nodes % classes] += 1
    label = np.repeat(np.arange(classes), sizes)
    propensity = np.ones(nodes) if degree == "uniform" else (1 - rng.random(nodes)) ** (-1 / DEGREE_TAIL)
    # The cap keeps hubs below degree average_degree * sqrt(nodes) / 2; without it, one node could draw more neighbors
    # than there are.
    propensity = np.minimum(propensity, propensity.sum() / (2 * np.sqrt(nodes)) + 1)
    edges = _edges(rng, label, propensity, round(nodes * average_degree / 2), homophily)
    number = rng.permutation(nodes)
    y = np.empty(nodes, dtype=np.int64)
    y[number] = label
    x = _features(rng, y, classes, features, kind, signal, words, dense)
    return make_data(x, number[edges], y, random_split(y, seed=seed))


def _edges(rng: np.random.Generator, label: Ints, propensity: Floats, count: int, homophily: float) -> Ints:
    """``count`` distinct pairs of different nodes, of nodes sorted by class."""
    nodes = label.size
    upto = np.concatenate([[0.0], np.cumsum(propensity)])
    total = upto[-1]
    first = np.searchsorted(label, np.arange(label[-1] + 2))
    start, end = upto[first[:-1]], upto[first[1:]]
    pairs = np.empty(0, dtype=np.int64)
    for _ in range(MAX_ROUNDS):
        missing = count - pairs.size
        if missing <= 0:
            break
        draws = missing + missing // 8 + 16
        # Sorted, because looking up neighboring places in turn is several times as fast.
        one = _locate(upto, np.sort(rng.random(draws)) * total)
        c = label[one]
        same = rng.random(draws) < homophily
        width = np.where(same, end[c] - start[c], total - (end[c] - start[c]))
        position = rng.random(draws) * width
        # Within the class count from its start; outside it skip the class's own interval.
        position = np.where(
            same, start[c] + position, position + np.where(position >= start[c], end[c] - start[c], 0.0)
        )
        two = _locate(upto, position)
        keep = one != two
        low, high = np.minimum(one, two)[keep], np.maximum(one, two)[keep]
        merged = sorted_unique(np.concatenate([pairs, low * nodes + high]))
        pairs = merged if merged.size <= count else np.sort(rng.choice(merged, count, replace=False))
    if pairs.size < count:
        raise ValueError(f"{count} edges do not fit between {nodes} nodes with homophily {homophily}")
    return np.stack([pairs // nodes, pairs % nodes])


def _locate(upto: Floats, position: Floats) -> Ints:
    return np.minimum(np.searchsorted(upto, position, side="right") - 1, upto.size - 2)


def _features(
    rng: np.random.Generator,
    y: Ints,
    classes: int,
    features: int,
    kind: Kind,
    signal: float,
    words: float,
    dense: bool,
) -> torch.Tensor:
    if kind == "continuous":
        mean = (signal * rng.standard_normal((classes, features))).astype(np.float32)
        noise = rng.standard_normal((y.size, features), dtype=np.float32)
        noise += mean[y]
        return torch.from_numpy(noise)
    if kind in ("binary", "counts"):
        bag = _bag_of_words(rng, y, classes, features, signal, words)
        if kind == "binary":
            bag.data[:] = 1
        return torch.from_numpy(bag.toarray()) if dense else to_torch_csr(bag)
    third = features // 3
    width = {"binary": third, "counts": third, "continuous": features - 2 * third}
    parts = [
        _features(rng, y, classes, columns, part, signal, words / 3, True)  # type: ignore[arg-type]
        for part, columns in width.items()
        if columns
    ]
    return torch.cat(parts, dim=1)


def _bag_of_words(
    rng: np.random.Generator, y: Ints, classes: int, features: int, signal: float, words: float
) -> sp.csr_matrix:
    """Word counts: a Zipf-like vocabulary, in which each class prefers its own tenth of the words."""
    common = rng.permutation(1.0 / (np.arange(features) + ZIPF_SHIFT))
    common /= common.sum()
    length = rng.poisson(words, y.size)
    node = np.repeat(np.arange(y.size, dtype=np.int32), length)
    word = rng.choice(features, size=node.size, p=common).astype(np.int32)
    topical = np.flatnonzero(rng.random(node.size) < signal)
    size = max(1, features // TOPICS)
    topics = np.stack([rng.choice(features, size=size, replace=False) for _ in range(classes)])
    word[topical] = topics[y[node[topical]], rng.integers(size, size=topical.size)]
    ones = np.ones(node.size, dtype=np.float32)
    bag = sp.csr_matrix((ones, (node, word)), shape=(y.size, features))
    bag.sum_duplicates()
    return bag
