"""Logistic regression against scikit-learn."""

from __future__ import annotations

import numpy as np
import torch

from magnet.detection.rows.logistic import CrossFit, fit_logistic


def test_logistic_regression_is_scikit_learns():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(300, 3)), rng.uniform(0.5, 2, 300)
    y = (rng.random(300) < 1 / (1 + np.exp(-x @ [1, -2, 0.5] - 0.3))).astype(float)
    ours = fit_logistic(torch.from_numpy(x), torch.from_numpy(y), torch.from_numpy(w), ridge=0.01)
    theirs = LogisticRegression(C=1 / (0.01 * w.sum()), tol=1e-10, max_iter=1000).fit(x, y, sample_weight=w)
    np.testing.assert_allclose(ours[:3].numpy(), theirs.coef_[0], atol=1e-4)
    assert abs(float(ours[3]) - theirs.intercept_[0]) < 1e-3


def test_the_fit_does_not_depend_on_where_the_search_begins():
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(500, 4, generator=generator)
    y = (torch.rand(500, generator=generator) < torch.sigmoid(2 * x[:, 0] - x[:, 1])).double()
    fitted = fit_logistic(x, y, torch.ones(500))
    near = fitted + 0.3 * torch.randn(5, generator=generator)
    assert torch.allclose(fit_logistic(x, y, torch.ones(500), start=near), fitted, atol=1e-7)
    assert not torch.allclose(near, fitted, atol=0.05)


def test_a_far_start_does_not_diverge():
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(60, 8, generator=generator)
    y = (torch.rand(60, generator=generator) < torch.sigmoid(4 * x[:, 0])).double()
    fitted = fit_logistic(x, y, torch.ones(60), steps=60)
    for scale in (3.0, 10.0, 30.0):  # where nearly every pair is certain, the curvature says nothing about the minimum
        start = scale * torch.randn(9, generator=generator)
        assert torch.allclose(fit_logistic(x, y, torch.ones(60), steps=60, start=start), fitted, atol=1e-3)


def test_the_halves_fitted_at_the_same_time_are_those_fitted_one_by_one(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    real, other = torch.randn(400, 3, generator=generator) + 0.7, torch.randn(400, 3, generator=generator)
    weight, half = torch.rand(400, generator=generator) + 0.5, torch.arange(400) % 2
    permuted = [(torch.ones(400, 1, dtype=torch.bool), lambda some: other[some[:, 0]])]
    known = torch.arange(400) % 10 != 0
    fits = []
    for threads in (1, 2):
        monkeypatch.setattr(torch, "get_num_threads", lambda count=threads: count)
        fits.append(CrossFit.of(real, weight, permuted, known, half).coefficients)
    assert torch.equal(*fits)
    for side in (0, 1):
        train = known & (half != side)
        x = (torch.cat([real[train], other[train]]) - real[known].mean(dim=0)) / real[known].std(dim=0)
        total = float(weight[train].sum())
        w = torch.cat([weight[train], torch.full((int(train.sum()),), total / int(train.sum()))])
        y = torch.cat([torch.ones(int(train.sum())), torch.zeros(int(train.sum()))])
        assert torch.allclose(fits[0][side], fit_logistic(x, y, w).float(), atol=1e-5)
