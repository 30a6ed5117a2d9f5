"""Logistic regression against scikit-learn."""

from __future__ import annotations

import numpy as np
import torch

from magnet.detection.rows.logistic import fit_logistic


def test_logistic_regression_is_scikit_learns():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(300, 3)), rng.uniform(0.5, 2, 300)
    y = (rng.random(300) < 1 / (1 + np.exp(-x @ [1, -2, 0.5] - 0.3))).astype(float)
    ours = fit_logistic(torch.from_numpy(x), torch.from_numpy(y), torch.from_numpy(w), ridge=0.01)
    theirs = LogisticRegression(C=1 / (0.01 * w.sum()), tol=1e-10, max_iter=1000).fit(x, y, sample_weight=w)
    np.testing.assert_allclose(ours[:3].numpy(), theirs.coef_[0], atol=1e-4)
    assert abs(float(ours[3]) - theirs.intercept_[0]) < 1e-3
