"""The verdict of a detector, which everything downstream reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import scipy.sparse as sp
import torch
from torch import Tensor

from magnet.arrays import csr_tensor
from magnet.detection.cells.context_model import ContextModel
from magnet.detection.data.dataset import DetectionData, stage_resources
from magnet.detection.data.sparse_rows import columns_of, stacked
from magnet.detection.options import DATA, ROWS
from magnet.detection.rows.gate import Gate
from magnet.detection.thresholds import FlagRule, flag_threshold, top_share_score

if TYPE_CHECKING:
    from magnet.detection.cells.bursts import BurstModel
    from magnet.detection.cells.cell import CellModel
    from magnet.detection.cells.stuck import StuckModel


def either(a: Tensor, b: Tensor) -> Tensor:
    """Probability that one of two independent things is true, exact where both are small."""
    return a + b - a * b


class JudgedCells(NamedTuple):
    """Probabilities ``[n, c]`` that cells alone are wrong, and what ranks them. (default: the same)"""

    probability: Tensor
    rank: Callable[[], Tensor] | None = None

    @property
    def scores(self) -> Tensor:
        return self.probability if self.rank is None else self.rank()


CellJudge = Callable[[int, int], JudgedCells]


class CellBlock(NamedTuple):
    """A range of features ``[n, c]``: scores, probability of being wrong, cells that are not evidence about their node,
    and cells judged wrong."""

    scores: Tensor
    probability: Tensor
    distrusted: Tensor
    flagged: Tensor


@dataclass(frozen=True, eq=False)
class Verdict:
    r"""What a detector found.

    A cell can be wrong in two ways: its whole row is swapped, that is, belongs to another node (probability
    :math:`\rho_i`), or the cell alone is wrong (probability :math:`P_{ij}`). A detector estimates one of them or both:

    .. math::
        \Pr(\text{cell } ij \text{ is wrong}) = 1 - (1 - P_{ij}) (1 - \rho_i c_{ij})

    where :math:`c_{ij}` is the probability that another row differs in this cell. Trust asks something else: is the
    value evidence about its node? In a swapped row, distrust every cell, also where the two rows happen to agree.

    Matrices over all cells are computed when they are asked for, a range of features at a time.

    Args:
        data: the data that were judged.
        node_scores: ``[n]``, higher = more suspicious.
        node_probability: ``[n]``, probability that the row is swapped or has a wrong cell.
        share: estimated share of wrong rows.
        cells: judges the cells of a range of features; None for detectors of rows.
        p_wrong_cell: probability ``[n]`` that a row has a cell that alone is wrong, which that of no cell exceeds.
            (default: not known)
        distrust: gives what decides over trust, for a range of features. (default: the probabilities of ``cells``)
        p_row_swapped: :math:`\rho` ``[n]``; None for detectors of cells.
        row_ranking: what ranks rows in ``scores``. (default: ``p_row_swapped``)
        context_weights: weights ``[n]`` of the rows in the context model that gives :math:`c`. (default: :math:`c = 1`)
        gate: whether the neighborhood carries information about the rows; None for detectors without a gate.
        rule: how thresholds are chosen.
        reference: an object with ``threshold_`` and ``row_threshold_`` that are used instead.
        device: where results go. (default: the device of the data)
        models: what ``cells`` asks, and what keeps results between its calls.
    """

    data: DetectionData
    node_scores: Tensor
    node_probability: Tensor
    share: float
    cells: CellJudge | None = None
    p_wrong_cell: Tensor | None = None
    distrust: Callable[[int, int], Tensor] | None = None
    p_row_swapped: Tensor | None = None
    row_ranking: Tensor | None = None
    context_weights: Tensor | None = None
    gate: Gate | None = None
    rule: FlagRule = field(default_factory=FlagRule)
    reference: Any = None
    device: torch.device | None = None
    models: tuple[CellModel | BurstModel | StuckModel, ...] = ()

    def free_memory(self) -> None:
        """Free what was kept between results, several times the size of the features; it is computed again when other
        results are asked for."""
        for model in self.models:
            model.free_memory()
        if "context" in vars(self):
            self.context.free_memory()

    @cached_property
    def context(self) -> ContextModel:
        """What the context expects in each cell, with suspicious rows counting less."""
        weights = self.context_weights
        if weights is None:
            weights = (1 - self.swapped_probability).to(self.data.device).clamp_min(ROWS.min_row_weight)
        return ContextModel(self.data, weights)

    @cached_property
    def row_threshold(self) -> float:
        """The probability above which a row is flagged, for detectors of rows."""
        if self.reference is not None:
            return float(self.reference.row_threshold_)
        rule = self.rule
        return 0.5 if self.p_row_swapped is None else flag_threshold(self.p_row_swapped, rule.threshold, rule.fdr)

    @cached_property
    def threshold(self) -> float:
        """The probability above which a cell is flagged."""
        if self.reference is not None:
            return float(self.reference.threshold_)
        if self.rule.fdr is None:
            return 0.5 if self.rule.threshold == "posterior" else float(self.rule.threshold)
        if self.cells is None:
            return self.row_threshold
        return flag_threshold(
            torch.cat([self.cells(*r).probability.flatten() for r in self.data.narrow_ranges()]), fdr=self.rule.fdr
        )

    @cached_property
    def _top_nodes(self) -> Tensor | None:
        """Bool ``[n]``: the requested share of the rows, by score; None if no share was requested."""
        if self.rule.contamination is None or self.p_row_swapped is None:
            return None
        return self.node_scores > top_share_score(self.node_scores, self.rule.contamination)

    @cached_property
    def _score_threshold(self) -> float | None:
        """The score above which a cell is flagged, where a share of the cells was asked for."""
        if self.rule.contamination is None or self.p_row_swapped is not None or self.cells is None:
            return None
        scores = torch.cat([self.cells(*r).scores.flatten() for r in self.data.narrow_ranges()])
        return top_share_score(scores, self.rule.contamination)

    def block(self, first: int, last: int) -> CellBlock:
        """The verdict on a range of features, on the device of the data."""
        data = self.data
        shape = (data.num_nodes, last - first)
        judged = None if self.cells is None else self.cells(first, last)
        distrusted = self._distrusted(first, last, judged)
        probability = torch.zeros(shape, device=data.device) if judged is None else judged.probability
        scores = probability if judged is None else judged.scores
        if self.p_row_swapped is not None:
            differs = torch.ones(1, 1, device=data.device)
            if self.context_weights is not None:
                differs = self.context.p_differs(first, last)
            ranking = (self.p_row_swapped if self.row_ranking is None else self.row_ranking)[:, None] * differs
            scores = ranking.expand(shape) if self.cells is None else either(scores, ranking)
            probability = 1 - (1 - probability) * (1 - self.p_row_swapped[:, None] * differs)
        exempt = data.exempt(first, last)
        if exempt is not None:
            scores = torch.where(exempt, scores.min(), scores)
            probability = torch.where(exempt, torch.zeros((), device=data.device), probability)
        flagged = distrusted
        if self.rule.contamination is None:
            flagged = distrusted & (probability > min(0.5, self.threshold))
        return CellBlock(scores, probability, distrusted, flagged)

    def _distrusted(self, first: int, last: int, judged: JudgedCells | None) -> Tensor:
        """Bool ``[n, last - first]``: cells that are not evidence about their node, by what ``cells`` gave (None for
        detectors of rows)."""
        data = self.data
        if judged is None:
            distrusted = torch.zeros((data.num_nodes, last - first), dtype=torch.bool, device=data.device)
        else:
            limit = self._score_threshold
            doubt = judged.probability if self.distrust is None else self.distrust(first, last)
            distrusted = doubt > self.threshold if limit is None else judged.scores > limit
            if self._top_nodes is not None:
                distrusted = distrusted & self._top_nodes.to(data.device)[:, None]
        if self.p_row_swapped is not None:
            distrusted = distrusted | self.swapped_rows.to(data.device)[:, None]
        exempt = data.exempt(first, last)
        return distrusted if exempt is None else distrusted & ~exempt

    def _matrix(self, name: str, dtype: torch.dtype = torch.float32) -> Tensor:
        """One part of all blocks ``[n, d]``. For sparse features scores and probabilities are sparse as well: they hold
        the cells that are stored and those of probability 1 % or more."""
        data = self.data
        # the scores of cells that are trusted or missing are the least of their range
        whole = data.trusted is not None or data.missing is not None
        with stage_resources(data):
            if data.matrix is None or dtype == torch.bool:
                out = self._empty(dtype)
                for first, last, block in data.over_ranges(self.block, narrow=not whole):
                    out[:, first:last] = getattr(block, name).to(out.device)
                return out
            columns = stacked(self._listed_cells(name, narrow=not whole), data.num_nodes, data.on_disk)
            rows = columns_of(columns, data.on_disk).T
            return csr_tensor(rows, torch.float32, self.device, as_stored=data.on_disk)

    def _listed_cells(self, name: str, narrow: bool) -> Iterator[sp.csr_matrix]:
        """One part of all blocks in the cells that sparse results list, ``[last - first, n]`` for each range."""
        data = self.data
        for first, last, block in data.over_ranges(self.block, narrow):
            keep = (block.probability >= DATA.min_listed_probability) | (data.block(first, last) != 0)
            row, column = keep.nonzero(as_tuple=True)
            entry = (getattr(block, name)[keep].cpu().numpy(), (column.cpu().numpy(), row.cpu().numpy()))
            yield sp.csr_matrix(entry, shape=(last - first, data.num_nodes))

    @cached_property
    def scores(self) -> Tensor:
        return self._matrix("scores")

    @cached_property
    def probability(self) -> Tensor:
        return self._matrix("probability")

    @cached_property
    def flagged(self) -> Tensor:
        return self._matrix("flagged", torch.bool)

    @cached_property
    def trust(self) -> Tensor:
        if self._is_row_only:
            return 1 - self.swapped_rows.float()[:, None].expand(-1, self.data.num_features)
        out = self._empty()
        with stage_resources(self.data):
            for first, last, distrusted in self.data.over_ranges(self._distrusted_alone):
                out[:, first:last] = (1 - distrusted.float()).to(out.device)
        return self._without_missing(out)

    @cached_property
    def soft_trust(self) -> Tensor:
        if self._is_row_only:
            return (1 - self.swapped_probability).square()[:, None].expand(-1, self.data.num_features)
        out = self._empty()
        with stage_resources(self.data):
            for first, last, right in self.data.over_ranges(self._right_alone):
                out[:, first:last] = right.square().to(out.device)
        return self._without_missing(out)

    def trust_and_soft_trust(self) -> tuple[Tensor, Tensor]:
        """Both for every cell, the first as bool, which takes a quarter of the memory; computed together and not
        kept."""
        if self._is_row_only:
            return (~self.swapped_rows)[:, None].expand(-1, self.data.num_features), self.soft_trust
        trust, soft = self._empty(torch.bool), self._empty()
        with stage_resources(self.data):
            for first, last, (distrusted, right) in self.data.over_ranges(self._distrusted_and_right):
                trust[:, first:last] = ~distrusted.to(trust.device)
                soft[:, first:last] = right.square().to(soft.device)
        return self._without_missing(trust), self._without_missing(soft)

    def _distrusted_and_right(self, first: int, last: int) -> tuple[Tensor, Tensor]:
        judged = None if self.cells is None else self.cells(first, last)
        return self._distrusted(first, last, judged), self._right(first, last, judged)

    def _distrusted_alone(self, first: int, last: int) -> Tensor:
        return self._distrusted(first, last, None if self.cells is None else self.cells(first, last))

    def _right_alone(self, first: int, last: int) -> Tensor:
        return self._right(first, last, None if self.cells is None else self.cells(first, last))

    def _right(self, first: int, last: int, judged: JudgedCells | None) -> Tensor:
        """Probability ``[n, last - first]`` that neither the cell nor its row is wrong."""
        data = self.data
        right = torch.ones(data.num_nodes, last - first, device=data.device)
        if judged is not None:
            right = 1 - (judged.probability if self.distrust is None else self.distrust(first, last))
        if self.p_row_swapped is not None:
            right = right * (1 - self.p_row_swapped[:, None])
        exempt = data.exempt(first, last)
        return right if exempt is None else right.masked_fill(exempt, 1.0)

    def _without_missing(self, trust: Tensor) -> Tensor:
        return trust if self.data.missing is None else trust.masked_fill_(self.data.missing.to(trust.device), 0)

    def _empty(self, dtype: torch.dtype = torch.float32) -> Tensor:
        """A matrix over all cells, on the device of the results."""
        shape = (self.data.num_nodes, self.data.num_features)
        return (
            self.data.empty(*shape, dtype=dtype)
            if self.data.on_disk
            else torch.empty(shape, dtype=dtype, device=self.device)
        )

    @property
    def _is_row_only(self) -> bool:
        return self.cells is None and self.data.missing is None and self.data.trusted is None

    @cached_property
    def swapped_probability(self) -> Tensor:
        """Probability ``[n]`` that the whole row is swapped; 0 for detectors of cells."""
        if self.p_row_swapped is None:
            return torch.zeros(self.data.num_nodes, device=self.device)
        return self.p_row_swapped.to(self.device)

    @cached_property
    def swapped_rows(self) -> Tensor:
        """Bool ``[n]``: rows judged to be swapped."""
        swapped = self.swapped_probability > self.row_threshold
        if self._top_nodes is None:
            return swapped
        if self.cells is None:
            return self._top_nodes
        wrong_cell = torch.zeros(self.data.num_nodes, dtype=torch.bool, device=self.data.device)
        for first, last in self.data.narrow_ranges():
            wrong_cell |= (self.cells(first, last).probability > self.threshold).any(dim=1)
        return self._top_nodes & (swapped | ~wrong_cell.to(swapped.device))

    @cached_property
    def flagged_nodes(self) -> Tensor:
        """Bool ``[n]``: rows judged to be swapped, and rows with a cell judged wrong."""
        if self.cells is None:  # every flagged cell is one of a flagged row
            return self.swapped_rows
        flagged = self.swapped_rows.to(self.data.device)
        if self.rule.contamination is None and self.distrust is None:
            # cells of other rows are flagged by their own probability: that of being in a swapped row adds nothing
            if self.p_wrong_cell is not None and not bool((self.p_wrong_cell[~flagged] > self.threshold).any()):
                return flagged.to(self.device)
            for _, _, distrusted in self.data.over_ranges(self._distrusted_alone):
                flagged = flagged | distrusted.any(dim=1)
            return flagged.to(self.device)
        for _, _, block in self.data.over_ranges(self.block):
            flagged = flagged | block.flagged.any(dim=1)
        return flagged.to(self.device)
