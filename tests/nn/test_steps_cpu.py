"""The kernels of APPNP, AirGNN and ElasticGNN against their array operations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from magnet.graph import Graph
from magnet.nn import APPNP, AirGNN, ElasticGNN, appnp
from magnet.nn.features import Features

pytest.importorskip("numba")

MODELS: list[tuple[Any, dict[str, Any]]] = [
    (APPNP, {"alpha": [0.05, 0.3, 1.0]}),
    (AirGNN, {"amplitude": [0.0, 0.3, 0.8]}),
    (ElasticGNN, {"lambda1": [0.05, 1.0, 3.0], "lambda2": [1.0, 3.0, 0.5]}),
]


@pytest.fixture
def same_threads_afterwards() -> Iterator[None]:
    """Puts the number of threads back."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("same_threads_afterwards")
@pytest.mark.parametrize(("kind", "options"), MODELS)
@pytest.mark.parametrize(("classes", "threads"), [(3, 1), (16, 1), (19, 2)])  # less than, equal to, more than a vector
@pytest.mark.parametrize("steps", [1, 7])
def test_values_and_gradients_are_those_of_the_array_operations(
    kind: Any, options: dict[str, Any], classes: int, threads: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.set_num_threads(threads)
    generator = torch.Generator().manual_seed(classes)
    edges = torch.randint(0, 38, (2, 90), generator=generator)  # nodes 38 and 39 have no edges
    graph = Graph.from_edges(edges, 40)
    model = kind(5, classes, seeds=[0, 1, 2], steps=steps, **options)
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

    quick = computed()
    assert appnp.steps_on_cpu(h) is not None
    monkeypatch.setattr(appnp, "KERNEL_THREADS", 0)
    assert appnp.steps_on_cpu(h) is None
    for fast, slow in zip(quick, computed(), strict=True):
        assert torch.allclose(fast, slow, atol=2e-6, rtol=1e-5)
    assert not torch.allclose(quick[0], h, atol=1e-2)
