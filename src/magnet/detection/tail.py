"""From scores without a scale to probabilities: how far beyond the bulk?"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from magnet.detection.numeric import WIDE


def tail_probability(scores: Tensor, two_sided: bool = False) -> tuple[Tensor, float]:
    r"""The probability that each score comes from a wide distribution instead of the normal bulk, and their share.

    With :math:`u` the score in robust standard deviations from the median (of the lower half, so that a heavy upper
    end does not widen the bulk), :math:`P = e g / (e g + (1 - e) \varphi)` with a Cauchy density ``g`` of scale 3 and
    the share ``e`` by expectation maximisation. Scores below the median are not suspicious, unless ``two_sided``.

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
    below = (known - middle).abs() if two_sided else (middle - known)[known <= middle]
    spread = 1.4826 * below.median()
    if not float(spread) > 0:
        spread = known.std()
    u = (scores - middle) / spread
    log_ratio = math.log(math.sqrt(2 / math.pi) / WIDE) - torch.log1p((u / WIDE).square()) + u.square() / 2
    if not two_sided:
        log_ratio = torch.where(u > 0, log_ratio, torch.full_like(u, -20.0))
    log_ratio = log_ratio.nan_to_num(nan=-20.0)
    share = 0.02
    for _ in range(100):
        probability = torch.sigmoid(log_ratio + math.log(share / (1 - share)))
        new = min(0.5, max(1e-6, float(probability.mean())))
        if abs(new - share) < 1e-7:
            break
        share = new
    return probability, share
