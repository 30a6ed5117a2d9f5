"""``auto``: swapped rows and wrong cells together, where the context carries information."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan

import torch
from torch import Tensor

from magnet.detection.base import Detector
from magnet.detection.cells.bursts import BurstModel
from magnet.detection.cells.cell import CellModel
from magnet.detection.cells.stuck import StuckModel
from magnet.detection.data.dataset import DetectionData
from magnet.detection.options import ROWS
from magnet.detection.rows.gate import Gate, expected_recall
from magnet.detection.rows.judgment import context_weights, judge_rows
from magnet.detection.thresholds import finite_log_odds
from magnet.detection.verdict import JudgedCells, Verdict, either
from magnet.freed_memory import return_freed_memory

MAX_CELL_EVIDENCE = 30.0  # log odds of wrong cells in a row that break ties: beyond, all are certain


@dataclass(kw_only=True, eq=False, repr=False)
class Auto(Detector):
    r"""First the gate: does the context carry information about the rows? Where it does,
    :class:`~magnet.detection.rows.context.Context` looks for swapped rows, and
    :class:`~magnet.detection.cells.cell.Cell`, with suspicious rows counting less in the contexts, for single cells:

    .. math::
        \Pr(\text{wrong}) = 1 - (1 - P_{ij}) (1 - \rho_i c_{ij})

    Rows of a bag that are far too long, as an attack leaves them, are judged by
    :class:`~magnet.detection.cells.bursts.BurstModel`, and numbers at which a sensor was stuck by
    :class:`~magnet.detection.cells.stuck.StuckModel`; their probabilities join those of the cells in the same way.
    A row with wrong cells whose other cells follow its neighbors is not swapped: its :math:`\rho` is lowered. Where the
    gate is closed no row is flagged, and ``gate_.reason`` gives the reason; if the context is nearly uninformative,
    cells are judged by their columns alone. Nor are rows judged by nearest neighbors that were chosen by the rows
    themselves (``data.edges_from_rows``).
    """

    def _detect(self, data: DetectionData) -> Verdict:
        rows = judge_rows(self._without_outliers(data), seed=self.seed, progress=self.progress)
        return_freed_memory()  # of the pairs of rows and nodes
        found_rows = _found(rows.p_row_swapped)
        rows = rows.gated()
        if data.edges_from_rows:  # every row is like neighbors that were chosen to be like it
            nothing, found_rows = torch.zeros_like(rows.ranking), 0.0
            rows = replace(rows, p_row_swapped=nothing, ranking=nothing)
        weights = context_weights(rows.p_row_swapped, rows.duplicates)
        cells = CellModel(data, weights, context=rows.gate.cells, progress=self.progress)
        return_freed_memory()
        bursts = BurstModel(data)
        stuck = StuckModel(cells.numeric, rows.duplicates, rows.gate.cells)
        p_stuck, own = stuck.row_probability, cells.p_own_row()
        weight = RankingWeights.of(found_rows, _found(cells.node_probability), bursts.share, rows.gate)
        p_row_swapped = rows.p_row_swapped * (1 - own)
        ranking = weight.rows * rows.ranking * (1 - weight.cells_beside_rows * own)
        p_wrong_cell = either(either(cells.node_probability, bursts.row_probability), p_stuck)
        node_probability = either(p_row_swapped, p_wrong_cell)
        # Rows are ranked by the posterior as if the gate were open, ties by the evidence itself.
        suspicion = either(ranking, weight.cells * cells.node_probability)
        suspicion = either(either(suspicion, weight.bursts * bursts.row_probability), p_stuck)
        evidence = cells.node_scores.clamp(-MAX_CELL_EVIDENCE, MAX_CELL_EVIDENCE) - rows.logit
        scores = finite_log_odds(suspicion) + ROWS.tie_break * evidence

        return Verdict(
            data=data,
            node_scores=torch.where(rows.has_evidence, scores, torch.maximum(scores, rows.neutral(scores))),
            node_probability=node_probability,
            share=float(node_probability.mean()),
            cells=_CellExperts(cells, bursts, stuck, weight),
            p_wrong_cell=p_wrong_cell,
            models=(cells, bursts, stuck),
            p_row_swapped=p_row_swapped,
            row_ranking=ranking,
            context_weights=context_weights(p_row_swapped, rows.duplicates),
            gate=rows.gate,
        )

    def _without_outliers(self, data: DetectionData) -> DetectionData:
        """In a table of few columns one outlier makes its whole row look swapped: there rows are judged without such
        cells."""
        if not data.is_narrow:
            return data
        assert data.x is not None
        cells, x = CellModel(data, rounds=1), data.empty(*data.x.shape)
        for first, last in data.ranges():
            wrong = cells.probability(first, last) > 0.5
            x[:, first:last] = data.block(first, last).masked_fill(wrong, float("nan"))
        return replace(data, x=x)


@dataclass(frozen=True, eq=False)
class _CellExperts:
    """What the cell model, the bursts and the stuck numbers say of the cells. (A class, so that detectors can be
    pickled.)"""

    cells: CellModel
    bursts: BurstModel
    stuck: StuckModel
    weight: RankingWeights

    def __call__(self, first: int, last: int) -> JudgedCells:
        p_cell, p_burst = self.cells.probability(first, last), self.bursts.probability(first, last)
        p_stuck = self.stuck.probability(first, last)
        return JudgedCells(
            either(p_cell, either(p_burst, p_stuck)),
            lambda: either(either(self.weight.cells * p_cell, self.weight.bursts * p_burst), p_stuck),
        )


def _found(probability: Tensor) -> float:
    """The share of rows that are wrong rather than not."""
    return float((probability > 0.5).float().mean())


@dataclass(frozen=True)
class RankingWeights:
    """What the evidence of each expert counts where rows and cells are ranked: one that found less than another ranks
    behind it, one that found nothing as far as it could have found something. (On ``benchmarks/detection.py``: flips
    on Wisconsin, where the context says little about the rows, had a node AUROC of .60 instead of .88, swapped rows on
    WordNet an AUPRC of .71 instead of .77.)

    Args:
        rows, cells, bursts: weights of their probabilities.
        cells_beside_rows: part of the weight of the cells: what they count beside swapped rows.
    """

    rows: float
    cells: float
    bursts: float
    cells_beside_rows: float

    @classmethod
    def of(cls, found_rows: float, found_cells: float, found_bursts: float, gate: Gate) -> RankingWeights:
        """From the shares of the rows in which each found something."""
        # of more right than wrong rows nothing follows
        truly_swapped = 0.0 if isnan(gate.false_share) else found_rows * max(0.0, 1 - 2 * gate.false_share)
        found_some = found_rows > 0 if gate.open else truly_swapped > ROWS.false_cell_alarms
        could_find = 1.0 if found_some else expected_recall(gate.adjusted, ROWS.min_share)
        by_cells = _weight(found_rows, found_cells, ROWS.false_cell_alarms) if gate.cells else 1.0
        by_bursts = _weight(found_rows, found_bursts)
        beside_rows = _weight(found_cells, truly_swapped, ROWS.false_cell_alarms)
        return cls(
            rows=max(ROWS.silent_expert_weight, min(by_cells, by_bursts, could_find)),
            cells=ROWS.cell_confidence * min(_weight(found_cells, found_bursts), beside_rows),
            bursts=1.0 if found_bursts > 0 else ROWS.silent_expert_weight,
            cells_beside_rows=beside_rows,
        )


def _weight(found: float, by_another: float, by_chance: float = 0.0) -> float:
    """What the scores of an expert count that found this share of the rows, beside one that found another share, partly
    by chance: where it found much less, these may be rows that the other one explains."""
    if found >= by_another:
        return 1.0
    return max(ROWS.silent_expert_weight, (found + by_chance) / (by_another + by_chance))
