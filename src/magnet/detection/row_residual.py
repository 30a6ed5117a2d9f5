"""``row-residual``: an outlier score of what the neighbours leave unexplained."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from magnet.detection.base import Detector
from magnet.detection.rows import low_rank_rows, unit_rows
from magnet.detection.tail import tail_probability
from magnet.detection.view import View


@dataclass(kw_only=True, eq=False, repr=False)
class RowResidual(Detector):
    r"""Row minus the mean of the neighbours, scored as ECOD does (Li et al., 2022): the sum over dimensions of
    :math:`-\log` of the smaller empirical tail probability.

    Works on the singular vectors of wide tables (128 of them) and on all columns of others.
    """

    def _detect(self, view: View) -> None:
        rows = low_rank_rows(view, seed=self.seed) or unit_rows(view)
        total = torch.zeros(view.nodes, device=view.device)
        degree = torch.from_numpy(view.graph.degree_weights).float().to(view.device)[:, None]
        for _, block in rows.blocks():
            residual = block - (view.adjacency @ block.contiguous()) / degree
            columns = residual.T.contiguous()
            ordered = columns.sort(dim=1).values
            below = torch.searchsorted(ordered, columns, right=True).T
            above = view.nodes - torch.searchsorted(ordered, columns).T
            total -= (torch.minimum(below, above) / view.nodes).log().sum(dim=1)
        isolated = torch.from_numpy(view.graph.isolated).to(view.device)
        score = torch.where(isolated, torch.full_like(total, float("nan")), total)
        self._rho, self.share_ = tail_probability(score)
        self.node_scores_ = torch.where(isolated, total.min(), total)
        self.node_probability_ = self._rho
