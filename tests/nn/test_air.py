"""AirGNN by hand and in its limits."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from magnet import nn
from magnet.graph import Graph
from magnet.nn.features import Features

EDGES = torch.tensor([[0, 1, 2], [1, 2, 3]])


def test_air_keeps_the_input_near_one_and_smooths_at_zero(path_matrix: torch.Tensor) -> None:
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    h = nn.MLP(5, 3).eval()(x, EDGES)
    assert torch.allclose(nn.AirGNN(5, 3, amplitude=0.999).eval()(x, EDGES), h, atol=1e-6)
    smooth = torch.linalg.matrix_power(path_matrix, 10) @ h
    assert torch.allclose(nn.AirGNN(5, 3, amplitude=0.0).eval()(x, EDGES), smooth, atol=1e-5)


def test_one_step_of_air_by_hand(path_matrix: torch.Tensor, set_identity: Any) -> None:
    h = torch.tensor([[4.0], [0.0], [0.0], [0.1]])
    model = nn.AirGNN(1, 1, layers=1, amplitude=0.5, steps=1).eval()
    set_identity(model)
    # gamma = 1, so a node moves by 0.5 less than the propagation would move it
    move = path_matrix @ h - h
    expected = h + torch.sign(move) * (move.abs() - 0.5).clamp(min=0)
    assert torch.allclose(model(h, EDGES), expected, atol=1e-6)
    assert expected[3] == h[3]
    assert expected[0] != h[0]


@pytest.mark.parametrize("kind", [nn.AirGNN, nn.ElasticGNN])
def test_neighbors_that_hardly_differ_leave_a_finite_gradient(kind: Any) -> None:
    model = kind(2, 2, hidden=4, steps=2)
    edges = torch.tensor([[0, 1], [1, 0]])
    graph = Graph.from_edges(edges, 2)
    h = torch.tensor([[[1e-22, 0.0]], [[0.0, 1e-22]]], requires_grad=True)
    inputs = model.prepare(Features.of(torch.eye(2), model.like), graph)
    model.propagate(h, inputs).sum().backward()
    assert h.grad is not None
    assert torch.isfinite(h.grad).all()
