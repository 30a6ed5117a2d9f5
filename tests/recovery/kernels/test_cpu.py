"""The fused kernels against the plain reference."""

import logging

import numpy as np
import pytest
import torch

from magnet import FrameletTransform, recover
from magnet.recovery import kernels


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("history", [True, False])
@pytest.mark.parametrize("inertia", [0.0, 0.25])
@pytest.mark.parametrize("q", [1.0, 1.5, 2.0])
def test_numba_equals_torch_for_p_one(relative, graph, new_problem, dtype, history, inertia, q):
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
def test_every_degree_and_number_of_bands(relative, graph, new_problem, degree, bank, levels):
    W = FrameletTransform(graph, degree=degree, bank=bank, levels=levels)
    x, trust = new_problem(305, 3)
    options = {"nu0": 8.0, "gamma": 2.0, "max_iter": 4, "tol": 0}
    reference = recover(x, trust, W, backend="torch", **options).x
    assert relative(recover(x, trust, W, backend="numba", **options).x, reference) < 1e-10
    # without history a transform that is tight enough leaves the low-pass band implicit
    assert relative(recover(x, trust, W, backend="numba", history=False, **options).x, reference) < 1e-5


def test_missing_backend_falls_back_with_one_line(graph, new_problem, monkeypatch, caplog):
    W = FrameletTransform(graph)
    x, trust = new_problem(305, 4)
    monkeypatch.setattr(kernels.importlib.util, "find_spec", lambda name: None)
    kernels._importable.cache_clear()
    with caplog.at_level(logging.WARNING, logger="magnet"):
        results = [recover(x, trust, W, max_iter=3) for _ in range(3)]
    assert [r.backend for r in results] == ["torch"] * 3
    assert [record.message for record in caplog.records] == [
        "numba is not installed: recovery falls back to the torch backend"
    ]
    kernels._importable.cache_clear()
