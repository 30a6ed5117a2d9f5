"""GADC against its equation on graphs that can be worked out."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from magnet.datasets import synthetic
from magnet.experiments.methods import gadc
from magnet.graph import Graph


@pytest.fixture(scope="module")
def small() -> tuple[torch.Tensor, Graph]:
    data = synthetic(nodes=40, features=12, classes=2, average_degree=4, seed=1)
    return data.x.double(), Graph.from_edges(data.edge_index, data.num_nodes)


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_the_diffusion_is_the_minimum_of_the_perturbed_problem(small: Any, epsilon: float) -> None:
    x, graph = small
    lam, gram = 2.0, x @ x.T
    smooth = torch.from_numpy(graph.self_looped.toarray())
    system = (1 + lam) * torch.eye(40, dtype=x.dtype) - lam * (smooth - epsilon * gram / gram.norm())
    assert torch.allclose(gadc.diffused(x, graph, lam, epsilon, 120), torch.linalg.solve(system, x), atol=1e-8)


def test_a_diffusion_without_steps_only_shrinks(small: Any) -> None:
    x, graph = small
    assert torch.allclose(gadc.diffused(x, graph, 3.0, 0.1, 0), x / 4)
