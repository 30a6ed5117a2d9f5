"""Thresholds without labels."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor


def cut(
    probability: Tensor | None,
    scores: Tensor,
    threshold: float | Literal["posterior"] = "posterior",
    fdr: float | None = None,
    contamination: float | None = None,
) -> float:
    r"""The probability above which something is flagged.

    With ``fdr``, the smallest threshold for which the flagged ones are wrong often enough on average,
    :math:`\mathrm{mean}(1 - P \mid P > t) \le \mathrm{fdr}`; with ``contamination``, the one above which that share
    lies.

    Example:
        >>> p = torch.tensor([0.99, 0.9, 0.8, 0.1])
        >>> cut(p, p), [int((p > cut(p, p, fdr=level)).sum()) for level in (0.06, 0.11)]
        (0.5, [2, 3])
        >>> int((p > cut(p, p, contamination=0.25)).sum())
        1
    """
    if probability is None or (fdr is None and contamination is None):
        return 0.5 if threshold == "posterior" else float(threshold)
    if fdr is not None:
        ordered = probability[probability > 0.01].sort(descending=True).values.double()
        if ordered.numel() == 0:
            return 0.5
        false = torch.cumsum(1 - ordered, 0) / torch.arange(1, ordered.numel() + 1, device=ordered.device)
        count = int((false <= fdr).sum())
        if count == 0:
            return 1.0
        below = float(ordered[count]) if count < ordered.numel() else 0.01
        return _between(float(ordered[count - 1]), below)
    assert contamination is not None
    count = max(1, round(contamination * probability.numel()))
    largest = probability.topk(min(count + 1, probability.numel())).values
    return _between(float(largest[count - 1]), float(largest[-1]) if largest.numel() > count else 0.0)


def _between(inside: float, outside: float) -> float:
    """A number below the last flagged probability and not below the first that is not."""
    return max(outside, inside - 1e-6) if inside > outside else outside
