"""From scores without a scale to probabilities: how far beyond the bulk?"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from magnet.detection.numeric import WIDE


def wide_or_normal(u: Tensor) -> Tensor:
    """Log of the ratio of a Cauchy density of scale 3 to the normal one, at ``u``."""
    return math.log(math.sqrt(2 / math.pi) / WIDE) - torch.log1p((u / WIDE).square()) + u.square() / 2


def tail_probability(scores: Tensor) -> tuple[Tensor, float]:
    r"""The probability that each score comes from a wide distribution instead of the normal bulk, and their share.

    With :math:`u` the score in robust standard deviations from the median (of the lower half, so that a heavy upper
    end does not widen the bulk), :math:`P = e g / (e g + (1 - e) \varphi)` with a Cauchy density ``g`` of scale 3 and
    the share ``e`` by expectation maximisation. Scores below the median are not suspicious.

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
    spread = 1.4826 * (middle - known)[known <= middle].median()
    if not float(spread) > 0:
        spread = known.std()
    u = (scores - middle) / spread
    log_ratio = torch.where(u > 0, wide_or_normal(u), torch.full_like(u, -20.0))
    log_ratio = log_ratio.nan_to_num(nan=-20.0)
    share = 0.02
    for _ in range(100):
        probability = torch.sigmoid(log_ratio + math.log(share / (1 - share)))
        new = min(0.5, max(1e-6, float(probability.mean())))
        if abs(new - share) < 1e-7:
            break
        share = new
    return probability, share
