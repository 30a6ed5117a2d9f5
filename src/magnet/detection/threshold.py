"""Thresholds without labels."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor


def cut(probability: Tensor, threshold: float | Literal["posterior"] = "posterior", fdr: float | None = None) -> float:
    r"""The probability above which something is flagged.

    With ``fdr``, the smallest threshold for which the flagged ones are wrong often enough on average,
    :math:`\mathrm{mean}(1 - P \mid P > t) \le \mathrm{fdr}`.

    Example:
        >>> p = torch.tensor([0.99, 0.9, 0.8, 0.1])
        >>> cut(p), [int((p > cut(p, fdr=level)).sum()) for level in (0.06, 0.11)]
        (0.5, [2, 3])
    """
    if fdr is None:
        return 0.5 if threshold == "posterior" else float(threshold)
    ordered = probability[probability > 0.01].sort(descending=True).values.double()
    if ordered.numel() == 0:
        return 0.5
    false = torch.cumsum(1 - ordered, 0) / torch.arange(1, ordered.numel() + 1, device=ordered.device)
    count = int((false <= fdr).sum())
    if count == 0:
        return 1.0
    inside, outside = float(ordered[count - 1]), float(ordered[count]) if count < ordered.numel() else 0.01
    return (inside + outside) / 2 if inside > outside else outside


def top(scores: Tensor, share: float) -> float:
    """The score above which this share lies (fewer where many are equal).

    Example:
        >>> scores = torch.tensor([3.0, 1.0, 2.0, 0.0])
        >>> int((scores > top(scores, 0.5)).sum())
        2
    """
    count = min(scores.numel() - 1, max(1, round(share * scores.numel())))
    return float(scores.flatten().topk(count + 1).values[-1]) if count else -float("inf")
