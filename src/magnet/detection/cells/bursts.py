"""Bursts: rows of a bag that are far too long, and the words that do not belong there.

An attack on the attributes changes the cells that hurt a classifier most, and these are many cells of a few rows: half
of the cells that the meta attack adds on Cora are in five rows. No neighbor is needed to see that.
"""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from magnet.detection.cells.context_model import ContextModel
from magnet.detection.cells.cooccurrence import Cooccurrence
from magnet.detection.data.dataset import DetectionData
from magnet.detection.options import CELLS, DATA, MIN_PROBABILITY, MIN_SQUARE, ROUNDING, TINY
from magnet.detection.thresholds import empirical_bayes_share, log_odds, upper_log_ratio
from magnet.scales import NORMAL_MAD

Maxima = tuple[Tensor, Tensor, Tensor]


class BurstModel:
    r"""Probabilities that cells were added to their row.

    The mass :math:`m_i` of a row is its number of words, or its norm where words have weights. A row of mass
    :math:`m_i` has an excess :math:`\epsilon_i = \max(0, 1 - \mathrm{median}(m) / m_i)`: this share of it is not
    explained by the median. Which part? For 0/1 words, those that seldom go with the others: with the lift
    :math:`\lambda_{ij}` of :class:`~magnet.detection.cells.cooccurrence.Cooccurrence`,

    .. math::
        q_{ij} = \frac{\epsilon_i}{\epsilon_i + (1 - \epsilon_i) \lambda_{ij}} ;

    for weights, those near the end of their column, :math:`q_{ij} = |x_{ij}| / \max_k |x_{kj}|`. Long rows are not
    errors in themselves. A row is a burst with the probability :math:`P_i` that its mass comes from a Cauchy
    distribution and not from the normal bulk, on the plain or on the log scale, the less significant; their share is an
    empirical-Bayes estimate, so that data without bursts have none. Many long rows count as genuine variation.
    :math:`P(\text{cell } ij \text{ is wrong}) = P_i q_{ij}`. Weights that were moved to the end of their column are
    known by each other: see :func:`repeated_maxima`.

    Args:
        data: the data; other than bags have no bursts.

    ``row_probability`` ``[n]``: :math:`P`; ``share``: of rows that are bursts rather than not.
    """

    def __init__(self, data: DetectionData) -> None:
        self.data = data
        self.row_probability = torch.zeros(data.num_nodes, device=data.device)
        self.share = 0.0
        self._found = data.is_bag
        self._maxima: Maxima | None = None
        if not self._found:
            return
        self._words = all(kind == "binary" for kind in data.kinds)
        counts, sums, squares = self._sizes()
        self._mass = mass = counts if self._words else squares.sqrt()
        filled = mass[mass > 0]
        if filled.numel() < CELLS.min_burst_rows or (not self._words and (_is_constant(sums) or _is_constant(squares))):
            self._found = False  # in normalized rows the mass measures how short a row is
            return
        middle = filled.median()
        self.excess = (1 - middle / mass.clamp_min(TINY)).clamp_min(0)
        if not self._words:
            self._maxima = repeated_maxima(data, self.excess)
        least = CELLS.min_burst_spread
        ratio = torch.minimum(
            _tail_log_ratio(mass, filled, least * float(middle)),
            _tail_log_ratio(mass.clamp_min(TINY).log(), filled.log(), least),
        )
        bounds = MIN_PROBABILITY, 0.5
        share = empirical_bayes_share(lambda s: float(torch.sigmoid(ratio + log_odds(s)).mean()), bounds)
        if share > DATA.max_exceptions:
            self._found = False
            return
        self.row_probability = self._p_long = torch.sigmoid(ratio + log_odds(share))
        moved = torch.zeros_like(mass)
        if self._maxima is not None:
            row, _, p = self._maxima
            moved.scatter_reduce_(0, row, p, "amax")
            self.row_probability = 1 - (1 - self.row_probability) * (1 - moved)
        self.share = float((torch.maximum(self._p_long, moved) > 0.5).float().mean())

    @cached_property
    def _rest_of_row(self) -> Cooccurrence:
        """Rows must not confirm words that were added to them, nor long rows each other."""
        mass = self._mass
        weights = (mass[mass > 0].median() / mass.clamp_min(TINY)).clamp_max(1).square()
        context = ContextModel(self.data, torch.ones_like(mass))
        return Cooccurrence(context.event_matrix(), weights, self.data.on_disk)

    def free_memory(self) -> None:
        """Free the co-occurrence of words; it is computed again when it is asked for."""
        self.__dict__.pop("_rest_of_row", None)

    def _sizes(self) -> Tensor:
        """Of each row the number of words, their sum and the sum of their squares ``[3, n]``."""
        out = torch.zeros(3, self.data.num_nodes, device=self.data.device)
        for first, last in self.data.ranges():
            block = self.data.block(first, last).nan_to_num()
            out += torch.stack([(block != 0).sum(dim=1), block.sum(dim=1), block.square().sum(dim=1)])
        return out

    def probability(self, first: int, last: int) -> Tensor:
        """Probability ``[n, last - first]`` that each cell was added to its row."""
        if not self._found:
            return torch.zeros(self.data.num_nodes, last - first, device=self.data.device)
        block = self.data.block(first, last).nan_to_num()
        excess = self.excess[:, None]
        if self._words:
            rows = (self._p_long > MIN_PROBABILITY).nonzero().flatten()  # few: in the others no cell is
            lift = self._rest_of_row.probability_in(rows.cpu().numpy(), first, last)
            lift, excess = lift / self._rest_of_row.rate(first, last), excess[rows]
            share = torch.zeros_like(block)
            share[rows] = excess / (excess + (1 - excess) * lift).clamp_min(MIN_SQUARE)
        else:
            share = block.abs() / block.abs().amax(dim=0).clamp_min(TINY)
        share = share * (block != 0)
        probability = self._p_long[:, None] * share
        if self._maxima is not None:
            row, column, p = self._maxima
            here = (column >= first) & (column < last)
            at = row[here], column[here] - first
            probability[at] = torch.maximum(probability[at], p[here])
        exempt = self.data.exempt(first, last)
        return probability if exempt is None else probability.masked_fill(exempt, 0.0)


