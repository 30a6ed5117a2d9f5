"""From scores to probabilities and flags, without labels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from magnet.detection.data.scales import Scales
from magnet.detection.options import MIN_PROBABILITY, NUMERIC
from magnet.scales import NORMAL_MAD

_MIN_FLAGGED = 0.01  # nothing less probable than this is flagged for the sake of a false discovery rate
_NOT_SUSPICIOUS = -20.0  # log ratio: beside any share of wrong scores, no probability
_START, _MAX_SHARE = 0.02, 0.5  # of the search for the share of wide scores, which are the minority


@dataclass(frozen=True)
class Reference:
    """What a fitted detector hands on to data that come later: its column scales and thresholds."""

    scales_: Scales
    threshold_: float
    row_threshold_: float


@dataclass(frozen=True)
class FlagRule:
    """How thresholds are chosen; see :class:`~magnet.detection.base.Detector`."""

    threshold: float | Literal["posterior"] = "posterior"
    fdr: float | None = None
    contamination: float | None = None


def flag_threshold(
    probability: Tensor, threshold: float | Literal["posterior"] = "posterior", fdr: float | None = None
) -> float:
    r"""The probability above which something is flagged.

    With ``fdr``, the smallest threshold for which the flagged ones are wrong often enough on average,
    :math:`\mathrm{mean}(1 - P \mid P > t) \le \mathrm{fdr}`.

    Example:
        >>> p = torch.tensor([0.99, 0.9, 0.8, 0.1])
        >>> flag_threshold(p), [int((p > flag_threshold(p, fdr=level)).sum()) for level in (0.06, 0.11)]
        (0.5, [2, 3])
    """
    if fdr is None:
        return 0.5 if threshold == "posterior" else float(threshold)
    ordered = probability[probability > _MIN_FLAGGED].sort(descending=True).values.double()
    if ordered.numel() == 0:
        return 0.5
    false = torch.cumsum(1 - ordered, 0) / torch.arange(1, ordered.numel() + 1, device=ordered.device)
    count = int((false <= fdr).sum())
    if count == 0:
        return 1.0
    inside = float(ordered[count - 1])
    outside = float(ordered[count]) if count < ordered.numel() else _MIN_FLAGGED
    return (inside + outside) / 2 if inside > outside else outside


def top_share_score(scores: Tensor, share: float) -> float:
    """The score above which this share lies (fewer where many are equal).

    Example:
        >>> scores = torch.tensor([3.0, 1.0, 2.0, 0.0])
        >>> int((scores > top_share_score(scores, 0.5)).sum())
        2
    """
    count = min(scores.numel() - 1, max(1, round(share * scores.numel())))
    return float(scores.flatten().topk(count + 1).values[-1]) if count else -float("inf")


def empirical_bayes_share(
    expected_share: Callable[[float], float],
    bounds: tuple[float, float] = (0.0, 1.0),
    tol: float = 1e-6,
    max_iter: int = 100,
    start: float = 0.05,
) -> float:
    """The share of a mixture component by expectation maximization: the fixed point of ``expected_share``, which gives
    the mean posterior probability of the component for a share. The likelihood is concave in it, so that every start
    leads to the same one, given enough steps.

    Example:
        >>> likelihood_ratio = torch.tensor([0.1] * 90 + [20.0] * 10)
        >>> mean = lambda s: float((s * likelihood_ratio / (s * likelihood_ratio + 1 - s)).mean())
        >>> round(empirical_bayes_share(mean), 2)
        0.06
    """
    share = start
    for _ in range(max_iter):
        new = min(bounds[1], max(bounds[0], expected_share(share)))
        if abs(new - share) < tol:
            break
        share = new
    return share


def log_odds(share: float) -> float:
    return math.log(share / (1 - share))


def finite_log_odds(probability: Tensor) -> Tensor:
    """Log odds of probabilities that may be 0 or 1."""
    return torch.log((probability + MIN_PROBABILITY) / (1 - probability + MIN_PROBABILITY))


def log_cauchy_normal_ratio(u: Tensor) -> Tensor:
    """Log of the ratio of the Cauchy density of wrong values to the standard normal one, at ``u``."""
    scale = NUMERIC.wrong_scale
    return math.log(math.sqrt(2 / math.pi) / scale) - torch.log1p((u / scale).square()) + u.square() / 2


def upper_log_ratio(u: Tensor) -> Tensor:
    """The same above the middle; values below it, or missing, are not suspicious."""
    return torch.where(u > 0, log_cauchy_normal_ratio(u), torch.full_like(u, _NOT_SUSPICIOUS)).nan_to_num(
        nan=_NOT_SUSPICIOUS
    )


def tail_probability(scores: Tensor) -> tuple[Tensor, float]:
    r"""The probability that each score comes from a wide distribution instead of the normal bulk, and their share.

    With :math:`u` the score in robust standard deviations from the median (of the lower half, so that a heavy upper
    end does not widen the bulk), :math:`P = e g / (e g + (1 - e) \varphi)` with a Cauchy density ``g`` of scale 3 and
    an empirical-Bayes share ``e``. Scores below the median are not suspicious.

    Example:
        >>> bulk = torch.linspace(-2, 2, 200)
        >>> p, share = tail_probability(torch.cat([bulk, torch.tensor([30.0])]))
        >>> bool(p[-1] > 0.99), bool(p[:-1].max() < 0.5)
        (True, True)
    """
    known = scores[scores.isfinite()]
    if known.numel() < 3 or bool(known.min() == known.max()):
        return torch.zeros_like(scores), 0.0
    middle = known.median()
    spread = NORMAL_MAD * (middle - known)[known <= middle].median()
    if not float(spread) > 0:
        spread = known.std()
    log_ratio = upper_log_ratio((scores - middle) / spread)
    probability = scores

    def expected_share(share: float) -> float:
        nonlocal probability
        probability = torch.sigmoid(log_ratio + log_odds(share))
        return float(probability.mean())

    share = empirical_bayes_share(expected_share, start=_START, bounds=(MIN_PROBABILITY, _MAX_SHARE), tol=1e-7)
    return probability, share
