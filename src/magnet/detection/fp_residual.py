"""``fp-residual``: what would Feature Propagation have put here?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from magnet.detection.base import Detector
from magnet.detection.progress import track
from magnet.detection.tail import tail_probability, wide_or_normal
from magnet.detection.view import View
from magnet.recovery import propagate


@dataclass(kw_only=True, eq=False, repr=False)
class FPResidual(Detector):
    """Each tenth of the nodes is hidden in turn and filled in from the others; the score is the distance to what was
    there, in spreads of the column.

    Args:
        folds: number of parts. (default: ``10``)
        max_iter: rounds of propagation. (default: ``40``)
    """

    folds: int = 10
    max_iter: int = 40

    def _detect(self, view: View) -> None:
        generator = torch.Generator().manual_seed(self.seed)
        self._fold = (torch.randperm(view.nodes, generator=generator) % min(self.folds, view.nodes)).to(view.device)
        total = torch.zeros(view.nodes, device=view.device)
        self._kept: dict[int, Tensor] = {}
        for first, last in track(list(view.ranges()), "hiding and filling in", self.progress):
            total += self._residual(first, last).square().sum(dim=1)
        self.node_scores_ = total.sqrt()
        self.node_probability_, self.share_ = tail_probability(self.node_scores_)
        sample = torch.cat([self._residual(*r).flatten()[:: max(1, view.nodes // 2000)] for r in view.ranges()])
        self._middle = sample.median()
        self._spread = (1.4826 * (sample - self._middle).abs().median()).clamp_min(1e-6)
        _, share = tail_probability(sample)
        self._log_odds = math.log(max(share, 1e-6) / (1 - share))

    def _residual(self, first: int, last: int) -> Tensor:
        if first in self._kept:
            return self._kept[first]
        view = self._view
        block = view.block(first, last).clone()
        out = torch.zeros_like(block)
        for fold in range(int(self._fold.max()) + 1):
            hidden = self._fold == fold
            weights = (~hidden)[:, None].float().expand_as(block)
            if view.missing is not None:
                weights = weights * ~view.missing[:, first:last]
            filled = propagate(block, weights, view.graph, lam=0.0, solver="iterate", max_iter=self.max_iter).x
            out[hidden] = (filled - block)[hidden].nan_to_num()
        spread = view.scales.spread[first:last]
        out = torch.where(spread > 0, out.abs() / spread.clamp_min(1e-30), torch.zeros_like(out))
        if view.matrix is None:
            self._kept[first] = out
        return out

    def _cells(self, first: int, last: int) -> tuple[Tensor, Tensor]:
        residual = self._residual(first, last)
        u = (residual - self._middle) / self._spread
        log_ratio = torch.where(u > 0, wide_or_normal(u), torch.full_like(u, -20.0))
        return residual, torch.sigmoid(log_ratio + self._log_odds)
