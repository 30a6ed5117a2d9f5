"""``fp-residual`` and ``row-residual``: what do the neighbors leave unexplained?"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from magnet.detection.base import Detector, track
from magnet.detection.data.dataset import DetectionData
from magnet.detection.data.row_vectors import low_rank_rows, unit_rows
from magnet.detection.options import MIN_PROBABILITY, TINY
from magnet.detection.thresholds import log_odds, tail_probability, upper_log_ratio
from magnet.detection.verdict import JudgedCells, Verdict
from magnet.recovery import propagate
from magnet.scales import NORMAL_MAD

SAMPLED_ROWS = 2_000  # at least, whose cells give the usual distance


@dataclass(kw_only=True, eq=False, repr=False)
class FPResidual(Detector):
    """Each tenth of the nodes is hidden in turn and filled in by Feature Propagation (Rossi et al., 2022) from the
    others; the score is the distance to the observed value, in spreads of the column. Cells are flagged only in rows
    whose distance as a whole stands out: in wide tables every row has some cell that does.

    Args:
        folds: number of parts. (default: ``10``)
        max_iter: rounds of propagation. (default: ``40``)
    """

    folds: int = 10
    max_iter: int = 40

    def _detect(self, data: DetectionData) -> Verdict:
        generator = torch.Generator().manual_seed(self.seed)
        fold = torch.randperm(data.num_nodes, generator=generator) % min(self.folds, data.num_nodes)
        residual = _HeldOutResidual(data, fold.to(data.device), self.max_iter)
        total = torch.zeros(data.num_nodes, device=data.device)
        for first, last in track(list(data.ranges()), "hiding and filling in", self.progress):
            total += residual(first, last).square().sum(dim=1)
        node_scores = total.sqrt()
        node_probability, share = tail_probability(node_scores)
        sample = torch.cat([residual(*r).flatten()[:: max(1, data.num_nodes // SAMPLED_ROWS)] for r in data.ranges()])
        middle = sample.median()
        spread = (NORMAL_MAD * (sample - middle).abs().median()).clamp_min(MIN_PROBABILITY)
        prior = log_odds(max(tail_probability(sample)[1], MIN_PROBABILITY))
        cells = partial(_judge, residual, middle, spread, prior, node_probability)
        return Verdict(data, node_scores, node_probability, share, cells=cells)


def _judge(
    residual: _HeldOutResidual,
    middle: Tensor,
    spread: Tensor,
    prior: float,
    p_row: Tensor,
    first: int,
    last: int,
) -> JudgedCells:
    distance = residual(first, last)
    ratio = upper_log_ratio((distance - middle) / spread)
    return JudgedCells(p_row[:, None] * torch.sigmoid(ratio + prior), lambda: distance)


@dataclass(eq=False)
class _HeldOutResidual:
    """Distances ``[n, c]``, in spreads, between the values of a range of features and their imputed values when
    their fold ``[n]`` is hidden; kept for dense data."""

    data: DetectionData
    fold: Tensor
    max_iter: int
    kept: dict[tuple[int, int], Tensor] = field(default_factory=dict)

    def __call__(self, first: int, last: int) -> Tensor:
        for (start, stop), distances in self.kept.items():
            if start <= first and last <= stop:
                return distances[:, first - start : last - start]
        data, fold = self.data, self.fold
        block = data.block(first, last).clone()
        out = torch.zeros_like(block)
        for number in range(int(fold.max()) + 1):
            hidden = fold == number
            weights = (~hidden)[:, None].float().expand_as(block)
            if data.missing is not None:
                weights = weights * ~data.missing[:, first:last]
            filled = propagate(block, weights, data.graph, lam=0.0, solver="iterate", max_iter=self.max_iter).x
            out[hidden] = (filled - block)[hidden].nan_to_num()
        spread = data.scales.spread[first:last]
        out = torch.where(spread > 0, out.abs() / spread.clamp_min(TINY), torch.zeros_like(out))
        if data.matrix is None:
            self.kept[first, last] = out
        return out


@dataclass(kw_only=True, eq=False, repr=False)
class RowResidual(Detector):
    r"""Row minus the mean of the neighbors, scored as ECOD does (Li et al., 2022): the sum over dimensions of
    :math:`-\log` of the smaller empirical tail probability.

    Works on the singular vectors of wide tables (128 of them) and on all columns of others.
    """

    def _detect(self, data: DetectionData) -> Verdict:
        rows = low_rank_rows(data, seed=self.seed) or unit_rows(data)
        total = torch.zeros(data.num_nodes, device=data.device)
        degree = torch.from_numpy(data.graph.degree_weights).float().to(data.device)[:, None]
        for _, block in rows.blocks():
            residual = block - (data.adjacency @ block.contiguous()) / degree
            columns = residual.T.contiguous()
            ordered = columns.sort(dim=1).values
            below = torch.searchsorted(ordered, columns, right=True).T
            above = data.num_nodes - torch.searchsorted(ordered, columns).T
            total -= (torch.minimum(below, above) / data.num_nodes).log().sum(dim=1)
        isolated = torch.from_numpy(data.graph.isolated).to(data.device)
        probability, share = tail_probability(torch.where(isolated, torch.full_like(total, float("nan")), total))
        node_scores = torch.where(isolated, total.min(), total)
        return Verdict(data, node_scores, probability, share, p_row_swapped=probability)
