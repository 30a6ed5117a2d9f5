"""``zscore``: how far from the middle of its column is each value?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from magnet.detection.base import Detector
from magnet.detection.tail import wide_or_normal
from magnet.detection.view import View


@dataclass(kw_only=True, eq=False, repr=False)
class ZScore(Detector):
    r"""The robust column z-score :math:`|x - \mathrm{median}| / (1.4826\,\mathrm{MAD})`; it does not look at the graph.

    The probability weighs a wide (Cauchy) against a normal density, with one share of wrong cells for the table,
    found by expectation maximisation. Columns of 0/1 and categories have no outliers: their score is that of a
    binomial deviation, their probability 0.
    """

    def _detect(self, view: View) -> None:
        numeric = view.of_kind("count", "continuous")
        share, cells = 0.01, float(view.nodes * max(1, int(numeric.sum())))
        self._log_odds = math.log(share / (1 - share))
        for _ in range(20):
            total = sum(float(self._cells(first, last)[1].sum()) for first, last in view.ranges())
            new = min(0.3, max(1e-6, total / cells))
            self._log_odds = math.log(new / (1 - new))
            if abs(new - share) < 1e-5:
                break
            share = new
        best = torch.zeros(view.nodes, device=view.device)
        right = torch.zeros(view.nodes, device=view.device)
        for first, last in view.ranges():
            score, probability = self._cells(first, last)
            best = torch.maximum(best, score.max(dim=1).values)
            right += torch.log1p(-probability.clamp_max(1 - 1e-6)).sum(dim=1)
        self.node_scores_, self.node_probability_ = best, 1 - right.exp()
        self.share_ = float(self.node_probability_.mean())

    def _cells(self, first: int, last: int) -> tuple[Tensor, Tensor]:
        z = self._view.scales.standardise(self._view.block(first, last), first).abs().nan_to_num()
        probability = torch.sigmoid(wide_or_normal(z) + self._log_odds)
        numeric = self._view.of_kind("count", "continuous")[first:last]
        probability = probability * numeric
        known = self._known(first, last)
        return z, probability if known is None else probability.masked_fill(known, 0.0)
