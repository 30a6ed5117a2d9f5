"""Rows as vectors whose cosine measures their similarity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.utils.extmath import randomized_svd
from torch import Tensor

from magnet.arrays import csr_tensor
from magnet.detection.data.dataset import ROW_RANK, DetectionData, block_width
from magnet.detection.data.edges import link_products, over_rows
from magnet.detection.data.scratch import row_ranges
from magnet.detection.data.sparse_rows import by_pieces, columns_of, row_pieces, stacked
from magnet.detection.options import DATA

MIN_NORM = 1e-12  # of a row, so that empty ones stay 0
MIN_ROW_CELLS = 128  # that a row counts as in products of sparse rows; bounds the rows that are copied at once
EXTRA_VECTORS, POWER_STEPS = 16, 4  # of the randomized singular value decomposition (not swept)
MISSING = -1e9  # stands for missing values where rows are compared: no column holds it
NEGLIGIBLE = 20.0  # rows expected less than exp(-20) times are no coincidence, whatever the rest of their columns hold


@dataclass(eq=False)
class RowVectors:
    """A matrix of row vectors ``z_i``, dense or sparse, and the products that detection needs.

    Args:
        dense: ``[n, k]``, or None.
        matrix: sparse ``[n, k]``, or None.
        device: where the products are computed.
        on_disk: the matrix is in temporary files.
    """

    dense: Tensor | None
    matrix: sp.csr_matrix | None
    device: torch.device
    on_disk: bool = False

    def __post_init__(self) -> None:
        if self.matrix is not None:
            self.square = torch.from_numpy(np.concatenate([_squares(piece) for _, piece in row_pieces(self.matrix)]))
            self.square = self.square.to(self.device)
        else:
            assert self.dense is not None
            self.square = torch.cat([self.dense[rows].square().sum(dim=1) for rows in row_ranges(*self.dense.shape)])

    @cached_property
    def _csr(self) -> Tensor:
        return csr_tensor(self.matrix, torch.float32, self.device)

    @cached_property
    def _csc(self) -> sp.csc_matrix:
        return columns_of(self.matrix, self.on_disk)

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = (self.matrix if self.matrix is not None else self.dense).shape  # type: ignore[union-attr]
        return int(rows), int(columns)

    def times(self, other: Tensor) -> Tensor:
        """``Z @ other`` for a dense ``[k, m]``."""
        if self.matrix is None:
            return self.dense @ other  # type: ignore[operator]
        if not self.on_disk:
            return self._csr @ other
        pieces = (csr_tensor(piece, torch.float32, self.device) for _, piece in row_pieces(self.matrix))
        return torch.cat([piece @ other for piece in pieces])

    def sums(self, weights: sp.csr_matrix) -> Tensor:
        """``weights @ Z``, dense ``[m, k]``, for sparse ``[m, n]``."""
        if self.matrix is not None:
            return torch.from_numpy((weights @ self.matrix).toarray()).float().to(self.device)
        return csr_tensor(weights, torch.float32, self.device) @ self.dense  # type: ignore[operator]

    def select(self, index: Tensor) -> Tensor:
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
        width = block_width(rows, DATA.product_width)
        for first in range(0, columns, width):
            if self.matrix is not None:
                block = torch.from_numpy(self._csc[:, first : first + width].toarray()).to(self.device)
            else:
                block = self.dense[:, first : first + width]  # type: ignore[index]
            yield first, block

    def sparse_blocks(self, cells: float) -> Iterator[tuple[int, sp.csr_matrix]]:
        """Ranges of columns of sparse vectors with about so many non-zero cells."""
        columns = self.shape[1]
        width = max(1, int(columns * cells / max(1, self.matrix.nnz)))  # type: ignore[union-attr]
        for first in range(0, columns, width):
            yield first, self.matrix if width >= columns else self._csc[:, first : first + width].tocsr()

    def link_products(self, data: DetectionData, row: Tensor) -> Tensor:
        """``z_k . z_j`` for every link from i to j, in the order of ``data.edges``, with the row ``k = row[i]``
        ``[n]``."""
        a, dense = data.graph.adjacency, self.dense
        if dense is not None and dense.device.type == "cpu":
            out = torch.empty(a.nnz)
            arrays = a.indptr, a.indices, row.numpy(), dense.contiguous().numpy(), out.numpy()
            over_rows(partial(link_products, *arrays), a.indptr, dense.shape[1])
            return out
        left, right = data.edges
        row_length = dense.shape[1] if dense is not None else max(MIN_ROW_CELLS, self.matrix.nnz // a.shape[0])  # type: ignore[union-attr]
        step = max(1, DATA.cells_per_block // row_length)
        parts = [torch.zeros(0, device=self.device)]
        for i, j in zip(row[left].split(step), right.split(step), strict=True):
            if dense is not None:
                parts.append((dense[i] * dense[j]).sum(dim=1))
            else:
                one, other = (self.matrix[part.cpu().numpy()] for part in (i, j))  # type: ignore[index]
                products = np.asarray(one.multiply(other).sum(axis=1), dtype=np.float32).ravel()
                parts.append(torch.from_numpy(products).to(self.device))
        return torch.cat(parts)


def unit_rows(data: DetectionData) -> RowVectors:
    """``R``: each row divided by its norm. Bags of words and comparable numbers as they are; other tables on the common
    scale."""
    if data.matrix is not None:
        return RowVectors(None, by_pieces(data.matrix, _unit_sparse, data.on_disk), data.device, data.on_disk)
    if data.is_bag or comparable(data):
        assert data.x is not None
        mean = None if data.missing is None else _known_mean(data)
        z = _unit(data, data.x, mean)
        if sum(int(z[rows].count_nonzero()) for rows in row_ranges(*z.shape)) < DATA.max_dense_fill * z.numel():
            matrix = stacked((piece for _, piece in row_pieces(z)), z.shape[1], data.on_disk)
            return RowVectors(None, matrix, data.device, data.on_disk)
        return RowVectors(z, None, data.device)
    return RowVectors(_unit(data, standard_rows(data)), None, data.device)


def low_rank_rows(data: DetectionData, rank: int = ROW_RANK, seed: int = 0) -> RowVectors | None:
    """``S``: a truncated singular value decomposition of tf-idf for bags, of the standardized table otherwise, rows of
    norm 1. Where the rank is not below that of the table, the standardized table, or None if that is what ``R`` is."""
    if min(data.num_nodes, data.num_features) <= rank + 1:
        if data.is_bag or not comparable(data):
            return None
        return RowVectors(_unit(data, standard_rows(data)), None, data.device)
    if data.is_bag:
        matrix = _sparse_bag(data)
        idf = np.log((1 + data.num_nodes) / (1 + _filled(matrix))) + 1
        weigh = sp.diags(idf.astype(np.float32))
        tf_idf = by_pieces(matrix, lambda piece: _unit_sparse(sp.csr_matrix(piece @ weigh)), data.on_disk)
        z = _truncated_svd(tf_idf, rank, seed)
    else:
        z = _truncated_svd(standard_rows(data).cpu().numpy(), rank, seed)
    return RowVectors(_unit(data, torch.from_numpy(z).to(data.device)), None, data.device)


def comparable(data: DetectionData) -> bool:
    """Whether all columns are numbers of about the same size, as those of embeddings are."""
    spread = data.scales.spread
    numbers = all(kind == "continuous" for kind in data.kinds) and data.num_features >= DATA.min_bag_columns
    return numbers and bool(spread.max() < DATA.max_comparable_ratio * spread.median())


def standard_rows(data: DetectionData) -> Tensor:
    """Dense ``[n, d]`` on the common scale; a missing value is 0, the center of its column."""
    z, limit = data.empty(data.num_nodes, data.num_features), DATA.max_standardized
    for first, last in data.ranges():
        z[:, first:last] = data.scales.standardize(data.block(first, last), first).nan_to_num().clamp(-limit, limit)
    for c, at in data.categories(0, data.num_features):
        z[:, at] /= (c.stop - c.start - 1) ** 0.5 if c.stop - c.start > 1 else 1.0
    return z


def row_norms(data: DetectionData) -> Tensor:
    """The norms ``[n]`` of the rows, on the scale on which :func:`unit_rows` compares them."""
    plain = data.is_bag or comparable(data)
    square = torch.zeros(data.num_nodes, device=data.device)
    for first, last in data.ranges():
        block = data.block(first, last)
        z = block if plain else data.scales.standardize(block, first)
        square += z.nan_to_num().square().sum(dim=1)
    return square.sqrt()


def _unit(data: DetectionData, z: Tensor, mean: Tensor | None = None) -> Tensor:
    """Rows of norm 1, with the means ``[d]`` in the place of missing values, a block of rows at a time."""
    out = data.empty(*z.shape)
    for rows in row_ranges(*z.shape):
        part = z[rows].contiguous()  # sums depend on how the numbers lie in memory
        part = part if mean is None else torch.where(part.isnan(), mean, part)
        torch.div(part, part.norm(dim=1, keepdim=True).clamp_min(MIN_NORM), out=out[rows])
    return out


def _known_mean(data: DetectionData) -> Tensor:
    """The mean ``[d]`` of the values that are not missing; 0 where all are."""
    return torch.cat([data.block(first, last).nanmean(dim=0).nan_to_num() for first, last in data.ranges()])


def _squares(matrix: sp.csr_matrix) -> np.ndarray:
    """Squared norms ``[n]`` of the rows."""
    return np.asarray(matrix.multiply(matrix).sum(axis=1), dtype=np.float32).ravel()


def _filled(matrix: sp.csr_matrix) -> np.ndarray:
    """How many cells of each column ``[d]`` are stored."""
    return sum(np.bincount(piece.indices, minlength=matrix.shape[1]) for _, piece in row_pieces(matrix))  # type: ignore[return-value]


def _unit_sparse(matrix: sp.csr_matrix) -> sp.csr_matrix:
    square = _squares(matrix)
    return sp.csr_matrix(sp.diags((1 / np.sqrt(np.where(square > 0, square, 1))).astype(np.float32)) @ matrix)


def _sparse_bag(data: DetectionData) -> sp.csr_matrix:
    if data.matrix is not None:
        return data.matrix
    assert data.x is not None
    return stacked((piece for _, piece in row_pieces(data.x)), data.num_features, data.on_disk)


def _truncated_svd(matrix: sp.csr_matrix | np.ndarray, rank: int, seed: int) -> np.ndarray:
    """``U S``, float32."""
    u, s, _ = randomized_svd(
        matrix, rank, n_oversamples=EXTRA_VECTORS, n_iter=POWER_STEPS, random_state=seed, flip_sign=True
    )
    return np.ascontiguousarray((u * s).astype(np.float32))


def duplicate_counts(data: DetectionData) -> Tensor:
    """Number of exact copies of each row ``[n]``, coincidences excluded.

    If the columns were independent, a row with values of frequencies ``p_j`` would be expected ``n prod p_j`` times;
    rows for which that is more than 1 % (tables of few columns, empty rows of nearly empty bags) count as single.
    """
    n = data.num_nodes
    direction = np.random.default_rng(0).standard_normal(data.num_features)
    if data.matrix is not None:
        key = np.concatenate([piece.astype(np.float64) @ direction for _, piece in row_pieces(data.matrix)])
    else:
        key = np.zeros(n)
        for first, last in data.ranges():
            block = data.block(first, last).nan_to_num(nan=MISSING).double().cpu().numpy()
            key += block @ direction[first:last]
    _, group, count = np.unique(key, return_inverse=True, return_counts=True)
    size = count[group].astype(np.float32)
    repeated = np.flatnonzero(size > 1)
    if repeated.size:
        log_frequency = _log_frequency_of_bags if data.is_bag else _log_frequency
        expected = np.log(n) + log_frequency(data, repeated)
        size[repeated[expected > np.log(DATA.max_chance_duplicates)]] = 1
    return torch.from_numpy(size).to(data.device)


def _log_frequency(data: DetectionData, rows: np.ndarray) -> np.ndarray:
    """Log of the product of the frequencies of a row's values; stops where it is negligible for all of the rows."""
    total = np.zeros(rows.size)
    for first, last in data.ranges():
        block = data.block(first, last).cpu().numpy()
        for j in range(last - first):
            _, which, count = np.unique(block[:, j], return_inverse=True, return_counts=True)
            total += np.log(count[which[rows]] / data.num_nodes)
            if (total < -np.log(data.num_nodes) - NEGLIGIBLE).all():
                return total
    return total


def _log_frequency_of_bags(data: DetectionData, rows: np.ndarray) -> np.ndarray:
    """The same for bags, with one product for all zeros."""
    x = _sparse_bag(data)
    by_column = data.by_column if data.matrix is not None else columns_of(x, data.on_disk)
    log_zero = np.log(np.maximum(1 - np.diff(by_column.indptr) / data.num_nodes, 0.5 / data.num_nodes))
    total = np.zeros(data.num_nodes)
    for first, last in data.ranges():
        part = by_column[:, first:last]
        column = np.repeat(np.arange(last - first), np.diff(part.indptr))
        order = np.lexsort((part.data, column))
        value, place = part.data[order], column[order]
        new = np.ones(order.size, bool)
        new[1:] = (place[1:] != place[:-1]) | (value[1:] != value[:-1])
        run = np.cumsum(new) - 1
        gain = np.empty(order.size)
        gain[order] = np.log(np.bincount(run)[run] / data.num_nodes) - log_zero[first:last][place]
        np.add.at(total, part.indices, gain)
    return log_zero.sum() + total[rows]
