"""Robust ridge regression of one column whose every prediction leaves its own row out.

Features, penalty and weights are those of this column; :mod:`magnet.detection.cells.ridge` predicts thousands of
columns from the same features with one inverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from magnet.arrays import Floats
from magnet.tables.numbers.scales import mad, mads
from magnet.tables.numbers.tails import DEGREES, MIN_SPREAD

PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)  # the grid that suggest.py was benchmarked with
ROUNDS = 4  # of reweighting
MAX_LEVERAGE = 0.999  # against division by zero


class RidgePath:
    r"""Weighted ridge regression for all penalties: with :math:`X^\top W X = V \Lambda V^\top` each costs one product.

    Args:
        x: centered and scaled features ``[n, p]``.
        target: centered, ``[n]`` or ``[n, targets]``.
        weights: of the rows ``[n]``.
    """

    def __init__(self, x: Floats, target: Floats, weights: Floats) -> None:
        values, self._basis = np.linalg.eigh((x * weights[:, None]).T @ x)
        self._values, self._z = values.clip(0), x @ self._basis
        self._squares = self._z * self._z
        self._target, self._weights = target, weights
        self._projected = (self._z.T @ (target.T * weights).T).T

    def _shrunk(self, penalty: float) -> Floats:
        return np.asarray((1 / (self._values + penalty) * self._projected).T)

    def coefficients(self, penalty: float) -> Floats:
        """``[p]`` or ``[p, targets]``."""
        return np.asarray(self._basis @ self._shrunk(penalty))

    def left_out(self, penalty: float) -> tuple[Floats, Floats]:
        """Residual of each row predicted without it (PRESS; Allen 1974), and its leverage ``[n]``."""
        inverse, weights = 1 / (self._values + penalty), self._weights
        leverage = np.minimum(weights * (1 / weights.sum() + self._squares @ inverse), MAX_LEVERAGE)
        residual = self._target - self._z @ self._shrunk(penalty)
        return (residual.T / (1 - leverage)).T, leverage

    def best(self, penalties: Sequence[float]) -> float:
        """The penalty with the least mean :func:`log_loss` of :meth:`left_out`, for one target; all are tried at
        once."""
        inverse, weights = 1 / (self._values + np.array(penalties)[:, None]), self._weights
        leverage = np.minimum(weights * (1 / weights.sum() + inverse @ self._squares.T), MAX_LEVERAGE)
        residuals = (self._target - inverse * self._projected @ self._z.T) / (1 - leverage)
        return penalties[int(_log_losses(residuals).mean(axis=1).argmin())]


@dataclass(frozen=True, eq=False)
class Ridge:
    r"""A fitted regression :math:`y \approx b + x^\top \beta` and its leave-one-out residuals.

    Rows are weighted :math:`w_i = (\nu + 1) / (\nu + r_i^2 / s^2)` (t distribution, iteratively), features are
    standardized, and with :math:`X^\top W X = V \Lambda V^\top` the row left out is predicted with the error

    .. math::
        r_i / (1 - h_i), \qquad h_i = w_i \Big(\frac1{\sum w} + \sum_k \frac{(x_i^\top v_k)^2}{\Lambda_k + \alpha}\Big).

    Args:
        intercept, coefficients: in the units of the features.
        left_out: ``[rows]`` leave-one-out residuals.
        leverage: ``[rows]``.
        spread: robust spread of the residuals.
    """

    intercept: float
    coefficients: Floats
    left_out: Floats
    leverage: Floats
    spread: float

    def predict(self, features: Floats) -> Floats:
        return np.asarray(self.intercept + features @ self.coefficients)


def fit_ridge(features: Floats, target: Floats) -> Ridge:
    """Fit ``target`` ``[n]`` to ``features`` ``[n, p]``; the penalty is the one with the least leave-one-out spread.

    Example:
        >>> x = np.arange(30.0)[:, None]
        >>> y = 3 * x[:, 0] + 1
        >>> y[7] = 500.0  # wrong
        >>> round(float(fit_ridge(x, y).predict(x[7:8])[0]))
        22
    """
    n, p = features.shape
    weights = np.ones(n)
    if p == 0:
        center = float(np.median(target))
        return Ridge(center, np.zeros(0), target - center, np.full(n, 1 / n), mad(target - center))
    penalty = 1.0
    best: Ridge | None = None
    for step in range(ROUNDS):
        total = weights.sum()
        mean = weights @ features / total
        centered = features - mean
        spread = np.sqrt(np.maximum(weights @ (centered * centered) / total, 0))
        spread[spread < MIN_SPREAD] = np.inf
        x = centered / spread
        level = float(weights @ target / total)
        path = RidgePath(x, target - level, weights)
        if step in (0, ROUNDS - 1):
            penalty = path.best(PENALTIES)
        left_out, leverage = path.left_out(penalty)
        scale = max(mad(left_out), MIN_SPREAD)
        coefficients = path.coefficients(penalty) / spread
        best = Ridge(level - float(mean @ coefficients), coefficients, left_out, leverage, scale)
        weights = (DEGREES + 1) / (DEGREES + np.square(left_out / scale))
    assert best is not None
    return best


def log_loss(residuals: Floats) -> Floats:
    """Negative log density of residuals under a t distribution with their own spread, up to a constant."""
    return _log_losses(residuals[None])[0]


def _log_losses(residuals: Floats) -> Floats:
    """The same for each row of a matrix."""
    scale = np.maximum(mads(residuals), MIN_SPREAD)[:, None]
    return np.asarray(np.log(scale) + (DEGREES + 1) / 2 * np.log1p(np.square(residuals / scale) / DEGREES))
