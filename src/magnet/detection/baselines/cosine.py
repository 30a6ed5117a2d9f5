"""``cosine`` and ``cosine-centered``: does the row point in the direction of its neighbors?"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from magnet.detection.base import Detector
from magnet.detection.data.dataset import DetectionData
from magnet.detection.data.row_vectors import unit_rows
from magnet.detection.options import MIN_SQUARE
from magnet.detection.thresholds import tail_probability
from magnet.detection.verdict import Verdict


@dataclass(kw_only=True, eq=False, repr=False)
class Cosine(Detector):
    r"""Minus the cosine between a row and the mean of its neighbors' rows (each of norm 1).

    Args:
        centered: subtract the mean of all rows from both first. (default: ``False``)
    """

    centered: bool = False

    def _detect(self, data: DetectionData) -> Verdict:
        rows = unit_rows(data)
        dot, near, own = (torch.zeros(data.num_nodes, device=data.device) for _ in range(3))
        mean = rows.mean(torch.ones(data.num_nodes, device=data.device))
        degree = torch.from_numpy(data.graph.degree).float().to(data.device)[:, None]
        for first, block in rows.blocks():
            total = data.adjacency @ block.contiguous()
            if self.centered:
                center = mean[first : first + block.shape[1]]
                block, total = block - center, total - degree * center
            dot += (total * block).sum(dim=1)
            near += total.square().sum(dim=1)
            own += block.square().sum(dim=1)
        known = (near > MIN_SQUARE) & (own > MIN_SQUARE)
        score = -dot / (near * own).clamp_min(MIN_SQUARE**2).sqrt()
        score = torch.where(known, score, torch.full_like(score, float("nan")))
        probability, share = tail_probability(score)
        return Verdict(data, score.nan_to_num(nan=-1.0), probability, share, p_row_swapped=probability)
