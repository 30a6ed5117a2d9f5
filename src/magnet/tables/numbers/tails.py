"""Separating right residuals from wrong values: tails of unknown weight against a broad error density."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from magnet.arrays import Bools, Floats, Ints
from magnet.scales import LOG_MEDIAN_VARIANCE, NORMAL_MAD
from magnet.tables.options import LIST_FROM, MIN_ROWS

DEGREES = 4.0  # of freedom, of right values before their tail is known: heavy tails, but a finite variance
T_DEGREES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0)  # from Cauchy on
# Exponential powers from Laplace to normal, and one for numbers that fill a range evenly. (With 4.0 instead of 3.0
# right values that trail off behind such a range were listed.)
POWERS = (1.0, 1.4, 2.0, 3.0)
# How often residuals on a fitted scale have these shapes: seldom Cauchy tails.
PRIOR = (0.005, 0.015, 0.03, 0.1, 0.15, 0.15, 0.15, 0.15, 0.15, 0.05, 0.05)
STEPS = 25  # of EM at most
EXACT, BINS = 500, 2000  # farthest residuals of a side that are kept, and bins of the others, when a tail is fitted
NEGLIGIBLE = 1e-4  # weight below which a shape is left out of the average
MAX_RATE = 0.3  # share of wrong cells on one side
SETTLED = 1e-4  # relative change of a spread that ends the steps
MIN_RATE = 1e-6  # as MAX_RATE, so that its logarithm is finite
MIN_SCALE = 1e-12  # against division by zero where more than half of the deviations are equal
MIN_SPREAD = 1e-9  # the same for values on the common scale of columns
MAX_EXPONENT = 700.0  # whose exponential is still a number
MIN_ROW_CELLS = 6  # residuals of a row that show whether it varies more than others (not swept)
GAP = 1.5  # ratio of the nearest far value to the farthest near one
WIDE = 3.0  # spreads of the column: width of the Cauchy distribution of far values


_VALUES = np.array([*T_DEGREES, *POWERS])
_LOG_CONSTANTS = np.array(
    [gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi) for nu in T_DEGREES]
    + [np.log(beta / 2) - gammaln(1 / beta) for beta in POWERS]
)


class TailFit(NamedTuple):
    """Probabilities that cells are wrong ``[n]``, and the estimated error rate of the column."""

    wrong: Floats
    rate: float


def log_t(u: Floats, degrees: float | Floats) -> Floats:
    """Log density of the standard t distribution."""
    constant = gammaln((degrees + 1) / 2) - gammaln(degrees / 2) - 0.5 * np.log(degrees * np.pi)
    return np.asarray(constant - (degrees + 1) / 2 * np.log1p(u * u / degrees))


def log_far(y: Floats) -> Floats:
    """Log density of wrong values of no special kind: half spread like the column, half far beyond it."""
    beyond = -np.log(np.pi * WIDE) - np.log1p(np.square(y / WIDE))
    return np.asarray(np.logaddexp(beyond, log_t(y, DEGREES)) - np.log(2))


def judge_tails(
    u: Floats, log_wrong: Floats, rate: float, prior_rows: float, min_scale: float = MIN_SCALE, bounded: bool = False
) -> TailFit:
    r"""Posterior probability that each residual belongs to a wrong cell.

    Each side of 0 has its own spread s, shape (a t distribution or an exponential power) and error rate
    :math:`\varepsilon`, fitted by EM to

    .. math::
        p(u) = (1 - \varepsilon)\, f(u / s) / s + \varepsilon\, f_{\text{wrong}}(u), \qquad
        f \in \{t_\nu,\ c_\beta e^{-|u|^\beta}\}, \qquad
        \varepsilon \sim \mathrm{Beta}(m \bar\varepsilon, m (1 - \bar\varepsilon)).

    The answer is the average over shapes, each weighted by its likelihood. So a tail that runs out evenly is a heavy
    tail and its far values are right; only values that no likely tail reaches are wrong.

    Args:
        u: residuals over their expected spread, NaN if missing.
        log_wrong: log density of the wrong values, in the units of u.
        rate: error rate of the table, the prior mean.
        prior_rows: rows that the prior counts for.
        min_scale: lower bound of s; written values are at least one step apart, so that many equal ones are no evidence
            (default: none).
        bounded: allow tails lighter than normal ones, as of numbers that fill a range evenly; residuals of a prediction
            have none (default: ``False``).

    Example:
        >>> u = np.append(np.random.default_rng(0).normal(size=400), 25.0)
        >>> wrong = judge_tails(u, np.full(401, np.log(0.01)), 0.01, 50).wrong
        >>> bool(wrong[-1] > 0.9), bool(wrong[:-1].max() < 0.3)
        (True, True)
    """
    wrong = np.zeros(u.shape)
    known = int(np.isfinite(u).sum())
    for side in (u >= 0, u < 0):
        if side.any():
            wrong[side] = _judge_side(np.abs(u[side]), log_wrong[side], rate, prior_rows, min_scale, bounded)
    share = (float(wrong.sum()) + prior_rows * rate) / (known + prior_rows)
    return TailFit(wrong, share)


def _judge_side(
    size: Floats, log_wrong: Floats, rate: float, prior_rows: float, min_scale: float, bounded: bool
) -> Floats:
    kept, weight = _compressed(size)
    s, e, likelihood = _fit(size[kept], log_wrong[kept], weight, rate, prior_rows, min_scale)
    likelihood = likelihood + np.log(PRIOR)
    if not bounded:
        likelihood[-1] = -np.inf
    share = np.exp(likelihood - np.logaddexp.reduce(likelihood))
    share[share < NEGLIGIBLE] = 0.0
    share /= share.sum()
    wrong = np.zeros(size.shape)
    for k in np.flatnonzero(share):
        right = _log_right(size, s[k : k + 1], np.array([k]))[0]
        wrong += share[k] * _posterior(right, log_wrong, e[k])
    return wrong


def _compressed(size: Floats) -> tuple[Ints, Floats]:
    """Representative positions of the residuals with their counts; the farthest are kept exactly."""
    order = np.argsort(-size, kind="stable")
    if size.size <= EXACT + BINS:
        return order, np.ones(size.size)
    edges = np.linspace(EXACT, size.size, BINS + 1).astype(np.int64)
    middle = (edges[:-1] + edges[1:]) // 2
    weight = np.concatenate([np.ones(EXACT), np.diff(edges).astype(float)])
    return order[np.concatenate([np.arange(EXACT), middle])], weight


def _log_right(size: Floats, s: Floats, shapes: Ints) -> Floats:
    """Log densities ``[shapes, m]`` of residuals under some shapes, in their order, with spreads s ``[shapes]``."""
    scaled = size / s[:, None]
    t, value = int(np.searchsorted(shapes, len(T_DEGREES))), _VALUES[shapes, None]
    scaled[:t] = (value[:t] + 1) / 2 * np.log1p(scaled[:t] * scaled[:t] / value[:t])
    for row, power in zip(scaled[t:], value[t:, 0], strict=True):
        row[:] = np.power(row, power)
    return np.asarray(_LOG_CONSTANTS[shapes, None] - scaled - np.log(s[:, None]))


def _posterior(right: Floats, wrong: Floats, rate: Floats) -> Floats:
    log_odds = right - wrong + np.log1p(-rate) - np.log(rate)
    return np.asarray(1 / (1 + np.exp(np.clip(log_odds, -MAX_EXPONENT, MAX_EXPONENT))))


def _fit(
    size: Floats, log_wrong: Floats, weight: Floats, rate: float, prior_rows: float, min_scale: float
) -> tuple[Floats, Floats, Floats]:
    """Spread, error rate and log posterior of every shape, fitted side by side; each stops when it has settled."""
    total = float(weight.sum())
    start = max(float(np.median(np.repeat(size, weight.astype(int)))), min_scale)
    s, e = np.full(len(PRIOR), start), np.full(len(PRIOR), rate)
    powers = np.array([np.power(size, power) for power in POWERS])
    active = every = np.arange(len(PRIOR))
    for _ in range(STEPS):
        p = _posterior(_log_right(size, s[active], active), log_wrong, e[active, None])
        right = weight * (1 - p)
        count = np.maximum(right.sum(axis=1), MIN_SCALE)
        t, value = int(np.searchsorted(active, len(T_DEGREES))), _VALUES[active]
        scaled, degrees = size / s[active[:t], None], value[:t, None]
        pull = right[:t] * (degrees + 1) / (degrees + scaled * scaled)
        sums = (right[t:] * powers[active[t:] - len(T_DEGREES)]).sum(axis=1)
        new = np.sqrt((pull * size * size).sum(axis=1) / count[:t])
        new = np.append(
            new, [np.power(x, 1 / power) for x, power in zip(value[t:] * sums / count[t:], value[t:], strict=True)]
        )
        e[active] = np.clip(((weight * p).sum(axis=1) + prior_rows * rate) / (total + prior_rows), MIN_RATE, MAX_RATE)
        moving = np.abs(new - s[active]) >= SETTLED * s[active]
        s[active] = np.maximum(new, min_scale)
        active = active[moving]
        if not active.size:
            break
    right = np.log1p(-e[:, None]) + _log_right(size, s, every)
    mixed = np.logaddexp(right, np.log(e[:, None]) + log_wrong)
    prior = prior_rows * (rate * np.log(e) + (1 - rate) * np.log1p(-e))
    return s, e, (weight * mixed).sum(axis=1) + prior


def gap_size(u: Floats, wrong: Floats, least: float) -> float:
    """The size from which at least half of the cells judged wrong lie clearly farther out than all others, and by at
    least so much; infinity if there is none."""
    flagged, size = wrong >= LIST_FROM, np.abs(u)
    edge, far = float(np.nanmax(size[~flagged & np.isfinite(u)], initial=0.0)), np.sort(size[flagged])
    for value in far[: far.size // 2 + 1].tolist():
        if value > max(GAP * edge, edge + least):
            return float(value)
        edge = max(edge, value)
    return float("inf")


def row_spread(u: Floats) -> Floats:
    """By how much the median residual of each row exceeds that of all rows ``[n]``: some rows vary more than others.

    Shrunk by the part of its variance that the median of so few numbers has anyway.

    Args:
        u: residuals over their spreads ``[n, d]``, NaN if missing.
    """
    count = np.isfinite(u).sum(axis=1)
    out = np.ones(len(u))
    rows: Bools = count >= MIN_ROW_CELLS
    if rows.sum() < MIN_ROWS:
        return out
    sizes = np.sort(np.abs(u[rows]), axis=1)  # NaN last; np.nanmedian is ten times slower on short rows
    half, each = count[rows] // 2, np.arange(len(sizes))
    middle = (sizes[each, (count[rows] - 1) // 2] + sizes[each, half]) / 2
    ratio = np.log(np.maximum(middle, MIN_SPREAD) / max(float(np.median(middle)), MIN_SPREAD))
    variance = max((NORMAL_MAD * float(np.median(np.abs(ratio)))) ** 2, MIN_SPREAD)
    shrink = np.clip(1 - LOG_MEDIAN_VARIANCE / count[rows] / variance, 0, None)
    out[rows] = np.exp(np.clip(shrink * ratio, 0, None))
    return out
