"""The fused conjugate gradients against the torch reference."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from magnet import Graph, propagate


@pytest.fixture(scope="module")
def graph():
    """Weighted, with isolated nodes (300 to 304) and many small components."""
    rng = np.random.default_rng(7)
    edges = np.concatenate([rng.integers(0, 200, (2, 420)), np.arange(200, 300).reshape(2, 50)], axis=1)
    return Graph.from_edges(edges, 305, rng.uniform(0.2, 3, edges.shape[1]))


def both(x, trust, graph, **options):
    options = {"tol": 1e-7, "max_iter": 2000} | options
    fused = propagate(x, trust, graph, backend="numba", **options)
    return fused, propagate(x, trust, graph, backend="torch", **options)


def difference(a, b):
    return float((torch.as_tensor(a.x) - torch.as_tensor(b.x)).norm() / torch.as_tensor(b.x).norm())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("lam", [0.0, 0.3, 30.0])
@pytest.mark.parametrize("coordinates", ["plain", "degree"])
@pytest.mark.parametrize("columns", [1, 16, 37])
def test_equals_torch(graph, new_problem, dtype, lam, coordinates, columns):
    x, trust = new_problem(305, columns, dtype=dtype)
    fused, reference = both(x, trust, graph, lam=lam, coordinates=coordinates)
    assert (fused.backend, reference.backend) == ("numba", "torch")
    assert fused.x.dtype == dtype
    assert difference(fused, reference) < (1e-5 if dtype == torch.float32 else 1e-9)
    assert abs(fused.column_iterations - reference.column_iterations).max() <= 2 + 0.1 * reference.iterations
    assert fused.converged.all() or dtype == torch.float32


@pytest.mark.parametrize("lam", [0.0, 2.0])
@pytest.mark.parametrize("coordinates", ["plain", "degree"])
def test_missing_cells_and_components_without_weight(graph, new_problem, lam, coordinates):
    x, trust = new_problem(305, 20)
    trust[np.arange(200, 260)] = 0  # 60 nodes in components of two
    trust[:, 3] = 0
    trust[300] = 0
    x[trust == 0] = torch.nan
    fused, reference = both(x, trust, graph, lam=lam, coordinates=coordinates)
    assert torch.isfinite(fused.x).all()
    assert difference(fused, reference) < 1e-9
    assert torch.equal(fused.x[:, 3], torch.zeros(305, dtype=torch.float64))
    assert torch.equal(fused.x[301:305], reference.x[301:305])
    hopeless = fused.x[200:210, 0]
    assert torch.equal(hopeless, reference.x[200:210, 0])
    assert (hopeless == hopeless[0]).all()


def test_cells_that_are_fixed_keep_their_bits(graph, new_problem):
    x, trust = new_problem(305, 20, dtype=torch.float32)
    fused = propagate(x, trust, graph, lam=0.0, coordinates="degree", backend="numba").x
    assert torch.equal(fused[trust > 0], x[trust > 0])
    assert torch.equal(propagate(x, trust, graph, lam=5.0, backend="numba").x[300:], x[300:])


@pytest.mark.parametrize("trust", [None, "rows"])
def test_whole_rows(graph, new_problem, trust):
    x, cells = new_problem(305, 20, dtype=torch.float32)
    weight = None if trust is None else cells[:, 0]
    fused, reference = both(x, weight, graph, lam=3.0)
    assert difference(fused, reference) < 1e-5
    full = torch.ones_like(x) if trust is None else cells[:, :1].expand_as(x).contiguous()
    assert torch.equal(propagate(x, full, graph, lam=3.0, tol=1e-7, max_iter=2000).x, fused.x)


def test_sparse_integer_and_half_input(graph, new_problem):
    x, trust = new_problem(305, 20, dtype=torch.float32)
    x = torch.where(x > 1, x.round(), 0.0)
    dense = propagate(x, trust, graph, lam=2.0, backend="numba").x
    for form in (sp.csr_matrix(x.numpy()), x.to_sparse_csr(), x.numpy().astype(np.int64)):
        assert torch.equal(torch.as_tensor(propagate(form, trust, graph, lam=2.0).x), dense)
    assert torch.allclose(propagate(x.half(), trust, graph, lam=2.0).x.float(), dense, atol=2e-3)


def test_several_lambdas_are_what_each_of_them_is(graph, new_problem):
    x, trust = new_problem(305, 40, dtype=torch.float32)
    lams = (10.0, 0.0, 1.0)
    for backend in ("numba", "torch"):
        together = propagate(x, trust, graph, lam=lams, backend=backend)
        assert len(together) == 3
        for lam, found in zip(lams, together, strict=True):
            alone = propagate(x, trust, graph, lam=lam, backend=backend)
            assert torch.equal(found.x, alone.x)
            assert np.array_equal(found.column_iterations, alone.column_iterations)
    with pytest.raises(ValueError, match="lam is empty"):
        propagate(x, trust, graph, lam=())


def test_threads_and_blocks_do_not_change_the_bits(graph, new_problem):
    x, trust = new_problem(305, 100, dtype=torch.float32)
    one = propagate(x, trust, graph, lam=2.0, threads=1).x
    assert torch.equal(propagate(x, trust, graph, lam=2.0, threads=4).x, one)
    assert torch.equal(propagate(x, trust, graph, lam=2.0, block_columns=7).x, one)


def test_any_stretch_of_the_spectrum(new_problem):
    rng = np.random.default_rng(1)
    graph = Graph.from_edges(rng.integers(0, 60, (2, 150)), 62, lambda_max=1.9)
    x, trust = new_problem(62, 5)
    assert difference(*both(x, trust, graph, lam=4.0)) < 1e-9


@pytest.mark.parametrize("backend", ["numba", "torch"])
@pytest.mark.parametrize("lam", [0.0, 3.0])
@pytest.mark.parametrize("scale", [1e-25, 1e18, 1e30])
def test_any_scale_in_float32(graph, new_problem, backend, lam, scale):
    x, trust = new_problem(305, 20, dtype=torch.float32)
    scale = float(2.0 ** np.round(np.log2(scale)))
    large = propagate(x * scale, trust, graph, lam=lam, backend=backend)
    assert torch.allclose(large.x / scale, propagate(x, trust, graph, lam=lam, backend=backend).x, atol=1e-5)


@pytest.mark.parametrize("backend", ["numba", "torch"])
@pytest.mark.parametrize("wrong", [1e6, 1e18, 3e38, -1e12])
def test_what_an_untrusted_cell_holds_does_not_matter(graph, new_problem, backend, wrong):
    x, trust = new_problem(305, 20, dtype=torch.float32)
    trust[300] = 0
    other = torch.where(trust == 0, wrong, x)
    linked = torch.as_tensor(~graph.isolated)
    for lam in (0.0, 3.0):
        expected = propagate(torch.where(trust == 0, torch.nan, x), trust, graph, lam=lam, backend=backend).x
        found = propagate(other, trust, graph, lam=lam, backend=backend)
        assert torch.allclose(found.x[linked], expected[linked], atol=1e-4)
        assert (found.x[300] == torch.tensor(wrong)).all()  # no neighbors: it stays as it is


def test_bad_cells_are_named(graph, new_problem):
    x, trust = new_problem(305, 40)
    trust = trust.clamp(min=0.1)
    x[17, 33] = torch.inf
    with pytest.raises(ValueError, match="x holds inf at node 17, feature 33, whose trust is"):
        propagate(x, trust, graph, block_columns=16)
    trust[5, 5] = -0.5
    with pytest.raises(ValueError, match=r"trust holds -0\.5"):
        propagate(x, trust, graph)
    trust[5, 5] = torch.nan
    with pytest.raises(ValueError, match="trust holds nan"):
        propagate(x, trust, graph)


def test_kernels_do_not_take_what_they_cannot_do(graph, new_problem):
    x, trust = new_problem(305, 4)
    with pytest.raises(ValueError, match="backend is 'numba'; solver='iterate' runs on 'torch' only"):
        propagate(x, trust, graph, solver="iterate", backend="numba")
    with pytest.raises(ValueError, match="backend is 'triton' but x is on cpu"):
        propagate(x, trust, graph, backend="triton")
    assert propagate(x.requires_grad_(), trust, graph).backend == "torch"