def repeated_maxima(data: DetectionData, excess: Tensor) -> Maxima | None:
    r"""Rows, columns and probabilities of the cells that were moved to the maximum of a continuous column.

    The maximum of continuous values occurs once; a value that was moved to the end of the range occurs there a second
    time. Chance, or rounding, repeats the second largest value as often as the largest, so that of the :math:`K_1`
    cells that repeat a maximum :math:`K_1 - K_2` are not chance, if :math:`K_2` cells repeat a second largest value
    (less one standard error). One cell of each group is the true maximum, most likely that of the row with the smallest
    excess :math:`\epsilon`: it is cell i with a probability proportional to :math:`(1 - \epsilon_i) / \epsilon_i`. A
    maximum of many rows is the end of a scale, such as that of saturated pictures and of ratings.

    Args:
        data: a bag.
        excess: the share of each row ``[n]`` that its mass does not explain.

    Returns:
        None without such a cell.
    """
    rows, columns, repeated, by_chance = [], [], 0, 0
    for first, last in data.ranges():
        block = data.block(first, last).nan_to_num()
        continuous = torch.tensor([kind == "continuous" for kind in data.kinds[first:last]], device=data.device)
        largest = block.amax(dim=0)
        at_top = (block == largest) & (largest > 0) & continuous
        at_top &= at_top.sum(dim=0) <= DATA.max_exceptions * data.num_nodes  # more are at the end of the scale
        below = block.masked_fill(at_top, 0.0)
        second = below.amax(dim=0)
        repeated += int((at_top.sum(dim=0) - 1).clamp_min(0).sum())
        by_chance += int((((below == second) & (second > 0) & continuous).sum(dim=0) - 1).clamp_min(0).sum())
        at_top &= at_top.sum(dim=0) > 1
        row, column = at_top.nonzero(as_tuple=True)
        rows.append(row)
        columns.append(column + first)
    moved = repeated - by_chance - (repeated + by_chance) ** 0.5
    if moved <= 0:
        return None
    row, column = torch.cat(rows), torch.cat(columns)
    e = excess[row].clamp(CELLS.min_burst_spread, 1 - CELLS.min_burst_spread)
    odds = (1 - e) / e
    total = torch.zeros(data.num_features, device=data.device).index_add_(0, column, odds)
    return row, column, moved / repeated * (1 - odds / total[column])


def _is_constant(sizes: Tensor) -> bool:
    """Whether most rows have the same size."""
    return float(torch.isclose(sizes, sizes.median(), rtol=ROUNDING).float().mean()) > 0.5


def _tail_log_ratio(values: Tensor, known: Tensor, least: float) -> Tensor:
    """Log ratio of a wide to a normal density ``[n]``, with the center and the spread of the known values.

    The spread is the larger of those of both sides, so that a skewed bulk has no tail, and at least so large."""
    middle = known.median()
    sides = (middle - known)[known <= middle].median(), (known - middle)[known >= middle].median()
    return upper_log_ratio((values - middle) / (NORMAL_MAD * torch.maximum(*sides)).clamp_min(least))
