"""The Triton conjugate gradients against the torch reference."""

import numpy as np
import pytest
import torch

from magnet import Graph, propagate

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(7)
    hub = np.stack([np.zeros(90, dtype=int), np.arange(1, 91)])  # more neighbors than are loaded at a time
    return Graph.from_edges(np.concatenate([rng.integers(0, 300, (2, 500)), hub], axis=1), 305)


@pytest.mark.parametrize(("dtype", "tol", "near"), [(torch.float32, 1e-6, 1e-4), (torch.float64, 1e-10, 1e-8)])
@pytest.mark.parametrize("coordinates", ["plain", "degree"])
@pytest.mark.parametrize("lam", [0.0, 0.1, 30.0])
def test_triton_equals_torch(graph, new_problem, dtype, tol, near, coordinates, lam):
    x, trust = new_problem(305, 150, dtype=dtype)
    x[trust == 0] = torch.nan
    options = {"lam": lam, "coordinates": coordinates, "tol": tol}
    reference = propagate(x, trust, graph, backend="torch", **options)
    fused = propagate(x.cuda(), trust.cuda(), graph, **options)
    assert fused.backend == "triton"
    assert fused.x.is_cuda
    assert torch.equal(torch.isnan(fused.x.cpu()), torch.isnan(reference.x))
    assert float((fused.x.cpu() - reference.x).norm() / reference.x.norm()) < near
    assert np.abs(fused.column_iterations - reference.column_iterations).max() <= 3
    assert fused.converged.all()


def test_the_same_run_gives_the_same_bits(graph, new_problem):
    x, trust = (part.cuda() for part in new_problem(305, 40, dtype=torch.float32))
    first, second = (propagate(x, trust, graph, lam=3.0).x for _ in range(2))
    assert torch.equal(first, second)
