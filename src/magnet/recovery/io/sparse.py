"""Columns of a sparse matrix in an ``.npz`` file that may be larger than memory."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from magnet.arrays import MAX_INT, Ints
from magnet.untrusted import check_csr, map_npz

#: Entries that are moved at a time: a dozen arrays of 2 MB.
ENTRIES_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class SparseFile:
    """The entries of a sparse matrix ``[n, d]`` column after column, in files that are mapped into memory."""

    values: NDArray[Any]  # [nnz], as the rows
    rows: NDArray[Any]
    starts: Ints  # [d + 1], where each column begins
    shape: tuple[int, int]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    def dense(self, first: int, last: int) -> NDArray[Any]:
        """The columns ``first .. last - 1``, dense ``[n, last - first]``."""
        at = slice(int(self.starts[first]), int(self.starts[last]))
        parts = np.array(self.values[at]), np.array(self.rows[at]), self.starts[first : last + 1] - self.starts[first]
        return np.asarray(sp.csc_matrix(parts, shape=(self.shape[0], last - first)).toarray(order="C"))


def open_sparse(path: str | os.PathLike[str]) -> SparseFile:
    """Map a matrix of ``scipy.sparse.save_npz``, in the CSR or CSC format. CSR is sorted by columns once, in temporary
    files (in ``TMPDIR``); neither form is ever in memory as a whole."""
    data, indices, indptr, shape, by_column = map_sparse(path)
    if by_column:
        return SparseFile(data, indices, indptr, shape)
    return SparseFile(*entries_by_column(data, indices, indptr, shape[1]), shape)


def map_sparse(
    path: str | os.PathLike[str],
) -> tuple[NDArray[Any], NDArray[Any], Ints, tuple[int, int], bool]:
    """Values, indices and pointers of a matrix in a file, its shape, and whether it is stored by columns (CSC)."""
    kind = map_npz(path, ["format"])["format"]
    if kind.shape or kind.item() not in (b"csr", b"csc"):
        raise ValueError("sparse features must be in the CSR or CSC format of scipy.sparse.save_npz")
    data, indices, indptr, shape = map_npz(path, ("data", "indices", "indptr", "shape")).values()
    by_column = kind.item() == b"csc"
    size = check_csr(data, indices, indptr, shape[::-1] if by_column else shape)
    pointers = np.array(indptr, dtype=np.int64)
    return data, indices, pointers, (size[1], size[0]) if by_column else size, by_column


def entries_by_column(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], columns: int
) -> tuple[NDArray[Any], NDArray[Any], Ints]:
    """Values and rows of the entries of a CSR matrix, sorted by columns in temporary files, and where these begin."""
    entries = int(indptr[-1])
    pieces = [slice(at, min(entries, at + ENTRIES_AT_ONCE)) for at in range(0, entries, ENTRIES_AT_ONCE)]
    count = np.zeros(columns, dtype=np.int64)
    for piece in pieces:
        count += np.bincount(indices[piece], minlength=columns)
    starts = np.concatenate([[0], np.cumsum(count)])
    index = np.dtype(np.int32 if max(entries, indptr.size) <= MAX_INT else np.int64)
    values, rows = _temporary(entries, data.dtype), _temporary(entries, index)
    filled = starts[:-1].copy()
    for piece in pieces:
        top, bottom = np.searchsorted(indptr, [piece.start, piece.stop - 1], side="right") - 1
        bounds = np.clip(indptr[top : bottom + 2], piece.start, piece.stop)
        row = np.repeat(np.arange(top, bottom + 1), bounds[1:] - bounds[:-1])
        order = np.argsort(indices[piece], kind="stable")
        column = indices[piece][order]
        place = filled[column] + np.arange(column.size) - np.searchsorted(column, column)
        values[place], rows[place] = data[piece][order], row[order]
        filled += np.bincount(column, minlength=columns)
    return values, rows, starts


def _temporary(size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array in a temporary file, which is gone when the array is."""
    if not size:
        return np.zeros(0, dtype)
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, dtype, "w+", shape=(size,))
