"""Robust ridge regression, against refits without the row."""

import numpy as np

from magnet.tables.numbers.ridge import PENALTIES, RidgePath, fit_ridge, log_loss


def test_left_out_residual_is_that_of_a_fit_without_the_row() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    y = x @ [1.0, -2.0] + 0.1 * rng.normal(size=40)
    whole = fit_ridge(x, y)
    for row in (0, 17):
        rest = np.arange(40) != row
        alone = y[row] - fit_ridge(x[rest], y[rest]).predict(x[row : row + 1])[0]
        assert abs(whole.left_out[row] - alone) < 0.02  # weights and penalty are those of all rows


def test_one_wrong_value_does_not_bend_the_line() -> None:
    x = np.arange(30.0)[:, None]
    y = 2 * x[:, 0] + 5
    y[3] = 1000.0
    model = fit_ridge(x, y)
    assert np.abs(model.predict(x)[[0, 29]] - [5, 63]).max() < 1.0
    assert model.left_out[3] > 900


def test_without_features_the_median() -> None:
    model = fit_ridge(np.zeros((5, 0)), np.array([1.0, 2.0, 3.0, 4.0, 100.0]))
    assert model.intercept == 3.0


def test_the_best_penalty_is_that_of_the_least_loss() -> None:
    rng = np.random.default_rng(1)
    chosen = set()
    for noise, features in ((0.01, 2), (1.0, 5), (5.0, 12), (0.5, 1)):
        x = rng.normal(size=(31, features))
        y = x[:, 0] + noise * rng.normal(size=31)
        path = RidgePath(x - x.mean(axis=0), y - y.mean(), rng.uniform(0.2, 1.0, 31))
        losses = [float(np.mean(log_loss(path.left_out(penalty)[0]))) for penalty in PENALTIES]
        assert path.best(PENALTIES) == PENALTIES[int(np.argmin(losses))]
        chosen.add(path.best(PENALTIES))
    assert len(chosen) > 1
