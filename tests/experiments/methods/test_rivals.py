"""GADC and UGD against their equations on graphs that can be worked out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from magnet.datasets import synthetic
from magnet.experiments import run_one
from magnet.experiments.methods import rivals
from magnet.graph import Graph
from magnet.nn.sparse import self_looped


@pytest.fixture(scope="module")
def small() -> tuple[torch.Tensor, Graph]:
    data = synthetic(nodes=40, features=12, classes=2, average_degree=4, seed=1)
    return data.x.double(), Graph.from_edges(data.edge_index, data.num_nodes)


@pytest.fixture
def two_groups() -> tuple[torch.Tensor, Graph]:
    """Two triangles with different words, joined by the edge (2, 3)."""
    x = torch.tensor([[1.0, 1.0, 0.0, 0.0]] * 3 + [[0.0, 0.0, 1.0, 1.0]] * 3)
    return x, Graph.from_edges([[0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5]], 6)


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_the_diffusion_is_the_minimum_of_the_perturbed_problem(small: Any, epsilon: float) -> None:
    x, graph = small
    lam, gram = 2.0, x @ x.T
    smooth = torch.from_numpy(self_looped(graph).toarray())
    system = (1 + lam) * torch.eye(40, dtype=x.dtype) - lam * (smooth - epsilon * gram / gram.norm())
    assert torch.allclose(rivals.diffused(x, graph, lam, epsilon, 120), torch.linalg.solve(system, x), atol=1e-8)


def test_a_diffusion_without_steps_only_shrinks(small: Any) -> None:
    x, graph = small
    assert torch.allclose(rivals.diffused(x, graph, 3.0, 0.1, 0), x / 4)


def test_the_edge_between_strangers_goes_first(two_groups: Any) -> None:
    x, graph = two_groups
    # Node 2 beside the mean of the neighbors of 3, two of its own kind and one of the other: cosine 1 / sqrt(5).
    assert torch.sigmoid(torch.tensor(5**-0.5)).item() == pytest.approx(0.61, abs=0.001)
    assert rivals._pruned(x, graph, 0.605).num_edges == 7
    cut = rivals._pruned(x, graph, 0.615)
    assert (cut.num_edges, cut.adjacency[2, 3]) == (6, 0)
    # within a triangle that lost nothing the cosine is 1, at the joint 2 / sqrt(5)
    assert rivals._pruned(x, cut, 0.73).num_edges == 6


def test_edges_are_judged_in_pieces_as_at_once(two_groups: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, graph = two_groups
    whole = rivals._pruned(x, graph, 0.615).adjacency.toarray()
    monkeypatch.setattr(rivals, "CELLS_AT_ONCE", 8)
    assert np.array_equal(rivals._pruned(x, graph, 0.615).adjacency.toarray(), whole)


def test_refining_cuts_the_joint_and_keeps_what_it_is_told_to(two_groups: Any) -> None:
    x, graph = two_groups
    made, left = rivals.refined(x, graph, 0.62, 0.5, 1e-3, 0.01, seed=0)
    assert left.adjacency[2, 3] == 0
    assert left.num_edges >= 1
    assert (made - x).norm() < 0.5 * x.norm()
    same, _ = rivals.refined(x, graph, 0.62, 1.0, 1e-3, 0.01, seed=0)
    assert torch.equal(same, x)


def test_a_network_behind_ugd_sees_the_refined_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rivals, "MAX_EPOCHS", 30)
    calls: list[Graph] = []

    def without_edges(x: torch.Tensor, graph: Graph, *amounts: Any) -> tuple[torch.Tensor, Graph]:
        calls.append(Graph.from_edges(np.zeros((2, 0), dtype=int), graph.num_nodes))
        return x, calls[-1]

    whole = run_one("digits", "inject-random", "gcn", 0, epochs=30, device="cpu", folder=tmp_path)
    monkeypatch.setattr(rivals, "refined", without_edges)
    cut = run_one("digits", "inject-random", "ugd", 0, epochs=30, device="cpu", folder=tmp_path)
    assert len(calls) == 1
    assert cut["test_accuracy"] < whole["test_accuracy"] - 0.1
