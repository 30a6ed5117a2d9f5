"""Two groups: what share of the rows behaves like rows at random places, and which?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression

FloatArray = NDArray[np.float64]

# Points of the null below which values are counted.
QUANTILES = (0.3, 0.5)
# Points of the right values that tell where they lie and how wide.
RIGHT = (0.5, 0.1)


def null_share(real: FloatArray, null: FloatArray) -> float:
    r""":math:`\pi_0 = F(t) / F_0(t)`: the share of real values that come from the null.

    Below which t? The smaller, the fewer values of the other group lie below it, but the fewer values there are
    at all, and wrong rows that were not drawn at random (far ones, say) may miss the lowest values: of two quantiles of
    the null, the one whose estimate is smaller with its standard error added.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> null, good = rng.normal(0, 1, 10_000), rng.normal(5, 1, 7000)
        >>> round(null_share(np.concatenate([good, null[:3000]]), null), 1)
        0.3
    """
    if real.size == 0 or null.size == 0:
        return 0.0
    best, chosen = np.inf, 1.0
    for t in np.quantile(null, QUANTILES):
        below, expected = (real < t).mean(), max((null < t).mean(), 1e-12)
        error = np.sqrt(max(below * (1 - below), 1 / real.size) / real.size)
        if (below + error) / expected < best:
            best, chosen = (below + error) / expected, below / expected
    return float(min(1.0, chosen))


def leak(real: FloatArray, null: FloatArray, share: float) -> float:
    r"""The share of right values that lie as low as the null's by themselves, and would be counted with them.

    On the scale on which the null is standard normal, the right values, those above a share of wrong ones, are taken
    to be normal as well: median ``d`` and 10 % point give centre and width, and :math:`2 \Phi(-d / \sigma)` is how
    often they lie below the null's median, relative to the null.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> null, good = rng.normal(0, 1, 100_000), rng.normal(2, 1, 100_000)
        >>> bool(abs(leak(good, null, 0.0) - 2 * norm.cdf(-2)) < 0.005)
        True
        >>> both = np.concatenate([good, null[:10_000]])
        >>> raw = null_share(both, null)
        >>> round(raw, 2), round(without_leak(raw, leak(both, null, raw)), 2)
        (0.11, 0.09)
    """
    if real.size == 0 or null.size == 0 or share >= 1:
        return 0.0
    points = np.quantile(real, [share + (1 - share) * q for q in RIGHT])
    below = [(null < point).mean() for point in points]
    middle, low = norm.ppf(np.clip(below, 0.5 / null.size, 1 - 0.5 / null.size))
    width = max((middle - low) / (norm.ppf(RIGHT[0]) - norm.ppf(RIGHT[1])), 1e-6)
    return float(min(1.0, 2 * norm.cdf(-middle / width)))


def without_leak(share: float, leak: float) -> float:
    """The share of the null when a leak of the rest was counted with it."""
    return max(0.0, (share - leak) / (1 - leak)) if leak < 1 else float(share >= 1)


def posterior(real: FloatArray, null: FloatArray, share: float, bins: int = 60) -> FloatArray:
    r""":math:`\rho = \min(1, \pi_0 f_0 / f)`, made decreasing in the value by isotonic regression.

    ``f0`` and ``f`` are smoothed histograms between the 0.1 % and 99.9 % points of both.
    """
    if real.size == 0 or share == 0:
        return np.zeros(real.size)
    both = np.concatenate([real, null[:: max(1, null.size // 200_000)]])
    low, high = np.quantile(both, [0.001, 0.999])
    if not high > low:
        return np.full(real.size, share)
    edges = np.linspace(low, high, bins + 1)
    f0, f = (smooth(np.histogram(np.clip(v, low, high), edges)[0] / v.size) for v in (null, real))
    ratio = np.minimum(1.0, share * f0 / np.maximum(f, 1e-12))
    middle = (edges[1:] + edges[:-1]) / 2
    fit = IsotonicRegression(increasing=False, out_of_bounds="clip").fit(middle, ratio, sample_weight=f + 1e-9)
    return np.asarray(fit.predict(np.clip(real, low, high)), dtype=np.float64)


def smooth(histogram: FloatArray) -> FloatArray:
    """A histogram smoothed by a binomial kernel over two bins to each side."""
    kernel = np.array([1, 4, 6, 4, 1]) / 16
    padded = np.pad(histogram, 2, mode="edge")
    return np.convolve(padded, kernel, mode="valid")
