"""The fused kernels against the plain reference."""

import logging
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from magnet import FrameletTransform, recover
from magnet.recovery import recover as recover_function
from magnet.recovery.cpu import lp_scalar, lq_scalar

module = sys.modules[recover_function.__module__]


def relative(a, b):
    return float((a - b).norm() / b.norm())


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(7)
    return FrameletTransform(rng.integers(0, 300, (2, 700)), 305).graph


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("history", [True, False])
@pytest.mark.parametrize("inertia", [0.0, 0.25])
@pytest.mark.parametrize("q", [1.0, 1.5, 2.0])
def test_numba_equals_torch_for_p_one(graph, new_problem, dtype, history, inertia, q):
    W = FrameletTransform(graph)
    x, trust = new_problem(305, 37, dtype=dtype)
    options = {"q": q, "nu0": 8.0, "gamma": 2.0, "inertia": inertia, "max_iter": 15, "tol": 0}
    reference = recover(x, trust, W, backend="torch", **options)
    fused = recover(x, trust, W, backend="numba", history=history, **options)
    assert fused.backend == "numba"
    assert relative(fused.x, reference.x) < 1e-5
    if history:
        for name in ("objective", "primal", "dual"):
            assert np.allclose(getattr(fused, name), getattr(reference, name), rtol=1e-4)


@pytest.mark.parametrize("p", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("q", [1.0, 1.5, 2.0])
def test_numba_reaches_the_objective_of_torch_for_p_below_one(graph, new_problem, p, q):
    W = FrameletTransform(graph)
    x, trust = new_problem(305, 20, dtype=torch.float32)
    options = {"p": p, "q": q, "nu0": 8.0, "gamma": 4.0, "max_iter": 30, "tol": 0}
    reference = recover(x, trust, W, backend="torch", **options)
    fused = recover(x, trust, W, backend="numba", **options)
    assert fused.objective[-1] == pytest.approx(reference.objective[-1], rel=1e-3)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 6, 7, 8, 9])
@pytest.mark.parametrize(("bank", "levels"), [("haar", 1), ("haar", 3), ("linear", 2), ("quadratic", 2)])
def test_every_degree_and_number_of_bands(graph, new_problem, degree, bank, levels):
    W = FrameletTransform(graph, degree=degree, bank=bank, levels=levels)
    x, trust = new_problem(305, 3)
    options = {"nu0": 8.0, "gamma": 2.0, "max_iter": 4, "tol": 0}
    reference = recover(x, trust, W, backend="torch", **options).x
    assert relative(recover(x, trust, W, backend="numba", **options).x, reference) < 1e-10
    # without history a transform that is tight enough leaves the low-pass band implicit
    assert relative(recover(x, trust, W, backend="numba", history=False, **options).x, reference) < 1e-5


def test_options_reach_the_kernels(graph, new_problem):
    W = FrameletTransform(graph)
    x, trust = new_problem(305, 18)
    for options in (
        {"coordinates": "degree"},
        {"degree_weights": False},
        {"p": 0.0, "hard": "paper", "nu0": 2.0},
        {"keep_trusted": True},
        {"start": "propagated"},
        {"gamma": torch.linspace(1, 3, 18, dtype=torch.float64)},
        {"q": 1.0, "keep_trusted": True},
    ):
        both = options | {"max_iter": 12, "tol": 0}
        reference = recover(x, trust, W, backend="torch", **both).x
        for history in (True, False):
            assert relative(recover(x, trust, W, backend="numba", history=history, **both).x, reference) < 1e-6


def test_scalar_maps_of_the_kernels_are_those_of_prox():
    from magnet import prox

    rng = np.random.default_rng(0)
    z, t = rng.normal(size=200) * 3, rng.exponential(size=200)
    for p in (0.1, 0.4, 0.9):
        expected = prox.lp(torch.tensor(z), torch.tensor(t), p).numpy()
        assert np.allclose([lp_scalar(a, b, p) for a, b in zip(z, t, strict=True)], expected, atol=1e-12)
    for q in (1.01, 1.5, 1.9):
        expected = prox.lq(torch.tensor(z), torch.tensor(t), q).numpy()
        assert np.allclose([lq_scalar(a, b, q) for a, b in zip(z, t, strict=True)], expected, atol=1e-12)


