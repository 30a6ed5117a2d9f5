"""``rowsum``: how much is in the row?"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from magnet.detection.base import Detector
from magnet.detection.data.dataset import DetectionData
from magnet.detection.thresholds import tail_probability
from magnet.detection.verdict import Verdict


@dataclass(kw_only=True, eq=False, repr=False)
class RowSum(Detector):
    """The sum of the row: the shortcut that finds injected rows where the farthest ones were chosen."""

    def _detect(self, data: DetectionData) -> Verdict:
        total = torch.zeros(data.num_nodes, device=data.device)
        for first, last in data.ranges():
            total += data.block(first, last).nan_to_num().sum(dim=1)
        probability, share = tail_probability(total)
        return Verdict(data, total, probability, share, p_row_swapped=probability)
