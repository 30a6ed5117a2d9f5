"""Products and maxima over the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

try:
    from numba import njit
except ImportError:  # on a GPU these loops are not used; on a CPU they are correct without numba, but slow

    def _jit(function: Any) -> Any:
        return function

else:
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


def segment_max(values: Tensor, lengths: Tensor) -> Tensor:
    """The maximum over each consecutive group of rows; 0 for empty groups.

    Example:
        >>> segment_max(torch.tensor([[1.0], [3.0], [-5.0]]), torch.tensor([2, 0, 1])).flatten().tolist()
        [3.0, 0.0, -5.0]
    """
    top = torch.segment_reduce(values, "max", lengths=lengths, axis=0, unsafe=True)
    return torch.where(lengths[:, None] > 0, top, torch.zeros((), device=values.device))