def test_threads_do_not_change_the_bits(graph, new_problem):
    W = FrameletTransform(graph)
    x, trust = new_problem(305, 90, dtype=torch.float32)
    one = recover(x, trust, W, threads=1)
    assert torch.equal(recover(x, trust, W, threads=4).x, one.x)


@pytest.mark.parametrize("convert", [sp.csr_matrix, sp.csc_array, lambda a: torch.tensor(a).to_sparse_csr()])
def test_sparse_input_equals_dense(graph, new_problem, convert):
    W = FrameletTransform(graph)
    x, trust = new_problem(305, 40, dtype=torch.float32)
    x = torch.where(x > 1, x, 0.0)
    dense = recover(x, trust, W).x
    sparse = recover(convert(x.numpy()), convert(trust.numpy()), W, block_columns=16)
    assert torch.equal(torch.as_tensor(sparse.x), dense)
    assert isinstance(sparse.x, torch.Tensor) == isinstance(convert(x.numpy()), torch.Tensor)


def test_sparse_input_is_never_dense_as_a_whole(graph, monkeypatch):
    W = FrameletTransform(graph)
    widest = 0
    original = sp.csc_matrix.toarray

    def spy(self, *arguments, **options):
        nonlocal widest
        widest = max(widest, self.shape[1])
        return original(self, *arguments, **options)

    monkeypatch.setattr(sp.csc_matrix, "toarray", spy)
    x = sp.random(305, 400, density=0.02, format="csr", dtype=np.float32, random_state=0)
    recover(x, None, W, block_columns=32, max_iter=2)
    assert widest == 32


def test_missing_backend_falls_back_with_one_line(graph, new_problem, monkeypatch, caplog):
    W = FrameletTransform(graph)
    x, trust = new_problem(305, 4)
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(module, "_missing", set())
    with caplog.at_level(logging.WARNING, logger="magnet"):
        results = [recover(x, trust, W, max_iter=3) for _ in range(3)]
    assert [r.backend for r in results] == ["torch"] * 3
    assert [record.message for record in caplog.records] == [
        "numba is not installed: recovery falls back to the torch backend"
    ]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("history", [True, False])
@pytest.mark.parametrize("inertia", [0.0, 0.25])
@pytest.mark.parametrize("q", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("p", [1.0, 0.5, 0.0])
def test_triton_equals_torch(graph, new_problem, dtype, history, inertia, q, p):
    W = FrameletTransform(graph)
    x, trust = new_problem(305, 150, dtype=dtype)
    options = {"p": p, "q": q, "nu0": 8.0, "gamma": 2.0, "inertia": inertia, "max_iter": 15, "tol": 0}
    reference = recover(x, trust, W, backend="torch", **options)
    fused = recover(x.cuda(), trust.cuda(), W, backend="triton", history=history, **options)
    assert fused.x.is_cuda
    if p == 1:
        assert relative(fused.x.cpu(), reference.x) < 1e-5
    else:
        tracked = recover(x.cuda(), trust.cuda(), W, backend="triton", **options)
        assert tracked.objective[-1] == pytest.approx(reference.objective[-1], rel=1e-3)
        assert relative(fused.x.cpu(), reference.x) < 0.05


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 6, 7, 8, 16])
@pytest.mark.parametrize(("bank", "levels"), [("haar", 2), ("linear", 2), ("quadratic", 1)])
def test_triton_transform_is_the_transform(graph, degree, bank, levels):
    from magnet.recovery.gpu import FusedTransform

    W = FrameletTransform(graph, degree=degree, bank=bank, levels=levels)
    x = torch.randn(305, 70, dtype=torch.float64)
    fused = FusedTransform(W)
    assert relative(fused.analysis(x.cuda()).cpu(), W.analysis(x)) < 1e-12
    v = torch.randn(W.num_bands, 305, 70, dtype=torch.float64)
    assert relative(fused.synthesis(v.cuda()).cpu(), W.synthesis(v)) < 1e-12
