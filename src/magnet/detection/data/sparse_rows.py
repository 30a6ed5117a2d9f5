"""Sparse matrices that may be larger than memory: read a range of rows at a time, and kept in temporary files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from torch import Tensor

from magnet import arrays
from magnet.arrays import MAX_INT, to_scipy
from magnet.detection.data.scratch import row_ranges
from magnet.recovery.io.sparse import entries_by_column, map_sparse

Array = NDArray[Any]


def row_pieces(x: sp.csr_matrix | Tensor) -> Iterator[tuple[slice, sp.csr_matrix]]:
    """Consecutive ranges of the rows of a sparse matrix, or of a dense one (NaN becomes 0), with a few million cells
    each.

    Example:
        >>> [(rows.stop, piece.nnz) for rows, piece in row_pieces(sp.csr_matrix(np.eye(3)))]
        [(3, 3)]
    """
    if not isinstance(x, Tensor):
        yield from _pieces(x.data, x.indices, x.indptr, x.shape[1])
        return
    for rows in row_ranges(*x.shape):
        yield rows, sp.csr_matrix(x[rows].nan_to_num(nan=0.0).cpu().numpy())


def _pieces(data: Array, indices: Array, indptr: Array, columns: int) -> Iterator[tuple[slice, sp.csr_matrix]]:
    rows, start = indptr.size - 1, 0
    while start < rows:
        most = int(indptr[start]) + arrays.CELLS_PER_BLOCK
        stop = max(start + 1, int(np.searchsorted(indptr, most, side="right")) - 1)
        at = slice(int(indptr[start]), int(indptr[stop]))
        parts = data[at], indices[at], indptr[start : stop + 1] - indptr[start]
        yield slice(start, stop), sp.csr_matrix(parts, shape=(stop - start, columns))
        start = stop


def stored_values(x: sp.csr_matrix, rows: slice) -> Array:
    """The values of some rows where they are stored; those of a piece may be a copy."""
    values: Array = x.data[x.indptr[rows.start] : x.indptr[rows.stop]]
    return values


def by_pieces(x: sp.csr_matrix, work: Callable[[sp.csr_matrix], sp.csr_matrix], on_disk: bool) -> sp.csr_matrix:
    """``work(x)``, where it treats every row on its own: on disk a range of rows at a time."""
    return stacked((work(piece) for _, piece in row_pieces(x)), x.shape[1], True) if on_disk else work(x)


def stacked(pieces: Iterable[sp.csr_matrix], columns: int, on_disk: bool) -> sp.csr_matrix:
    """Matrices below one another, in temporary files if ``on_disk``: what is in memory of these is a cache that the
    system can drop.

    Example:
        >>> stacked([sp.csr_matrix(np.eye(2)), sp.csr_matrix([[0.0, 5.0]])], 2, on_disk=True).toarray().tolist()
        [[1.0, 0.0], [0.0, 1.0], [0.0, 5.0]]
    """
    if not on_disk:
        return sp.csr_matrix(sp.vstack(list(pieces), format="csr"))
    lengths, values, indices = [np.zeros(1, np.int64)], _Appended(), _Appended()
    for piece in pieces:
        lengths.append(np.diff(piece.indptr))
        values.append(piece.data)
        indices.append(piece.indices)
    indptr = np.concatenate(lengths).cumsum()
    shape = (indptr.size - 1, columns)
    return sp.csr_matrix(_as_scipy(values.mapped(), indices.mapped(), indptr, shape), shape=shape)


def columns_of(x: sp.csr_matrix, on_disk: bool) -> sp.csc_matrix:
    """The same matrix sorted by columns."""
    if not on_disk:
        return x.tocsc()
    entries = entries_by_column(x.data, x.indices, x.indptr, x.shape[1])
    return sp.csc_matrix(_as_scipy(*entries, x.shape), shape=x.shape)


def read_rows(path: str | os.PathLike[str]) -> sp.csr_matrix:
    """The matrix of a sparse ``.npz`` file as float32 in temporary files, without stored zeros."""
    data, indices, indptr, shape, by_column = map_sparse(path)
    if by_column:
        data, indices, indptr = entries_by_column(data, indices, indptr, shape[0])
    pieces = _pieces(data, indices, indptr, shape[1])
    return stacked((to_scipy(piece.astype(np.float32)) for _, piece in pieces), shape[1], on_disk=True)


def concatenated(parts: Iterable[Array], on_disk: bool) -> Array:
    """Arrays ``[m]`` after one another, in a temporary file if ``on_disk``."""
    if not on_disk:
        return np.concatenate(list(parts))
    out = _Appended()
    for part in parts:
        out.append(part)
    return out.mapped()


class _Appended:
    """Arrays that are written to a temporary file one after another."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  (it outlives this function)
        self._dtype = np.dtype(np.float32)

    def append(self, part: Array) -> None:
        self._dtype = part.dtype
        self._file.write(np.ascontiguousarray(part).data)

    def mapped(self) -> Array:
        """All of them; the file is gone when this array is."""
        with self._file as file:
            size = file.tell() // self._dtype.itemsize
            return np.asarray(np.memmap(file, self._dtype, "r+", shape=(size,))) if size else np.zeros(0, self._dtype)


def _as_scipy(values: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> tuple[Array, Array, Array]:
    """The arrays of a matrix on disk, with the type of index that SciPy keeps: it would copy another one to memory."""
    dtype = np.dtype(np.int32 if max(int(indptr[-1]), *shape) <= MAX_INT else np.int64)
    if indices.dtype != dtype:
        chunks = range(0, indices.size, arrays.CELLS_PER_BLOCK)
        indices = concatenated((indices[at : at + arrays.CELLS_PER_BLOCK].astype(dtype) for at in chunks), True)
    return values, indices, indptr.astype(dtype)
