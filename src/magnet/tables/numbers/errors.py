"""How numbers go wrong: a slipped decimal point, a lost sign, a changed digit, or any other value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import OSA

from magnet.arrays import Bools, Floats, Ints
from magnet.scales import BINOMIAL_KERNEL
from magnet.tables.numbers.scales import Scale
from magnet.tables.numbers.tails import DEGREES, log_far, log_t

FACTORS = (10.0, 100.0, 1000.0, 0.1, 0.01, 0.001, -1.0)  # observed over right value
FAR = len(FACTORS)  # position of "any other value" among the kinds
PRIOR_COUNTS = (1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 5.0)  # of kinds, before any error is seen
APART = 5.0  # spreads between the observed and the corrected value: a factor within the usual variation proves nothing
KNOWN = 10.0  # wrong cells of a column that count as much as the broad density of far values
COUNTED = 0.05  # probability from which a cell counts in the histogram of wrong values
BINS, BINS_PER_SPREAD = 60, 4  # bins of the histogram of wrong values to each side of the median
PERCENT = re.compile(r"percent|pct|%|(^|[^a-z])(rate|share)($|[^a-z])", re.I)  # names of columns that end at 100
BOUND_ODDS = 2.0  # odds that a bound which all other values keep is one that right values never cross
MAX_BEYOND, MAX_BEYOND_SHARE = 2, 0.01  # values beyond a bound; with more it is none
MAX_BOUND_EVIDENCE = 7.0  # nats
# tolerance, in steps, for a number to count as one that the column could hold; and of its last binary digits
GRID, GRID_ROUNDING = 1e-6, 1e-12
DIGITS = "0123456789"
ROUNDING = 0.51  # of a step: half of it, and a little for the binary digits
HUNDRED = 100.0  # bound of shares in percent
USUAL_LARGEST = 0.9  # quantile of the shares that must come near it, within a factor of 2 (not swept)


def kind_shares(counts: Floats | float = 0.0) -> Floats:
    """How often each kind of error happens, given that one does; learned from the errors found in the table."""
    total = np.array(PRIOR_COUNTS) + counts
    return np.asarray(total / total.sum())


@dataclass(frozen=True, eq=False)
class WrongDensity:
    """Log densities of the observed values if they are wrong, on the common scale.

    Args:
        total: ``[n]``, over all kinds.
        rows: the few rows whose value a factor may explain; everywhere else the value is of no special kind.
        by_kind: ``[rows, kinds]``, the densities there, with the share of each kind.
    """

    total: Floats
    rows: Ints
    by_kind: Floats

    def likeliest(self) -> tuple[Ints, Floats]:
        """The likeliest kind of error of every cell, and its share among the kinds ``[n]`` each."""
        kind, share = np.full(self.total.shape, FAR), np.ones(self.total.shape)
        kind[self.rows] = self.by_kind.argmax(axis=1)
        share[self.rows] = np.exp(self.by_kind.max(axis=1) - self.total[self.rows])
        return kind, share

    def counts(self, cells: Bools) -> Floats:
        """How many of some cells each kind explains ``[kinds]``."""
        chosen = np.flatnonzero(cells)
        log = np.full((chosen.size, len(FACTORS) + 1), -np.inf)
        log[:, FAR] = self.total[chosen]
        _, at, which = np.intersect1d(chosen, self.rows, assume_unique=True, return_indices=True)
        log[at] = self.by_kind[which]
        return np.asarray(np.exp(log - self.total[chosen, None]).sum(axis=0))


def wrong_density(
    x: Floats,
    y: Floats,
    center: Floats,
    spread: Floats,
    scale: Scale,
    step: float,
    shares: Floats,
    wrong: Floats,
    additive: bool = False,
) -> WrongDensity:
    r"""Density of observed values that are wrong.

    .. math::
        f_{\text{wrong}}(o) = \sum_k \pi_k \, p(o / f_k \mid \text{context}) \, \Big|\frac{dv}{do}\Big|
        + \pi_{\text{far}} \big(\tfrac12 \mathrm{Cauchy}(0, 3) + \tfrac12 t_4\big)(y_o)

    over the factors :math:`f_k`. A value multiplied by 10, 100 or 1000 is still a number of as few digits, so
    :math:`o / f_k` must be one that the column could hold; that one in :math:`f_k` numbers passes is evidence.

    Args:
        x, y: observed values, in units of the column and on the common scale.
        center, spread: what the context expects, on the common scale.
        scale: the scale of the column.
        step: distance of neighboring values as written.
        shares: of the kinds.
        wrong: probability that each cell is wrong, as far as it is known.
        additive: values without a zero, such as dates, are never multiplied (default: ``False``).
    """
    y = np.where(np.isfinite(y), y, 0.0)
    far = far_density(y, wrong) + np.log(shares[FAR])
    given = np.flatnonzero(np.isfinite(x) & (x != 0)) if not additive else np.zeros(0, dtype=np.int64)
    by_factor: list[tuple[Ints, Floats]] = []
    is_explained = np.zeros(len(x), dtype=bool)
    far_enough, log_spread, own_slope = APART * spread, np.log(spread), scale.log_slope(x)
    for k, factor in enumerate(FACTORS):
        rows = given
        if factor > 1 and step > 0:
            steps = x[rows] / factor / step
            rows = rows[np.abs(steps - np.round(steps)) < np.maximum(GRID, GRID_ROUNDING * np.abs(steps))]
        right = x[rows] / factor
        moved = scale.forward(right)
        apart = np.abs(moved - y[rows]) > far_enough[rows]
        rows, right, moved = rows[apart], right[apart], moved[apart]
        u = (moved - center[rows]) / spread[rows]
        density = log_t(u, DEGREES) - log_spread[rows] + scale.log_slope(right) - own_slope[rows]
        if factor < 1:
            density = density - np.log(abs(factor))
        by_factor.append((rows, density + np.log(shares[k])))
        is_explained[rows[np.isfinite(by_factor[k][1])]] = True
    explained = np.flatnonzero(is_explained)
    place = np.cumsum(is_explained) - 1
    by_kind = np.full((len(FACTORS) + 1, explained.size), -np.inf)
    total = np.full(explained.size, -np.inf)  # of the kinds so far; most rows have few
    for k, (rows, density) in enumerate(by_factor):
        inside = is_explained[rows]
        at, density = place[rows[inside]], density[inside]
        by_kind[k, at] = density
        total[at] = np.logaddexp(total[at], density)
    by_kind[FAR] = far[explained]
    far[explained] = np.logaddexp(total, by_kind[FAR])
    return WrongDensity(far, explained, by_kind.T)


def far_density(y: Floats, wrong: Floats) -> Floats:
    r"""Log density of far values ``[n]``: :math:`(m f_0 + N h) / (m + N)`.

    Wrong values of a column are often similar. h is the smoothed histogram of the N cells found wrong so far, each time
    without the cell itself, and :math:`m = 10` cells of the broad density :math:`f_0` act as a prior.

    Args:
        y: values on the common scale.
        wrong: probability that each cell is wrong.
    """
    weight = np.where(wrong > COUNTED, wrong, 0.0)
    if not weight.any():
        return log_far(y)
    place = np.floor(np.clip(y, -BINS / BINS_PER_SPREAD, BINS / BINS_PER_SPREAD) * BINS_PER_SPREAD).astype(int) + BINS
    inside = (place >= 0) & (place < 2 * BINS)
    place = np.clip(place, 0, 2 * BINS - 1)
    histogram = np.bincount(place, weights=weight * inside, minlength=2 * BINS)
    kernel = np.array(BINOMIAL_KERNEL)
    near = np.maximum(np.convolve(histogram, kernel, "same")[place] - kernel[2] * weight, 0) * inside
    others = np.maximum(weight.sum() - weight, 0)
    return np.asarray(np.log((KNOWN * np.exp(log_far(y)) + BINS_PER_SPREAD * near) / (KNOWN + others)))


def is_slip(observed: float, right: float, step: float, off: float = 0.0) -> bool:
    """Whether one slip of the pen turns a number, which may be off by so much, into another: a digit, the decimal
    point, the sign.

    Example:
        >>> is_slip(1324.0, 1234.0, 1.0), is_slip(12.3, 1.23, 0.01), is_slip(55.0, 12.0, 1.0)
        (True, True, False)
    """
    if not (np.isfinite(observed) and np.isfinite(right)) or right == 0 or observed == 0:
        return False
    for moved in (observed / factor for factor in FACTORS):  # 3241.98 is no hundredfold of cents
        if abs(moved - right) <= off + ROUNDING * step and abs(moved - step * round(moved / step)) <= GRID * step:
            return True
    places = max(0, round(-np.log10(step))) if step > 0 else 0
    written = f"{observed:.{places}f}"
    if off <= ROUNDING * step:
        return int(OSA.distance(written, f"{right:.{places}f}")) == 1
    return any(abs(float(text) - right) <= off for text in _one_digit_off(written))


def _one_digit_off(text: str) -> Iterator[str]:
    """Numbers from which one digit left out, added or replaced, or two exchanged, makes another."""
    for k, digit in enumerate(text):
        if digit.isdigit():
            if text.strip("-") != digit:  # or nothing would be left
                yield text[:k] + text[k + 1 :]
            yield from (text[:k] + other + text[k + rest :] for other in DIGITS for rest in (0, 1))
            if text[k + 1 : k + 2].isdigit():
                yield text[:k] + text[k + 1] + digit + text[k + 2 :]
    yield from (text + other for other in DIGITS)


def beyond_bounds(x: Floats, name: str = "") -> Floats:
    r"""Log odds ``[n]`` that a number is wrong because it is beyond a bound that all others respect.

    Sizes are not negative, and shares not above 100. For a value at distance d beyond the bound, let m and m' other
    values lie in the first and second interval of length d inside it. If there were no bound, about
    :math:`e = m^2 / (2 m')` values would lie beyond, and seeing none has the chance :math:`\exp(-e)`; so the odds are
    multiplied by :math:`1 + 2 \exp(e)`.

    Args:
        x: numbers, NaN if missing.
        name: header; only columns named like a share are bounded by 100.

    Example:
        >>> x = np.append(np.arange(1.0, 41.0), -6.0)
        >>> bool(beyond_bounds(x)[-1] > 2), bool(beyond_bounds(x - 20).any())
        (True, False)
    """
    out = np.zeros(x.shape)
    known = x[np.isfinite(x)]
    bounds = [(0.0, 1.0)]
    if PERCENT.search(name) and np.median(known) <= HUNDRED < 2 * np.quantile(known, USUAL_LARGEST):
        bounds.append((HUNDRED, -1.0))
    for bound, side in bounds:
        inside = np.sort(side * (known - bound))
        beyond = np.flatnonzero(side * (x - bound) < 0)
        if beyond.size > max(MAX_BEYOND, MAX_BEYOND_SHARE * known.size):
            continue
        for row in beyond.tolist():
            d = abs(x[row] - bound)
            near, next_ = np.diff(np.searchsorted(inside, [0.0, d, 2 * d])).tolist()
            expected = min(near * near / (2 * next_ + 1), MAX_BOUND_EVIDENCE)
            out[row] = min(np.log1p(BOUND_ODDS * np.exp(expected)), MAX_BOUND_EVIDENCE)
    return out
