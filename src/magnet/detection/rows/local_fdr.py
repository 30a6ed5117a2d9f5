"""Local false discovery rate (Efron, JASA 2004): which rows behave like rows at random nodes?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm
from sklearn.isotonic import IsotonicRegression

from magnet.detection.options import GATE, MIN_WEIGHT, ROWS
from magnet.scales import BINOMIAL_KERNEL

FloatArray = NDArray[np.float64]

#: How often the null proportion of one dataset is estimated: in four rounds, and by another null in the last one.
ESTIMATES = 5
MIN_MASS = 1e-12  # share of the values in a bin or below a point, so that quotients are finite
MIN_WIDTH = 1e-6  # of the right values where the null is standard normal, so that quotients are finite
#: Quantiles between which densities are compared: beyond, bins are nearly empty (not swept).
HISTOGRAM_ENDS = (0.001, 0.999)


@dataclass(frozen=True)
class NullProportion:
    """The share of real values that come from the null, its standard error for the number of real values, the quantile
    of the null below which values were counted, and the standard error of the share for the number of columns of the
    null."""

    share: float
    error: float
    quantile: float
    null_error: float = 0.0


def null_proportion(real: FloatArray, null: FloatArray) -> NullProportion:
    r""":math:`\pi_0 = F(t) / F_0(t)`: the share of real values that come from the null.

    The lower ``t`` is, the fewer values of the other group lie below it, but the noisier is the estimate. Of some
    quantiles of the null, take the one whose estimate plus its standard error is smallest. The null cannot have a
    larger share than it has below any other point. Where many right values are as low as the null's middle, but hardly
    any as low as its lowest ones, lower quantiles show it. Such a one counts where significantly few of the values
    below ``t`` are below it as well (binomial test, as if they were of the null; level ``GATE.confidence``, divided by
    the number of estimates).

    A column of the null is one row at many nodes, or many rows at one node, and so one draw: the lowest hundredth of
    all values may be those of a single column. Standard errors of :math:`F_0(t)` and of the share of the null in the
    test are those between columns; the test takes the lower limit, at its own level.

    Args:
        real: values ``[n]``.
        null: values ``[m, K]`` (NaN for none), or ``[m]``, each of which is a draw.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> null, good = rng.normal(0, 1, 10_000), rng.normal(5, 1, 7000)
        >>> found = null_proportion(np.concatenate([good, null[:3000]]), null)
        >>> round(found.share, 1), found.error < 0.01
        (0.3, True)
    """
    columns = null if null.ndim == 2 else null[:, None]
    values = columns[np.isfinite(columns)]
    if real.size == 0 or values.size == 0:
        return NullProportion(0.0, 0.0, 0.5)

    size, num_columns = real.size, columns.shape[1]

    def below(quantile: float, t: float) -> tuple[NullProportion, int, float]:
        """The share below a point, the number of values there, and how many of as many null values would be."""
        count, expected = int((real < t).sum()), size * max(float((values < t).mean()), MIN_MASS)
        share = NullProportion(min(1.0, count / expected), float(np.sqrt(count + 1)) / expected, quantile)
        return share, count, expected

    def ratio_error(part: NDArray[Any], whole: NDArray[Any]) -> float:
        """Standard error of the ratio of two sums over columns."""
        if num_columns < 2 or not whole.sum():
            return 0.0
        deviation = part - part.sum() / whole.sum() * whole
        return float(np.sqrt((deviation**2).sum() * num_columns / (num_columns - 1)) / whole.sum())

    quantiles, low = ROWS.null_quantiles, ROWS.low_null_quantiles
    level = GATE.confidence / ESTIMATES
    points = dict(zip((*quantiles, *low), np.quantile(values, [*quantiles, *low]), strict=True))
    found, count, expected = min(
        (below(q, points[q]) for q in quantiles), key=lambda each: each[0].share + each[0].error
    )
    for q in low:
        lower, fewer, fewer_expected = below(q, points[q])
        if binom.cdf(fewer, count, fewer_expected / expected) < level:
            part, whole = ((columns < points[each]).sum(axis=0) for each in (q, found.quantile))
            least = fewer_expected / expected - float(norm.isf(level)) * ratio_error(part, whole)
            if binom.cdf(fewer, count, max(0.0, least)) < level:
                found, count, expected = lower, fewer, fewer_expected
    part, whole = (columns < points[found.quantile]).sum(axis=0), np.isfinite(columns).sum(axis=0)
    return replace(found, null_error=found.share * ratio_error(part, whole) * size / expected)


def null_overlap(real: FloatArray, null: FloatArray, share: float, quantile: float = 0.5) -> float:
    r"""The share of right values as low as those of the null, which would be counted with them.

    On the scale on which the null is standard normal, the right values (those above a share of swapped ones) are taken
    to be normal as well: median ``d`` and 10 % point give center and width, and :math:`\Phi((\Phi^{-1}(q) - d) /
    \sigma) / q` is how often they lie below the null's quantile ``q``, relative to the null.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> null, good = rng.normal(0, 1, 100_000), rng.normal(2, 1, 100_000)
        >>> bool(abs(null_overlap(good, null, 0.0) - 2 * norm.cdf(-2)) < 0.005)
        True
        >>> both = np.concatenate([good, null[:10_000]])
        >>> raw = null_proportion(both, null)
        >>> round(without_overlap(raw.share, null_overlap(both, null, raw.share, raw.quantile)), 2)
        0.09
    """
    if real.size == 0 or null.size == 0 or share >= 1:
        return 0.0
    quantiles = ROWS.right_quantiles
    points = np.quantile(real, [share + (1 - share) * q for q in quantiles])
    below = [(null < point).mean() for point in points]
    middle, low = norm.ppf(np.clip(below, 0.5 / null.size, 1 - 0.5 / null.size))
    width = max((middle - low) / (norm.ppf(quantiles[0]) - norm.ppf(quantiles[1])), MIN_WIDTH)
    return float(min(1.0, norm.cdf((norm.ppf(quantile) - middle) / width) / quantile))


def without_overlap(share: float, overlap: float) -> float:
    """The null proportion, corrected for right values that were counted with the null."""
    return max(0.0, (share - overlap) / (1 - overlap)) if overlap < 1 else float(share >= 1)


def local_fdr(real: FloatArray, null: FloatArray, share: float) -> FloatArray:
    r""":math:`\mathrm{fdr}(z) = \min(1, \pi_0 f_0(z) / f(z))`, made decreasing in ``z`` by isotonic regression.

    ``f0`` and ``f`` are smoothed histograms between the 0.1 % and 99.9 % points of both. Here the null is "this row
    belongs to another node", so the local false discovery rate is the probability that a row is swapped.
    """
    if real.size == 0 or share == 0:
        return np.zeros(real.size)
    both = np.concatenate([real, null[:: max(1, null.size // ROWS.null_sample)]])
    low, high = np.quantile(both, HISTOGRAM_ENDS)
    if not high > low:
        return np.full(real.size, share)
    # equal bins by their number: for given edges NumPy sorts the values
    (h0, edges), (h, _) = (np.histogram(np.clip(v, low, high), ROWS.histogram_bins, (low, high)) for v in (null, real))
    f0, f = _smooth(h0 / null.size), _smooth(h / real.size)
    ratio = np.minimum(1.0, share * f0 / np.maximum(f, MIN_MASS))
    middle = (edges[1:] + edges[:-1]) / 2
    fit = IsotonicRegression(increasing=False, out_of_bounds="clip").fit(middle, ratio, sample_weight=f + MIN_WEIGHT)
    return np.asarray(fit.predict(np.clip(real, low, high)), dtype=np.float64)


def _smooth(histogram: FloatArray) -> FloatArray:
    """A histogram smoothed by a binomial kernel over two bins to each side."""
    return np.convolve(np.pad(histogram, len(BINOMIAL_KERNEL) // 2, mode="edge"), BINOMIAL_KERNEL, mode="valid")
