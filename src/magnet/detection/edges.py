"""Loops over the edges, for the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

_jit = njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})


@_jit
def pair_products(left: Any, right: Any, z: Any) -> NDArray[np.float32]:
    """``z_i . z_j`` for pairs of rows.

    Example:
        >>> z = np.array([[1, 2], [3, 4]], dtype=np.float32)
        >>> pair_products(np.array([0, 1]), np.array([1, 1]), z).tolist()
        [11.0, 25.0]
    """
    out = np.empty(left.size, np.float32)
    for e in range(left.size):
        one, other, total = z[left[e]], z[right[e]], np.float32(0)
        for c in range(one.size):
            total += one[c] * other[c]
        out[e] = total
    return out


@_jit
def largest_neighbour(indptr: Any, indices: Any, values: Any) -> NDArray[np.float32]:
    """The maximum over each node's neighbours, column by column; 0 for nodes without any.

    Example:
        >>> values = np.array([[1, 2], [3, 4], [5, 0]], dtype=np.float32)
        >>> largest_neighbour(np.array([0, 2, 3, 3]), np.array([1, 2, 0]), values).tolist()
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
