"""Scattered wrong cells, as real tables have them."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from magnet.arrays import Floats, Ints, is_binary, is_sparse, like, row_blocks, to_scipy
from magnet.checks import one_of
from magnet.corruption.result import Corruption, check_features, check_share, finish
from magnet.corruption.sampling import distinct

ROUNDING, TINY = 1e-10, 1e-30  # relative error of a variance, and the least square

Kind = Literal["flip", "outlier", "swap", "gaussian"]


def corrupt_cells(
    data: Data,
    ratio: float = 0.02,
    kind: Kind = "flip",
    seed: int = 0,
    node_share: float = 1.0,
    scale: float | None = None,
    tolerance: float | None = None,
) -> Corruption:
    """Make some cells of some nodes wrong.

    ``round(node_share * nodes)`` nodes are drawn, and in each of them ``round(ratio * features)`` cells (at
    least one), all without replacement. What happens to a drawn cell depends on ``kind``:

    ============  ========================================================================================
    ``flip``      0 becomes 1 and 1 becomes 0 (binary features only)
    ``outlier``   moves by ``scale`` to ``2 * scale`` standard deviations of its column, up or down
    ``swap``      the drawn cells of a column exchange their values in a random order, so that every
                  column keeps its values; where these are equal nothing is wrong afterwards
    ``gaussian``  normal noise with ``scale`` standard deviations of its column is added
    ============  ========================================================================================

    Args:
        data: a graph; it is not modified.
        ratio: share of the cells that are drawn in each drawn node. (default: ``0.02``)
        kind: what happens to them. (default: ``"flip"``)
        seed: random seed. (default: ``0``)
        node_share: share of the nodes that are drawn. (default: ``1.0``)
        scale: size of outliers and noise in column standard deviations. (default: ``3.0`` for outliers,
            ``1.0`` for noise)
        tolerance: a cell counts as wrong when it moved by more than this. (default: the paper's value for a
            known dataset, else 0)

    Example:
        >>> from magnet.datasets import synthetic
        >>> bad = corrupt_cells(synthetic(nodes=100, features=50), 0.1, "flip", node_share=0.3)
        >>> int(bad.nodes.sum()), int(bad.cells.sum())
        (30, 150)
    """
    nodes, columns = check_features(data)
    check_share("ratio", ratio)
    check_share("node_share", node_share)
    one_of("kind", kind, get_args(Kind))
    if kind == "flip" and not is_binary(data.x):
        raise ValueError("kind 'flip' needs features that are all 0 or 1; use 'outlier' for other features")
    size = {"outlier": 3.0, "gaussian": 1.0}.get(kind, 0.0) if scale is None else float(scale)
    if not 0 <= size < np.inf:
        raise ValueError(f"scale is {scale}; it must be finite and nonnegative")

    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(nodes, size=max(1, round(node_share * nodes)), replace=False))
    col = distinct(rng, chosen.size, max(1, round(ratio * columns)), columns)
    row = np.repeat(chosen, col.shape[1])
    col = col.ravel()
    old = _get(data.x, row, col)
    if kind == "flip":
        new = 1 - old
    elif kind == "swap":
        new = _exchanged(rng, col, old)
    else:
        spread = size * _column_spread(data.x)[col]
        if kind == "gaussian":
            noise = rng.standard_normal(col.size)
        else:
            noise = rng.choice([-1.0, 1.0], col.size) * rng.uniform(1, 2, col.size)
        new = (old + spread * noise).astype(old.dtype)
    return finish(
        data,
        _set(data.x, row, col, new),
        tolerance,
        kind=f"cells-{kind}",
        ratio=float(ratio),
        drawn_nodes=float(node_share),
        scale=size,
        seed=int(seed),
    )


def _get(x: torch.Tensor, row: Ints, col: Ints) -> NDArray[Any]:
    if is_sparse(x):
        return np.asarray(to_scipy(x)[row, col]).ravel()
    return x[torch.from_numpy(row), torch.from_numpy(col)].detach().cpu().numpy()


def _set(x: torch.Tensor, row: Ints, col: Ints, values: NDArray[Any]) -> torch.Tensor:
    """A copy of ``x`` with other values in some cells."""
    if not is_sparse(x):
        copy = x.detach().clone()
        copy[torch.from_numpy(row), torch.from_numpy(col)] = torch.from_numpy(values).to(x)
        return copy
    matrix = to_scipy(x)
    drawn = sp.csr_matrix((np.ones(row.size, dtype=bool), (row, col)), shape=matrix.shape)
    added = sp.csr_matrix((values, (row, col)), shape=matrix.shape)
    # Old values are subtracted from themselves, so that the written values are exact.
    result = sp.csr_matrix(matrix - matrix.multiply(drawn) + added)
    result.eliminate_zeros()
    return like(result, x)


def _exchanged(rng: np.random.Generator, col: Ints, old: NDArray[Any]) -> NDArray[Any]:
    """The values of each column, exchanged in a cycle of random order."""
    order = np.lexsort((rng.random(col.size), col))
    sorted_col = col[order]
    first = np.searchsorted(sorted_col, sorted_col, side="left")
    last = np.searchsorted(sorted_col, sorted_col, side="right") - 1
    position = np.arange(col.size)
    new = np.empty_like(old)
    new[order] = old[order[np.where(position == last, first, position + 1)]]
    return new


def _column_spread(x: torch.Tensor) -> Floats:
    """Standard deviation of each column; of all cells where a column is constant (1 if they all are)."""
    total, square = np.zeros(x.shape[1]), np.zeros(x.shape[1])
    for _, block in row_blocks(x):
        total += block.sum(axis=0, dtype=np.float64)
        square += np.square(block, dtype=np.float64).sum(axis=0)
    variance = np.maximum(square / x.shape[0] - (total / x.shape[0]) ** 2, 0)
    mean = total.sum() / (x.shape[0] * x.shape[1])
    overall = np.sqrt(max(square.sum() / (x.shape[0] * x.shape[1]) - mean**2, 0)) or 1.0
    # The variance of a constant column is rounding error, not a spread.
    return np.where(variance > ROUNDING * np.maximum(TINY, square / x.shape[0]), np.sqrt(variance), overall)
