"""Several repetitions in a few numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Summary:
    """Mean, sample deviation and 95 % interval of the mean (Student's t) of ``runs`` repetitions."""

    mean: float
    std: float
    low: float
    high: float
    runs: int


def summarise(values: Iterable[float], scale: float = 1.0) -> Summary | None:
    """The summary of some values times ``scale``; None where there are none.

    One value has no deviation and no interval: they are NaN.

    Example:
        >>> s = summarise([0.7, 0.8, 0.9], scale=100)
        >>> f"{s.mean:.1f} ± {s.std:.1f} [{s.low:.1f}, {s.high:.1f}]"
        '80.0 ± 10.0 [55.2, 104.8]'
    """
    sample = scale * np.array([value for value in values if value is not None], dtype=np.float64)
    sample = sample[np.isfinite(sample)]
    if sample.size == 0:
        return None
    mean = float(sample.mean())
    if sample.size == 1:
        return Summary(mean, float("nan"), float("nan"), float("nan"), 1)
    std = float(sample.std(ddof=1))
    half = float(stats.t.ppf(0.975, sample.size - 1)) * std / sample.size**0.5
    return Summary(mean, std, mean - half, mean + half, int(sample.size))
