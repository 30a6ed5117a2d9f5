"""Attribute injection: rows replaced by rows of other nodes (Ding et al. 2019, as used in the paper)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from magnet.arrays import CELLS_PER_BLOCK, Floats, Ints, dense, density, is_sparse, like, to_scipy
from magnet.checks import at_least, one_of
from magnet.corruption.result import Corruption, check_features, check_share, finish
from magnet.corruption.sampling import distinct

# Below this share of non-zeros, distances are cheaper on the stored entries than on dense rows.
SPARSE_BELOW = 0.05


def inject_attributes(
    data: Data,
    ratio: float = 0.5,
    candidates: int = 100,
    select: Literal["farthest", "random"] = "farthest",
    replace: bool = True,
    seed: int = 0,
    tolerance: float | None = None,
    broken: float = 0.0,
) -> Corruption:
    r"""Copy the attributes of other nodes onto some nodes.

    ``round(ratio * nodes)`` nodes are drawn. For each drawn node :math:`i`, ``candidates`` other nodes
    :math:`C_i` are drawn and

    .. math::
        x_i \leftarrow x_j, \qquad j = \arg\max_{c \in C_i} \|x_i - x_c\|_2 .

    Rows are compared and copied as they were before the injection.

    Far rows are long rows: with ``select="farthest"`` on bags of words the row sum alone detects the corrupted
    nodes (node AUROC 0.96 on Cora). Report results for ``select="random"`` as well.

    Args:
        data: a graph; it is not modified.
        ratio: how many nodes are drawn, as a share of all. (default: ``0.5``)
        candidates: number of nodes each replacement is chosen from; the paper uses 100 for its small
            datasets and 500 for the larger ones. On graphs with fewer other nodes, all of them.
            (default: ``100``)
        select: ``"farthest"`` (the paper's text) or ``"random"`` (its released code).
            (default: ``"farthest"``)
        replace: draw the nodes with replacement, as the released code does, so that a ratio of 0.5 touches
            about 39 % of them. (default: ``True``)
        seed: random seed; both values of ``select`` corrupt the same nodes. (default: ``0``)
        tolerance: a cell counts as wrong when it moved by more than this. (default: the paper's value for a
            known dataset, else 0)
        broken: this share of the non-zero cells of every copied row becomes 0 (at least one), so that no wrong row has
            an exact duplicate, which would reveal it. (default: ``0.0``)

    Example:
        >>> from magnet.datasets import load
        >>> bad = inject_attributes(load("digits"), ratio=0.5, select="random")
        >>> round(bad.info["node_share"], 2), bad.cells.shape
        (0.39, torch.Size([1797, 64]))
    """
    nodes, _ = check_features(data)
    check_share("ratio", ratio)
    if not 0 <= broken < 1:
        raise ValueError(f"broken is {broken}; it must be at least 0 and below 1")
    if nodes < 2:
        raise ValueError("the graph has one node: there is no other row to copy")
    at_least("candidates", candidates, 1)
    one_of("select", select, ("farthest", "random"))

    rng = np.random.default_rng(seed)
    targets = np.unique(rng.choice(nodes, size=max(1, round(ratio * nodes)), replace=replace))
    if select == "random":
        donors = _others(targets, rng.integers(nodes - 1, size=(targets.size, 1)))[:, 0]
    else:
        pool = _others(targets, distinct(rng, targets.size, min(candidates, nodes - 1), nodes - 1))
        donors = _farthest(data.x, targets, pool)
    source = np.arange(nodes)
    source[targets] = donors
    x = data.x
    x = like(to_scipy(x)[source], x) if is_sparse(x) else x[torch.from_numpy(source).to(x.device)]
    if broken:
        x = _broken(x, targets, broken, rng)
    return finish(
        data,
        x,
        tolerance,
        kind="inject-far" if select == "farthest" else "inject-random",
        ratio=float(ratio),
        candidates=int(candidates),
        replace=bool(replace),
        seed=int(seed),
        **({"broken": float(broken)} if broken else {}),
    )


def _broken(x: torch.Tensor, rows: Ints, share: float, rng: np.random.Generator) -> torch.Tensor:
    """A copy of ``x`` in which a share of the non-zero cells of some rows is 0."""
    matrix = to_scipy(x)
    for first, last in zip(matrix.indptr[rows], matrix.indptr[rows + 1], strict=True):
        count = int(last - first)
        zeroed = rng.choice(count, min(count, max(1, round(share * count))), replace=False)
        matrix.data[first + zeroed] = 0
    matrix.eliminate_zeros()
    return like(matrix, x)


def _others(targets: Ints, draws: Ints) -> Ints:
    """Map draws from ``nodes - 1`` values to nodes other than the target of their row."""
    return draws + (draws >= targets[:, None])


def _farthest(x: torch.Tensor, targets: Ints, pool: Ints) -> Ints:
    """The node of each row of ``pool`` whose features are farthest from those of the row's target.

    Only the ``targets x candidates`` distances that are asked for are formed, a block of targets at a time.
    """
    rows: Any
    if density(x) < SPARSE_BELOW:
        rows = to_scipy(x).astype(np.float64)
        norms = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        per_target = pool.shape[1] * max(1, rows.nnz // rows.shape[0]) + rows.shape[1]
    else:
        rows = dense(x).detach().cpu().numpy()
        norms = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
        per_target = pool.shape[1] * rows.shape[1]
    step = max(1, CELLS_PER_BLOCK // per_target)
    best = np.empty(targets.size, dtype=np.int64)
    for start in range(0, targets.size, step):
        block = slice(start, start + step)
        products = _products(rows, targets[block], pool[block])
        best[block] = np.argmax(norms[pool[block]] - 2.0 * products, axis=1)
    return pool[np.arange(targets.size), best]


def _products(rows: Any, targets: Ints, pool: Ints) -> Floats:
    """Inner products of each target's row with the rows of its candidates."""
    if not sp.issparse(rows):
        return np.matmul(rows[pool], rows[targets][:, :, None])[:, :, 0].astype(np.float64)
    candidates = rows[pool.ravel()]
    target_rows = rows[targets].toarray()
    length = np.diff(candidates.indptr)
    owner = np.repeat(np.repeat(np.arange(targets.size), pool.shape[1]), length)
    terms = target_rows[owner, candidates.indices] * candidates.data
    pair = np.repeat(np.arange(pool.size), length)
    return np.asarray(np.bincount(pair, terms, minlength=pool.size), dtype=np.float64).reshape(pool.shape)
