"""Products and maxima over the edges."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.threads import CELLS_PER_THREAD, map_threads

#: Ranges of rows for each thread, so that none waits long for one that was interrupted.
RANGES_PER_THREAD = 4

try:
    from numba import njit
except ImportError:  # on a GPU these loops are not used; on a CPU they are correct without numba, but slow

    def jit(function: Any) -> Any:
        return function

    exact_jit = jit
else:
    exact_jit = njit(nogil=True, cache=True)
    jit = njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})


@jit
def link_products(indptr: Any, indices: Any, row: Any, z: Any, out: Any, first: int, last: int) -> None:
    """``z_k . z_j`` for every link from i to j of the nodes ``first .. last - 1``, where ``k = row[i]`` is the row that
    is compared at node i, into ``out`` ``[links]``.

    Example:
        >>> z, out = np.array([[1, 2], [3, 4]], dtype=np.float32), np.zeros(2, np.float32)
        >>> link_products(np.array([0, 1, 2]), np.array([1, 0]), np.array([0, 1]), z, out, 0, 2)
        >>> out.tolist()
        [11.0, 11.0]
    """
    for i in range(first, last):
        one = z[row[i]]
        for e in range(indptr[i], indptr[i + 1]):
            other, total = z[indices[e]], np.float32(0)
            for c in range(one.size):
                total += one[c] * other[c]
            out[e] = total


@exact_jit
def nearest_neighbor(
    indptr: Any,
    indices: Any,
    row: Any,
    products: Any,
    along: Any,
    offset: Any,
    length: Any,
    w: Any,
    out: Any,
    first: int,
    last: int,
) -> None:
    """The largest weighted cosine ``w_j cos(z_k - m, z_j - m)`` with a neighbor j of node i, for the nodes ``first ..
    last - 1``, where ``k = row[i]``, into ``out`` ``[n]``; 0 for nodes without any.

    Args:
        products: ``z_k . z_j`` of every link.
        along: ``z_i . m`` of every node, and ``offset`` ``m . m``.
        length: norms of ``z_i - m``.
    """
    for i in range(first, last):
        out[i], k = 0, row[i]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            cosine = w[j] * (products[e] - along[k] - along[j] + offset) / (length[k] * length[j])
            if e == indptr[i] or cosine > out[i]:
                out[i] = cosine


@exact_jit
def _add_rows(indptr: Any, indices: Any, weights: Any, values: Any, out: Any, first: int, last: int) -> None:
    for i in range(first, last):
        total = out[i]
        total[:] = 0
        for e in range(indptr[i], indptr[i + 1]):
            weight, other = weights[e], values[indices[e]]
            for c in range(total.size):
                total[c] += weight * other[c]


@jit
def sparse_contexts(
    graph: Any, rows: Any, one: Any, mean: Any, own: Any, near: Any, far: Any, out: Any, first: int, last: int
) -> None:
    """Norms of the contexts of the nodes ``first .. last - 1``, and their products with the rows themselves, where the
    rows are sparse: no context is ever stored.

    Args:
        graph: CSR arrays (pointers, indices, values) of the adjacency.
        rows: CSR arrays of the rows ``z``.
        one: CSR arrays of the one-hop sums of ``w z``.
        mean: of the rows, which is subtracted from all of them ``[d]``.
        own: by how much a row counts in the walks that return to it ``[n]``.
        near, far: total weights of the one-hop and two-hop sums ``[n]``.
        out: squared norms of the one-hop and two-hop sums and their products with the row, ``[n, 4]``.
    """
    context = np.empty(mean.size)
    for i in range(first, last):
        for hop in range(2):
            total = near[i] if hop == 0 else far[i]
            for c in range(mean.size):
                context[c] = -total * mean[c]
            if hop == 0:
                for e in range(one[0][i], one[0][i + 1]):
                    context[one[1][e]] += one[2][e]
            else:
                for edge in range(graph[0][i], graph[0][i + 1]):
                    j, weight = graph[1][edge], graph[2][edge]
                    for e in range(one[0][j], one[0][j + 1]):
                        context[one[1][e]] += weight * one[2][e]
                for e in range(rows[0][i], rows[0][i + 1]):
                    context[rows[1][e]] -= own[i] * rows[2][e]
            norm, product = 0.0, 0.0
            for c in range(mean.size):
                norm += context[c] * context[c]
                product -= context[c] * mean[c]
            for e in range(rows[0][i], rows[0][i + 1]):
                product += context[rows[1][e]] * rows[2][e]
            out[i, hop], out[i, 2 + hop] = norm, product


@jit
def neighbor_max(indptr: Any, indices: Any, values: Any) -> NDArray[np.float32]:
    """The maximum over each node's neighbors, column by column; 0 for nodes without any.

    Example:
        >>> values = np.array([[1, 2], [3, 4], [5, 0]], dtype=np.float32)
        >>> neighbor_max(np.array([0, 2, 3, 3]), np.array([1, 2, 0]), values).tolist()
        [[5.0, 4.0], [1.0, 2.0], [0.0, 0.0]]
    """
    out = np.zeros((indptr.size - 1, values.shape[1]), np.float32)
    for i in range(indptr.size - 1):
        best = out[i]
        for e in range(indptr[i], indptr[i + 1]):
            other = values[indices[e]]
            if e == indptr[i]:
                best[:] = other
            else:
                for c in range(best.size):
                    best[c] = other[c] if other[c] > best[c] else best[c]  # becomes one vector instruction
    return out


def sparse_product(matrix: sp.csr_matrix, dense: NDArray[np.float32]) -> NDArray[np.float32]:
    """``matrix @ dense`` of float32, as SciPy computes it to the last bit, on several threads.

    Example:
        >>> matrix = sp.csr_matrix(np.array([[0, 1, 1], [2, 0, 0]], dtype=np.float32))
        >>> sparse_product(matrix, np.array([[1, 2], [3, 4], [5, 0]], dtype=np.float32)).tolist()
        [[8.0, 4.0], [2.0, 4.0]]
    """
    out = np.empty((matrix.shape[0], dense.shape[1]), np.float32)
    arrays = matrix.indptr, matrix.indices, matrix.data, np.ascontiguousarray(dense), out
    over_rows(partial(_add_rows, *arrays), matrix.indptr, dense.shape[1])
    return out


def rows_of_product(matrix: sp.csr_matrix, dense: NDArray[np.float32], rows: slice) -> NDArray[np.float32]:
    """Some rows of :func:`sparse_product`, on this thread; ``dense`` is contiguous."""
    out = np.empty((rows.stop - rows.start, dense.shape[1]), np.float32)
    indptr = matrix.indptr[rows.start : rows.stop + 1]
    _add_rows(indptr, matrix.indices, matrix.data, dense, out, 0, out.shape[0])
    return out


def over_rows(work: Callable[[int, int], None], indptr: NDArray[Any], columns: int) -> None:
    """``work(first, last)`` of ranges of rows with about the same number of entries, on as many threads as ``columns``
    numbers for each of them are worth."""
    rows, entries = indptr.size - 1, int(indptr[-1])
    threads = max(1, min(torch.get_num_threads(), entries * columns // CELLS_PER_THREAD))
    pieces = 1 if threads == 1 else RANGES_PER_THREAD * threads
    bounds = np.searchsorted(indptr[:-1], np.linspace(0, entries, pieces + 1)[1:-1]).tolist()
    ranges = list(pairwise([0, *bounds, rows]))
    map_threads(lambda each: work(*each), ranges, threads)


def segment_max(values: Tensor, lengths: Tensor) -> Tensor:
    """The maximum over each consecutive group of rows; 0 for empty groups.

    Example:
        >>> segment_max(torch.tensor([[1.0], [3.0], [-5.0]]), torch.tensor([2, 0, 1])).flatten().tolist()
        [3.0, 0.0, -5.0]
    """
    top = torch.segment_reduce(values, "max", lengths=lengths, axis=0, unsafe=True)
    return torch.where(lengths[:, None] > 0, top, torch.zeros((), device=values.device))
