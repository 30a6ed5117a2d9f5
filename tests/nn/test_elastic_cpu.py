"""The kernel of ElasticGNN against its array operations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from magnet.graph import Graph
from magnet.nn import ElasticGNN, elastic
from magnet.nn.features import Features

pytest.importorskip("numba")


@pytest.fixture
def same_threads_afterwards() -> Iterator[None]:
    """Puts the number of threads back."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("same_threads_afterwards")
@pytest.mark.parametrize(("classes", "threads"), [(3, 1), (16, 1), (19, 2)])  # less than, equal to, more than a vector
@pytest.mark.parametrize("steps", [1, 7])
def test_values_and_gradients_are_those_of_the_array_operations(
    classes: int, threads: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.set_num_threads(threads)
    generator = torch.Generator().manual_seed(classes)
    edges = torch.randint(0, 38, (2, 90), generator=generator)  # nodes 38 and 39 have no edges
    graph = Graph.from_edges(edges, 40)
    model = ElasticGNN(5, classes, seeds=[0, 1, 2], lambda1=[0.05, 1.0, 3.0], lambda2=[1.0, 3.0, 0.5], steps=steps)
    inputs = model.prepare(Features.of(torch.rand(40, 5, generator=generator), model.like), graph)
    h = torch.randn(40, 3, classes, generator=generator)
    h[edges[1, 0]] = h[edges[0, 0]]  # a difference of (almost) zero
    weight = torch.randn(h.shape, generator=generator)

    def computed() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        given = h.clone().requires_grad_()
        found = model.propagate(given, inputs)
        (found * weight).sum().backward()
        assert given.grad is not None
        with torch.no_grad():
            return found.detach(), given.grad, model.propagate(h, inputs)

    monkeypatch.setattr(elastic, "KERNEL_THREADS", 1000)
    quick = computed()
    assert elastic._kernel() is not None
    monkeypatch.setattr(elastic, "_kernel", lambda: None)
    for fast, slow in zip(quick, computed(), strict=True):
        assert torch.allclose(fast, slow, atol=2e-6, rtol=1e-5)
    assert not torch.allclose(quick[0], h, atol=1e-2)
