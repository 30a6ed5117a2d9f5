"""When a column of numbers is put on an asinh scale: a rule from three quantiles, for thousands of columns.

Features of graphs (:mod:`magnet.detection.data.scales`) and columns of tables that become features
(:mod:`magnet.tables.schema`) use it. The table engine, which needs the density of every number, fits the scale of a
column by likelihood instead and also knows one for two long tails (:mod:`magnet.tables.numbers.scales`). The two differ
in 59 of 238 numeric columns of the benchmark; one rule for both had a mixed effect on the F1 of its tables.
"""

from __future__ import annotations

import numpy as np

from magnet.arrays import Floats

NORMAL_MAD = 1.4826  # a normal distribution's standard deviation over its median absolute deviation
BINOMIAL_KERNEL = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)  # smooths a histogram
LOG_MEDIAN_VARIANCE = 1.36  # of the logarithm of the median absolute value of d normal numbers, times d
MOSTLY = 0.98  # share of the values that a rule must hold for: the others may be wrong
MIN_VALUES = 20  # fewer values than this do not show a shape
LOW_POINT, MIDDLE, HIGH_POINT = 0.05, 0.5, 0.95  # quantiles that the skewness is measured by
SMALL_COUNTS = 10  # whole numbers up to here: a log scale would only pull 0 and 1 apart
MAX_ZEROS = 0.05  # share of zeros from which a column has a second group there
SMALL, SMALL_WITH_ZEROS = 0.1, 0.5  # quantile of the positive numbers that counts as small, see natural_unit
MAX_EXACT = 2**53  # whole numbers up to here are exact as floats
MIN_SKEWNESS = 0.3  # of these points, from which the scale is considered
MIN_GAIN = 0.1  # by which it must lower the skewness


def asinh_unit(values: Floats) -> float:
    r"""The unit ``u`` of the scale :math:`\mathrm{asinh}(x / u)`, or 0 where the numbers stay on a linear scale.

    The scale is linear up to about ``u`` and logarithmic far beyond it, and takes zeros and negative numbers. It is
    chosen for columns of (mostly) non-negative numbers that are skewed to the right and clearly less so on that scale.
    See :func:`natural_unit` for the unit.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> incomes, heights = np.exp(rng.normal(10, 1, 500)), rng.normal(170, 10, 500)
        >>> incomes[:50] = 0
        >>> asinh_unit(incomes) > 0, asinh_unit(heights)
        (True, 0.0)
    """
    finite = values[np.isfinite(values)]
    if finite.size < MIN_VALUES or float((finite >= 0).mean()) < MOSTLY:
        return 0.0
    finite = finite[finite >= 0]
    points, unit = np.quantile(finite, [LOW_POINT, MIDDLE, HIGH_POINT]), natural_unit(finite)
    if not points[2] > points[0] or (points[2] < SMALL_COUNTS * unit and _is_whole(finite)):
        return 0.0
    skewness = _skewness(points)
    if skewness > MIN_SKEWNESS and abs(_skewness(np.arcsinh(points / unit))) < skewness - MIN_GAIN:
        return unit
    return 0.0


def natural_unit(values: Floats) -> float:
    """What counts as small in a column: the largest common divisor of whole numbers; else a value that nine tenths of
    the positive ones exceed, or half of them if there are zeros, which would otherwise be far from the rest.

    Example:
        >>> natural_unit(2 * np.arange(100.0)), round(natural_unit(np.linspace(0.5, 10.5, 101)), 1)
        (2.0, 1.5)
    """
    finite = values[np.isfinite(values)]
    positive = finite[finite > 0]
    if not positive.size:
        return 1.0
    if _is_whole(finite):
        whole = positive[(positive == np.round(positive)) & (positive < MAX_EXACT)]
        return float(np.gcd.reduce(whole.astype(np.int64))) if whole.size else 1.0
    has_zeros = positive.size < (1 - MAX_ZEROS) * finite.size
    return float(np.quantile(positive, SMALL_WITH_ZEROS if has_zeros else SMALL))


def _is_whole(finite: Floats) -> bool:
    return float((finite == np.round(finite)).mean()) >= MOSTLY


def _skewness(points: Floats) -> float:
    """Bowley's skewness from a low, the middle and a high point."""
    low, middle, high = points
    return float((high + low - 2 * middle) / (high - low))
