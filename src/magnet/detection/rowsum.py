"""``rowsum``: how much is in the row?"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from magnet.detection.base import Detector
from magnet.detection.tail import tail_probability
from magnet.detection.view import View


@dataclass(kw_only=True, eq=False, repr=False)
class RowSum(Detector):
    """The sum of the row: the shortcut that finds injected rows where the farthest ones were chosen."""

    def _detect(self, view: View) -> None:
        total = torch.zeros(view.nodes, device=view.device)
        for first, last in view.ranges():
            total += view.block(first, last).nan_to_num().sum(dim=1)
        self.node_scores_ = total
        self._rho, self.share_ = tail_probability(total)
        self.node_probability_ = self._rho
