"""``cosine`` and ``cosine-centred``: does the row point where its neighbours do?"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from magnet.detection.base import Detector
from magnet.detection.rows import unit_rows
from magnet.detection.tail import tail_probability
from magnet.detection.view import View


@dataclass(kw_only=True, eq=False, repr=False)
class Cosine(Detector):
    r"""Minus the cosine between a row and the mean of its neighbours' rows (each of norm 1).

    Args:
        centred: subtract the mean of all rows from both first. (default: ``False``)
    """

    centred: bool = False

    def _detect(self, view: View) -> None:
        rows = unit_rows(view)
        dot, near, own = (torch.zeros(view.nodes, device=view.device) for _ in range(3))
        mean = rows.mean(torch.ones(view.nodes, device=view.device))
        degree = torch.from_numpy(view.graph.degree).float().to(view.device)[:, None]
        for first, block in rows.blocks():
            total = view.adjacency @ block.contiguous()
            if self.centred:
                centre = mean[first : first + block.shape[1]]
                block, total = block - centre, total - degree * centre
            dot += (total * block).sum(dim=1)
            near += total.square().sum(dim=1)
            own += block.square().sum(dim=1)
        known = (near > 1e-12) & (own > 1e-12)
        score = -dot / (near * own).clamp_min(1e-24).sqrt()
        score = torch.where(known, score, torch.full_like(score, float("nan")))
        self._rho, self.share_ = tail_probability(score)
        self.node_scores_ = score.nan_to_num(nan=-1.0)
        self.node_probability_ = self._rho
