"""Rows as vectors whose cosines say how well they fit together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.utils.extmath import randomized_svd
from torch import Tensor

from magnet.arrays import csr_tensor
from magnet.detection.edges import pair_products
from magnet.detection.view import CELLS_PER_BLOCK, View


@dataclass(eq=False)
class Rows:
    """A matrix of row vectors ``z_i``, dense or sparse, and the products that detection needs.

    Args:
        dense: ``[n, k]``, or None.
        matrix: sparse ``[n, k]``, or None.
        device: where the products are computed.
    """

    dense: Tensor | None
    matrix: sp.csr_matrix | None
    device: torch.device

    def __post_init__(self) -> None:
        if self.matrix is not None:
            self._csc = self.matrix.tocsc()
            self._csr = csr_tensor(self.matrix, torch.float32, self.device)
            square = self.matrix.multiply(self.matrix).sum(axis=1)
            self.square = torch.from_numpy(np.asarray(square, dtype=np.float32).ravel()).to(self.device)
        else:
            assert self.dense is not None
            self.square = self.dense.square().sum(dim=1)

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = (self.matrix if self.matrix is not None else self.dense).shape  # type: ignore[union-attr]
        return int(rows), int(columns)

    def times(self, other: Tensor) -> Tensor:
        """``Z @ other`` for a dense ``[k, m]``."""
        return self._csr @ other if self.matrix is not None else self.dense @ other  # type: ignore[operator]

    def some(self, index: Tensor) -> Tensor:
        """The vectors of some rows, dense ``[m, k]``."""
        if self.matrix is not None:
            return torch.from_numpy(self.matrix[index.cpu().numpy()].toarray()).to(self.device)
        return self.dense[index]  # type: ignore[index]

    def mean(self, weight: Tensor) -> Tensor:
        """Weighted mean ``[k]``."""
        if self.matrix is not None:
            total = torch.from_numpy(self.matrix.T @ weight.cpu().numpy()).to(self.device)
        else:
            total = weight @ self.dense  # type: ignore[operator]
        return total / weight.sum()

    def blocks(self) -> Iterator[tuple[int, Tensor]]:
        """Ranges of columns, dense, with the number of the first one."""
        rows, columns = self.shape
        width = max(1, min(512, CELLS_PER_BLOCK // rows))
        for first in range(0, columns, width):
            if self.matrix is not None:
                block = torch.from_numpy(self._csc[:, first : first + width].toarray()).to(self.device)
            else:
                block = self.dense[:, first : first + width]  # type: ignore[index]
            yield first, block

    def dots(self, left: Tensor, right: Tensor) -> Tensor:
        """``z_i . z_j`` for pairs of rows."""
        if self.matrix is not None:
            a, b = left.cpu().numpy(), right.cpu().numpy()
            step = 1 << 16
            pieces = [
                np.asarray(self.matrix[a[s : s + step]].multiply(self.matrix[b[s : s + step]]).sum(axis=1)).ravel()
                for s in range(0, a.size, step)
            ]
            joined = np.concatenate(pieces) if pieces else np.zeros(0)
            return torch.from_numpy(joined.astype(np.float32)).to(self.device)
        dense = self.dense
        assert dense is not None
        if dense.device.type == "cpu":
            return torch.from_numpy(pair_products(left.numpy(), right.numpy(), dense.contiguous().numpy()))
        step = max(1, CELLS_PER_BLOCK // dense.shape[1])
        parts = [
            (dense[left[s : s + step]] * dense[right[s : s + step]]).sum(dim=1) for s in range(0, left.numel(), step)
        ]
        return torch.cat(parts) if parts else torch.zeros(0, device=self.device)


def unit_rows(view: View) -> Rows:
    """``R``: each row divided by its norm. Bags of words, and numbers of about the same size, as they are; other tables
    on the common scale."""
    if view.matrix is not None:
        square = np.asarray(view.matrix.multiply(view.matrix).sum(axis=1)).ravel()
        scale = 1 / np.sqrt(np.where(square > 0, square, 1))
        return Rows(None, sp.csr_matrix(sp.diags(scale.astype(np.float32)) @ view.matrix), view.device)
    if view.bag or comparable(view):
        assert view.x is not None
        x = view.x if view.missing is None else view.x.where(~view.missing, view.x.nanmean(dim=0).nan_to_num())
        z = x / x.norm(dim=1, keepdim=True).clamp_min(1e-12)
        if float((z != 0).float().mean()) < 0.1:
            return Rows(None, sp.csr_matrix(z.cpu().numpy()), view.device)
        return Rows(z, None, view.device)
    return whitened(view)


def whitened(view: View) -> Rows:
    z = standard_rows(view)
    return Rows(z / z.norm(dim=1, keepdim=True).clamp_min(1e-12), None, view.device)


def comparable(view: View) -> bool:
    """Whether the columns are 16 numbers or more of about the same size, as embeddings are."""
    spread = view.scales.spread
    numbers = all(kind == "continuous" for kind in view.kinds) and view.features >= 16
    return numbers and bool(spread.max() < 30 * spread.median())


def standard_rows(view: View) -> Tensor:
    """Dense ``[n, d]`` on the common scale; a missing value is 0, the middle."""
    z = torch.empty(view.nodes, view.features, device=view.device)
    for first, last in view.ranges():
        z[:, first:last] = view.scales.standardise(view.block(first, last), first).nan_to_num().clamp(-5, 5)
    for c in view.columns:
        if c.kind == "categorical":
            z[:, c.start : c.stop] /= (c.stop - c.start - 1) ** 0.5 if c.stop - c.start > 1 else 1.0
    return z


def low_rank_rows(view: View, rank: int = 128, seed: int = 0) -> Rows | None:
    """``S``: a truncated singular value decomposition of tf-idf for bags, of the standardised table otherwise, rows of
    norm 1. Where nothing would be cut off, the table itself, or None if that is what ``R`` is."""
    if min(view.nodes, view.features) <= rank + 1:
        return whitened(view) if not view.bag and comparable(view) else None
    if view.bag:
        matrix = view.matrix if view.matrix is not None else sp.csr_matrix(unit_bag(view))
        present = np.bincount(matrix.indices, minlength=view.features)
        idf = np.log((1 + view.nodes) / (1 + present)) + 1
        weighted = sp.csr_matrix(matrix @ sp.diags(idf.astype(np.float32)))
        square = np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel()
        weighted = sp.csr_matrix(sp.diags((1 / np.sqrt(np.where(square > 0, square, 1))).astype(np.float32)) @ weighted)
        z = torch.from_numpy(reduced(weighted, rank, seed)).to(view.device)
    else:
        z = torch.from_numpy(reduced(standard_rows(view).cpu().numpy(), rank, seed)).to(view.device)
    return Rows(z / z.norm(dim=1, keepdim=True).clamp_min(1e-12), None, view.device)


def unit_bag(view: View) -> np.ndarray:
    assert view.x is not None
    x = view.x if view.missing is None else view.x.nan_to_num()
    return x.cpu().numpy()


def reduced(matrix: sp.csr_matrix | np.ndarray, rank: int, seed: int) -> np.ndarray:
    """``U S`` of the truncated decomposition, float32."""
    u, s, _ = randomized_svd(matrix, rank, n_oversamples=16, n_iter=4, random_state=seed, flip_sign=True)
    return np.ascontiguousarray((u * s).astype(np.float32))


def copies(view: View) -> Tensor:
    """How often the exact value of each row occurs ``[n]``, where that is no coincidence.

    If the columns were independent, a row with values of frequencies ``p_j`` would be expected ``n prod p_j`` times;
    rows for which that is more than 1 % (short tables, empty rows of almost empty bags) count as single.
    """
    n = view.nodes
    rng = np.random.default_rng(0)
    direction = rng.standard_normal(view.features)
    if view.matrix is not None:
        key = view.matrix.astype(np.float64) @ direction
    else:
        assert view.x is not None
        key = np.zeros(n)
        for first, last in view.ranges():
            block = view.block(first, last).nan_to_num(nan=-1e9).double().cpu().numpy()
            key += block @ direction[first:last]
    _, group, count = np.unique(key, return_inverse=True, return_counts=True)
    size = count[group].astype(np.float32)
    repeated = np.flatnonzero(size > 1)
    if repeated.size:
        expected = np.log(n) + (log_chance_sparse(view, repeated) if view.bag else log_chance(view, repeated))
        size[repeated[expected > np.log(0.01)]] = 1
    return torch.from_numpy(size).to(view.device)


def log_chance(view: View, rows: np.ndarray) -> np.ndarray:
    """Log of the product of the frequencies of a row's values; stops where it is negligible for all of the rows."""
    total = np.zeros(rows.size)
    for first, last in view.ranges():
        block = view.block(first, last).cpu().numpy()
        for j in range(last - first):
            _, which, count = np.unique(block[:, j], return_inverse=True, return_counts=True)
            total += np.log(count[which[rows]] / view.nodes)
            if (total < -np.log(view.nodes) - 20).all():
                return total
    return total


def log_chance_sparse(view: View, rows: np.ndarray) -> np.ndarray:
    """The same for bags, whose zeros are not looked at one by one."""
    x = view.matrix if view.matrix is not None else sp.csr_matrix(unit_bag(view))
    filled = np.bincount(x.indices, minlength=view.features) / view.nodes
    log_zero = np.log(np.maximum(1 - filled, 0.5 / view.nodes))
    order = np.lexsort((x.data, x.indices))
    column, value = x.indices[order], x.data[order]
    new = np.ones(order.size, bool)
    new[1:] = (column[1:] != column[:-1]) | (value[1:] != value[:-1])
    run = np.cumsum(new) - 1
    gain = np.empty(order.size)
    gain[order] = np.log(np.bincount(run)[run] / view.nodes) - log_zero[column]
    chosen = sp.csr_matrix((gain, x.indices, x.indptr), shape=x.shape)[rows]
    return log_zero.sum() + np.asarray(chosen.sum(axis=1)).ravel()
