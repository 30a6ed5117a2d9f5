"""Sparse matrices with gradients, and the operators of the models."""

from __future__ import annotations

import numpy as np
import torch

from magnet.graph import Graph
from magnet.nn.sparse import Sparse, incidence

BOTH = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])

WEIGHT = torch.tensor([2.0, 2.0, 0.5, 0.5, 1.0, 1.0])


def test_self_looped_operator_is_the_one_written_out(path: Graph, path_matrix: torch.Tensor) -> None:
    assert np.allclose(path.self_looped.toarray(), path_matrix.numpy(), atol=1e-7)


def test_incidence_squares_to_the_laplacian_with_weights() -> None:
    graph = Graph.from_edges(BOTH, 4, WEIGHT)
    delta = incidence(graph).toarray()
    assert delta.shape == (3, 4)
    assert np.allclose(delta.T @ delta, np.eye(4) - graph.self_looped.toarray())


def test_sparse_product_carries_gradients() -> None:
    dense = torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    import scipy.sparse as sp

    matrix = Sparse.of(sp.csr_matrix(dense.numpy()), torch.zeros(0))
    h = torch.randn(3, 2, 4, requires_grad=True)
    (matrix @ h).square().sum().backward()
    expected = 2 * torch.einsum("ij,ik,ksc->jsc", dense, dense, h.detach())
    assert torch.allclose(h.grad, expected, atol=1e-5)
