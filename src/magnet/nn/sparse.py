"""Sparse matrices that carry gradients, and the operators that the models are made of."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from torch import Tensor

from magnet.arrays import csr_tensor
from magnet.framelets import sparse_product
from magnet.graph import Graph


@dataclass(frozen=True, eq=False)
class Sparse:
    """A fixed sparse matrix ``[rows, columns]`` and its transpose, both CSR.

    ``matrix @ h`` takes ``h`` of shape ``[columns, ...]`` and is differentiable in it.
    """

    matrix: Tensor
    transposed: Tensor

    @classmethod
    def of(cls, matrix: sp.csr_matrix, like: Tensor, symmetric: bool = False) -> Sparse:
        """A SciPy matrix with the dtype and device of ``like``."""
        matrix = sp.csr_matrix(matrix)
        matrix.sort_indices()
        forward = csr_tensor(matrix, like.dtype, like.device)
        if symmetric:
            return cls(forward, forward)
        back = matrix.T.tocsr()
        back.sort_indices()
        return cls(forward, csr_tensor(back, like.dtype, like.device))

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.matrix.shape[0]), int(self.matrix.shape[1])

    @property
    def t(self) -> Sparse:
        return Sparse(self.transposed, self.matrix)

    def __matmul__(self, h: Tensor) -> Tensor:
        flat = h.reshape(h.shape[0], math.prod(h.shape[1:]))
        return sparse_product(self.matrix, self.transposed, flat).view(self.shape[0], *h.shape[1:])


def incidence(graph: Graph) -> sp.csr_matrix:
    r"""The normalized incidence matrix :math:`\tilde\Delta` ``[edges, nodes]``.

    An edge :math:`(i, j)` of weight :math:`w` has the row
    :math:`\sqrt w\,(e_i / \sqrt{d_i + 1} - e_j / \sqrt{d_j + 1})`, so that
    :math:`\tilde\Delta^\top \tilde\Delta = I - \tilde A`.
    """
    upper = sp.triu(graph.adjacency, k=1).tocoo()
    root, scale = np.sqrt(upper.data), 1.0 / np.sqrt(graph.degree + 1.0)
    edge = np.arange(upper.nnz)
    values = np.concatenate([root * scale[upper.row], -root * scale[upper.col]])
    places = (np.concatenate([edge, edge]), np.concatenate([upper.row, upper.col]))
    return sp.csr_matrix((values, places), shape=(upper.nnz, graph.num_nodes))
