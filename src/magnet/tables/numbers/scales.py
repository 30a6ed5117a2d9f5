"""The scale on which the values of a column spread evenly: linear, logarithmic, or logarithmic in both tails.

Chosen by likelihood, since numbers are judged by their densities; see :mod:`magnet.scales` for the simpler rule of
features, and why both exist.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from magnet.arrays import Floats
from magnet.scales import MOSTLY, NORMAL_MAD
from magnet.tables.numbers.tails import MAX_EXPONENT, MIN_SPREAD, log_far, log_t

MAX_FIT = 5_000  # values that choose the scale
ORDINARY = 0.05  # quantile of the sizes from which one with a minus is taken for a lost sign
GAIN = 3.0  # nats that a transformed scale must gain over a straight one
FAR_SHARE = 0.01  # of values that the scale need not explain
DEGREES = (1.0, 2.0, 4.0, 10.0, 30.0)  # of freedom of the Student t tails that are tried, Cauchy to almost normal
STEPS = 10  # of EM for the spread of a side; only scales are compared, so that it need not settle
SMALL = 0.02  # quantile of the sizes that is the unit of a log scale; less, where fewer of the values are 0 (not swept)
UNIT_WITHOUT_ZEROS = 4  # by which the unit is divided there: all values are far above it (not swept)
MAX_ASINH = 300.0  # the same for a hyperbolic sine, with room for its square
NORMAL_RANGE = 3.29  # a normal distribution's distance from the 5 to the 95 % point over its standard deviation


def mad(values: Floats) -> float:
    """Standard deviation of a normal distribution with the same median absolute value; 0 without values."""
    known = values[np.isfinite(values)]
    return float(mads(known[None])[0]) if known.size else 0.0


def mads(values: Floats) -> Floats:
    """The same for each row of a matrix of finite values ``[m, n]`` with n > 0; ``np.median`` takes several times as
    long for a few dozen of them."""
    size, middle = np.abs(values), values.shape[1] // 2
    if values.shape[1] % 2:
        size.partition(middle, axis=1)
        return np.asarray(NORMAL_MAD * size[:, middle])
    size.partition((middle - 1, middle), axis=1)
    return np.asarray(NORMAL_MAD * ((size[:, middle - 1] + size[:, middle]) / 2))


@dataclass(frozen=True)
class Scale:
    r"""A monotone map of a column's values onto a common scale: median 0, robust spread 1.

    .. math::
        y = \frac{g(x) - m}{s}, \qquad
        g(x) \in \{x,\ \operatorname{asinh}(x / u),\ \operatorname{asinh}((x - c) / u)\}

    Args:
        kind: ``linear``, ``log`` (sizes; linear around 0: zeros and signs survive) or ``asinh`` (two long tails).
        shift, unit: c and u.
        center, spread: m and s.

    Example:
        >>> scale = Scale("linear", center=10.0, spread=2.0)
        >>> scale.forward(np.array([10.0, 14.0])), scale.inverse(np.array([2.0]))
        (array([0., 2.]), array([14.]))
    """

    kind: str
    shift: float = 0.0
    unit: float = 1.0
    center: float = 0.0
    spread: float = 1.0

    def _transform(self, x: Floats) -> Floats:
        if self.kind == "linear":
            return x
        return np.asarray(np.arcsinh((x - self.shift) / self.unit))

    def forward(self, x: Floats) -> Floats:
        """Values on the common scale."""
        return np.asarray((self._transform(x) - self.center) / self.spread)

    def inverse(self, y: Floats) -> Floats:
        """Values in the units of the column."""
        transformed = np.asarray(y) * self.spread + self.center
        if self.kind == "linear":
            return transformed
        return np.asarray(self.shift + self.unit * np.sinh(np.clip(transformed, -MAX_ASINH, MAX_ASINH)))

    def log_slope(self, x: Floats) -> Floats:
        r""":math:`\log |dy / dx|`, which turns densities of y into densities of x."""
        if self.kind == "linear":
            return np.full(np.shape(x), -np.log(self.spread))
        transformed = (x - self.shift) / self.unit
        return np.asarray(-np.log(self.spread * self.unit) - 0.5 * np.log1p(transformed * transformed))


def fit_scale(x: Floats, step: float = 0.0, linear: bool = False) -> Scale | None:
    """The scale on which the values of a column are most likely: a t distribution and a few far values.

    Args:
        x: values, NaN if missing.
        step: distance of neighboring values as written, the least spread (default: ``0.0``).
        linear: allow no other scale, as for dates, which have no zero (default: ``False``).

    Returns:
        None for a column without spread.

    Example:
        >>> fit_scale(np.exp(np.random.default_rng(0).normal(size=500) * 2)).kind
        'log'
    """
    known = np.sort(x[np.isfinite(x)])
    if known.size < 2 or known[0] == known[-1]:
        return None
    if known.size > MAX_FIT:
        known = known[np.linspace(0, known.size - 1, MAX_FIT).astype(int)]
    candidates = [Scale("linear")]
    size = known[known > 0]
    if not linear and size.size > 1 and np.mean(known >= 0) >= MOSTLY:
        # an ordinary size with a wrong sign is not informative about the scale; a value just below 0 is
        known = known[(known >= 0) | (-known < np.quantile(size, ORDINARY))]
        # without zeros the values are logarithms nearly throughout; with zeros the smallest sizes are linear
        divisor = 1 if np.mean(known == 0) > SMALL else UNIT_WITHOUT_ZEROS
        candidates.append(Scale("log", 0.0, float(np.quantile(size, SMALL)) / divisor))
    around = mad(known - np.median(known))
    if not linear and around > 0:
        candidates.append(Scale("asinh", float(np.median(known)), around))
    best, chosen = -np.inf, None
    for candidate in candidates:
        scale = _standardized(candidate, known, step)
        if scale is None:
            continue
        y = scale.forward(known)
        value = _likelihood(y) + float(scale.log_slope(known).sum()) - (0 if candidate.kind == "linear" else GAIN)
        if value > best:
            best, chosen = value, scale
    return chosen


def _standardized(scale: Scale, known: Floats, step: float) -> Scale | None:
    transformed = scale._transform(known)
    center = float(np.median(transformed))
    spread = mad(transformed - center)
    if spread == 0:
        low, high = np.quantile(transformed, [0.05, 0.95])
        spread = float(high - low) / NORMAL_RANGE or float(np.std(transformed))
    if step > 0:
        near = scale._transform(np.array([np.median(known), np.median(known) + step]))
        spread = max(spread, 0.5 * float(near[1] - near[0]))
    return Scale(scale.kind, scale.shift, scale.unit, center, spread) if spread > 0 else None


def _likelihood(y: Floats) -> float:
    """Largest log likelihood of standardized values under a t distribution, each side with its own spread and tail,
    and a share of far values."""
    total = 0.0
    nu = np.array(DEGREES)[:, None]
    for side in (np.abs(y[y >= 0]), np.abs(y[y < 0])):
        if not side.size:
            continue
        far = np.log(FAR_SHARE) + log_far(side)
        s = np.full((len(DEGREES), 1), max(float(np.median(side)), MIN_SPREAD))
        for _ in range(STEPS):
            right = np.log1p(-FAR_SHARE) + log_t(side / s, nu) - np.log(s)
            p = 1 / (1 + np.exp(np.clip(far - right, -MAX_EXPONENT, MAX_EXPONENT)))
            pull = p * (nu + 1) / (nu + np.square(side / s))
            squares = (pull * side * side).sum(axis=1, keepdims=True)
            rows = np.maximum(p.sum(axis=1, keepdims=True), MIN_SPREAD)
            s = np.maximum(np.sqrt(squares / rows), MIN_SPREAD)
        right = np.log1p(-FAR_SHARE) + log_t(side / s, nu) - np.log(s)
        total += float(np.logaddexp(right, far).sum(axis=1).max())
    return total
