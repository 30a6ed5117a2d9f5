"""UGD against its equations on graphs that can be worked out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from magnet.datasets import synthetic
from magnet.experiments import run_one
from magnet.experiments.methods import ugd
from magnet.graph import Graph


@pytest.fixture(scope="module")
def small() -> tuple[torch.Tensor, Graph]:
    data = synthetic(nodes=40, features=12, classes=2, average_degree=4, seed=1)
    return data.x.double(), Graph.from_edges(data.edge_index, data.num_nodes)


@pytest.fixture
def two_groups() -> tuple[torch.Tensor, Graph]:
    """Two triangles with different words, joined by the edge (2, 3)."""
    x = torch.tensor([[1.0, 1.0, 0.0, 0.0]] * 3 + [[0.0, 0.0, 1.0, 1.0]] * 3)
    return x, Graph.from_edges([[0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5]], 6)


def test_the_edge_between_strangers_goes_first(two_groups: Any) -> None:
    x, graph = two_groups
    # Node 2 beside the mean of the neighbors of 3, two of its own kind and one of the other: cosine 1 / sqrt(5).
    assert torch.sigmoid(torch.tensor(5**-0.5)).item() == pytest.approx(0.61, abs=0.001)
    assert ugd._pruned(x, graph, 0.605).num_edges == 7
    cut = ugd._pruned(x, graph, 0.615)
    assert (cut.num_edges, cut.adjacency[2, 3]) == (6, 0)
    # within a triangle that lost nothing the cosine is 1, at the joint 2 / sqrt(5)
    assert ugd._pruned(x, cut, 0.73).num_edges == 6


def test_edges_are_judged_in_pieces_as_at_once(two_groups: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, graph = two_groups
    whole = ugd._pruned(x, graph, 0.615).adjacency.toarray()
    monkeypatch.setattr(ugd, "CELLS_AT_ONCE", 8)
    assert np.array_equal(ugd._pruned(x, graph, 0.615).adjacency.toarray(), whole)


def dense_loss(x: torch.Tensor, rebuilt: torch.Tensor, graph: Graph, beta: float, gamma: float) -> torch.Tensor:
    """The published objective as it is written."""
    new = beta * x + (1 - beta) * rebuilt
    rough = torch.from_numpy(graph.laplacian.toarray()).to(x)
    return torch.linalg.norm(x - new, dim=1).mean() + gamma * (new * (rough @ new)).sum()


def refined(x: torch.Tensor, graph: Graph, *amounts: float, rate: float = 1e-3, seed: int = 2) -> ugd.Refinement:
    """One graph refined by itself."""
    one = ugd.Refinement(x, graph, *amounts, seed)
    ugd.refine([one], rate)
    return one


@pytest.fixture(scope="module")
def wide() -> tuple[torch.Tensor, Graph]:
    """More nodes and columns than the autoencoder keeps, so that nothing is rebuilt exactly."""
    data = synthetic(nodes=150, features=200, classes=2, average_degree=4, seed=1)
    return data.x.double(), Graph.from_edges(data.edge_index, data.num_nodes)


@pytest.mark.parametrize("rows", [7, 4096])
@pytest.mark.parametrize("share", [0.0, 1.0])
@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_the_objective_is_the_published_one(
    small: Any, beta: float, share: float, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ugd, "SPARSE_SHARE", share)
    monkeypatch.setattr(ugd, "ROWS_AT_ONCE", rows)
    x, graph = small
    draw = torch.Generator().manual_seed(3)
    parts = [torch.randn(*size, generator=draw, dtype=x.dtype) for size in ((2, 40, 65), (2, 65, 12))]
    loss, gradients = {}, {}
    for way in ("dense", "short"):
        codes, weights = (part.clone().requires_grad_() for part in parts)
        if way == "dense":
            dense = [dense_loss(x, c @ w, graph, beta, 0.01) for c, w in zip(codes, weights, strict=True)]
            loss[way] = torch.stack(dense)
        else:
            objective = ugd._Objective([ugd.Refinement(x, graph, 0.7, beta, 0.01, 0)] * 2)
            objective.rewire([graph, graph])
            loss[way] = objective(codes, weights)
        gradients[way] = torch.autograd.grad(loss[way].sum(), [codes, weights])
    torch.testing.assert_close(loss["short"], loss["dense"], rtol=1e-10, atol=1e-10)
    for short, dense_gradient in zip(gradients["short"], gradients["dense"], strict=True):
        torch.testing.assert_close(short, dense_gradient, rtol=1e-8, atol=1e-8)


def test_products_in_ranges_of_rows_are_those_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = torch.Generator().manual_seed(0)
    h, weights = (torch.randn(*size, generator=draw, dtype=torch.float64) for size in ((2, 40, 3), (2, 3, 5)))
    monkeypatch.setattr(ugd, "ROWS_AT_ONCE", 7)
    gradients = []
    for product in (ugd._product, torch.bmm):
        leaf = weights.clone().requires_grad_()
        made = product(h, leaf)
        torch.testing.assert_close(made, h @ weights)
        gradients.append(torch.autograd.grad(made.square().sum(), leaf)[0])
    torch.testing.assert_close(*gradients)


def test_a_row_that_is_rebuilt_exactly_has_no_gradient(two_groups: Any) -> None:
    x, graph = two_groups
    codes = torch.zeros(1, 6, 65)
    codes[0, range(6), range(6)] = 1
    weights = torch.zeros(1, 65, 4)
    weights[0, :6] = x
    objective = ugd._Objective([ugd.Refinement(x, graph, 0.7, 0.0, 0.0, 0)])
    objective.rewire([graph])
    loss = objective(codes.requires_grad_(), weights)
    assert loss.item() < 1e-3
    (gradient,) = torch.autograd.grad(loss.sum(), codes)
    assert torch.equal(gradient, torch.zeros_like(gradient))


@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_refining_is_the_plain_training_of_its_autoencoder(
    wide: Any, beta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ugd, "MAX_EPOCHS", 120)
    x, graph = wide
    threshold, gamma, rate = 0.7, 1e-3, 1e-3
    made = refined(x, graph, threshold, beta, gamma)

    coder = ugd._Autoencoders(200, [2]).double()
    optimizer = torch.optim.Adam(coder.parameters(), lr=rate)
    plain, window, now, epoch, cut = x, ugd.FIRST_WINDOW, ugd.FIRST_THRESHOLD, 0, graph
    for rounds in range(100):
        before, cut = cut.num_edges, ugd._pruned(plain, cut, now)
        if (rounds >= ugd.MIN_ROUNDS and cut.num_edges == before) or epoch >= ugd.MAX_EPOCHS:
            break
        now = threshold if rounds == 0 else min(now + ugd.THRESHOLD_STEP, threshold + ugd.THRESHOLD_RISE)
        smooth, h, losses = torch.from_numpy(cut.self_looped.toarray()), x, []
        while epoch < ugd.MAX_EPOCHS and (len(losses) <= window or losses[-1] < np.mean(losses[-window:])):
            h = x
            for place, (weight, bias) in enumerate(zip(coder.weights, coder.biases, strict=True)):
                h = smooth @ h @ weight[0] + bias[0]
                h = h.relu() if place % 2 == 0 else h
            loss = dense_loss(x, h, cut, beta, gamma)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            epoch += 1
        plain, window = (beta * x + (1 - beta) * h).detach(), ugd.WINDOW
    assert rounds >= 1
    assert (made.graph.adjacency != cut.adjacency).nnz == 0
    assert made.graph.num_edges < graph.num_edges
    torch.testing.assert_close(made.x, plain, rtol=1e-5, atol=1e-5)


def test_graphs_refined_side_by_side_are_those_refined_alone(wide: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ugd, "MAX_EPOCHS", 90)
    x, graph = wide
    amounts = [(x, 0.7, 0.0, 1e-3, 2), (x.flip(0), 0.65, 0.5, 1e-2, 3), (x, 0.6, 0.5, 1e-4, 2)]
    batch = [ugd.Refinement(y, graph, *rest) for y, *rest in amounts]
    ugd.refine(batch, 3e-3)
    for each, (y, threshold, beta, gamma, seed) in zip(batch, amounts, strict=True):
        alone = refined(y, graph, threshold, beta, gamma, rate=3e-3, seed=int(seed))
        assert (each.rounds, each.done) == (alone.rounds, alone.done)
        assert (each.graph.adjacency != alone.graph.adjacency).nnz == 0
        torch.testing.assert_close(each.x, alone.x, rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_replayed_epochs_refine_like_plain_ones(wide: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ugd, "MAX_EPOCHS", 120)
    x, graph = wide
    replayed = refined(x.cuda(), graph, 0.7, 0.5, 1e-3)
    monkeypatch.setattr(ugd, "recorded", lambda step: step)
    plain = refined(x.cuda(), graph, 0.7, 0.5, 1e-3)
    assert (replayed.graph.adjacency != plain.graph.adjacency).nnz == 0
    torch.testing.assert_close(replayed.x, plain.x, rtol=1e-5, atol=1e-5)


def test_refining_cuts_the_joint_and_keeps_what_it_is_told_to(two_groups: Any) -> None:
    x, graph = two_groups
    made = refined(x, graph, 0.62, 0.5, 1e-3, rate=0.01, seed=0)
    assert made.graph.adjacency[2, 3] == 0
    assert made.graph.num_edges >= 1
    assert (made.x - x).norm() < 0.5 * x.norm()
    assert torch.equal(refined(x, graph, 0.62, 1.0, 1e-3, rate=0.01, seed=0).x, x)


def test_a_network_behind_ugd_sees_the_refined_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ugd, "MAX_EPOCHS", 30)
    calls: list[Graph] = []

    def without_edges(batch: list[ugd.Refinement], learning_rate: float) -> None:
        for each in batch:
            each.graph = Graph.from_edges(np.zeros((2, 0), dtype=int), each.graph.num_nodes)
            calls.append(each.graph)

    whole = run_one("digits", "inject-random", "gcn", 0, epochs=30, device="cpu", folder=tmp_path)
    monkeypatch.setattr(ugd, "refine", without_edges)
    cut = run_one("digits", "inject-random", "ugd", 0, epochs=30, device="cpu", folder=tmp_path)
    assert len(calls) == 1
    assert cut["test_accuracy"] < whole["test_accuracy"] - 0.1
