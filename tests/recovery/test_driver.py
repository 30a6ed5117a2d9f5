"""The driver: stopping, warm starts and balancing."""

import numpy as np
import pytest
import torch

from magnet import recover
from magnet.recovery import admm, driver
from magnet.recovery.problem import Settings, prepare


def test_a_column_that_has_stopped_keeps_its_values(W, problem):
    x, trust = problem
    x = torch.cat([x[:, :1], torch.ones(40, 1, dtype=x.dtype)], dim=1)
    settings = Settings(nu0=3.0, gamma=2.0, max_iter=2000, tol=1e-3, coordinates="degree")
    prepared = prepare(x, trust[:, :2], W, settings)
    seen = []
    start = admm.initial(prepared.problem, prepared.start)
    state, record = driver.solve(prepared.problem, start, callback=lambda state: seen.append(state.U))
    first, second = record.iterations
    assert second == 1 < first  # the constant column is a fixed point
    assert record.converged.all()
    assert torch.equal(state.U[:, 1], seen[0][:, 1])
    assert torch.equal(state.U[:, 0], seen[-1][:, 0])
    assert record.sums.shape == (6, first)


def test_without_history_and_tolerance_nothing_is_measured(W, problem, monkeypatch):
    x, trust = problem
    monkeypatch.setattr(admm, "measure", None)  # calling it would fail
    prepared = prepare(x, trust, W, Settings(nu0=3.0, gamma=2.0, max_iter=3, tol=0.0))
    _, record = driver.solve(prepared.problem, admm.initial(prepared.problem, prepared.start), history=False)
    assert np.array_equal(record.iterations, [3] * 5)
    assert record.sums.shape == (6, 0)
    assert not record.converged.any()


def test_balancing_gamma_reaches_the_same_point_faster(W, problem):
    x, trust = problem
    options = {"nu0": 3.0, "gamma": 300.0, "max_iter": 20_000, "tol": 1e-6, "inertia": 0.0}
    fixed = recover(x, trust, W, **options)
    balanced = recover(x, trust, W, balance=True, **options)
    assert balanced.objective[-1] == pytest.approx(fixed.objective[-1], rel=1e-5)
    assert balanced.iterations < 0.5 * fixed.iterations


def test_warm_start_continues_exactly(W, problem):
    x, trust = problem
    options = {"nu0": 3.0, "gamma": 2.0, "inertia": 0.2, "tol": 0}
    whole = recover(x, trust, W, max_iter=30, backend="torch", **options)
    first = recover(x, trust, W, max_iter=12, keep_state=True, **options)
    rest = recover(x, trust, W, max_iter=18, warm_start=first, **options)
    assert torch.equal(rest.x, whole.x)
    assert first.state.k == 12


def test_warm_start_from_features_converges_sooner(W, problem):
    x, trust = problem
    options = {"nu0": 3.0, "gamma": 2.0, "max_iter": 5000, "tol": 1e-8}
    cold = recover(x, trust, W, **options)
    warm = recover(x, trust, W, warm_start=cold.x, **options)
    assert (warm.x - cold.x).abs().max() < 1e-5
    with pytest.raises(ValueError, match="warm_start has no state"):
        recover(x, trust, W, warm_start=cold)
