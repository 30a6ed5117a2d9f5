"""``cell``: which cells of this row cannot be right?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial

import torch
from torch import Tensor

from magnet.detection.base import Detector, track
from magnet.detection.cells.context_model import ContextModel
from magnet.detection.cells.linear_pool import log_ratio_of_words
from magnet.detection.cells.numeric import NumericModel
from magnet.detection.cells.rates import event_likelihood, fit_rates, rate_likelihood
from magnet.detection.data.dataset import DetectionData
from magnet.detection.data.scratch import cached_rows, over_cached_rows, row_ranges
from magnet.detection.options import CELLS, DATA, MIN_PROBABILITY, ROWS
from magnet.detection.verdict import JudgedCells, Verdict
from magnet.freed_memory import return_freed_memory


@dataclass(kw_only=True, eq=False, repr=False)
class Cell(Detector):
    """Compares, for each cell, "wrong" with "right" given the neighbors: see :class:`CellModel`.

    Args:
        rounds: maximum number of rounds that clean the context of flagged cells: until the share of rows with wrong
            cells no longer changes in bags of 0/1 words, once in other bags and sparse data, three times in tables of
            up to 32 columns, else twice. (default: ``4``)
        context: ``False`` looks at the columns only: numbers that are impossible for their column. (default: ``True``)
    """

    rounds: int = 4
    context: bool = True

    def _detect(self, data: DetectionData) -> Verdict:
        model = CellModel(data, rounds=self.rounds, context=self.context, progress=self.progress)
        p = model.node_probability
        return Verdict(data, model.node_scores, p, model.share, cells=model.judge, p_wrong_cell=p)


class CellModel:
    r"""Probabilities that single cells are wrong.

    A row is untouched (:math:`e = 0`), or its cells are wrong at one of 8 rates ``e`` (from 0.7 cells a row to 30 %).
    With

    .. math::
        \Lambda_{ij} = \frac{p(x_{ij} \mid \text{wrong})}{p(x_{ij} \mid \text{right, context})}, \qquad
        L_i(e) = \prod_j (1 - e + e \Lambda_{ij}), \qquad
        P_{ij} = \sum_e q_i(e) \frac{e \Lambda_{ij}}{1 - e + e \Lambda_{ij}}, \quad q_i(e) \propto g(e) L_i(e),

    the share :math:`1 - g(0)` of rows with wrong cells is an empirical-Bayes estimate. The ratio is, for the
    probability :math:`\pi` of :class:`~magnet.detection.cells.context_model.ContextModel`,

    * 0/1 columns: :math:`(1 - \pi) / \pi` for a 1, :math:`\pi / (1 - \pi)` for a 0: a wrong cell is the other one;
    * categories: :math:`(1 - \pi_c) b_c / \pi_c` for the category c that is there and its rate :math:`b_c`;
    * numbers: see :class:`~magnet.detection.cells.numeric.NumericModel`.

    A value other than 0 and 1 in a column that was recognized as 0/1 is impossible. The first round judges cells by
    their neighbors alone; in bags of 0/1 words the following ones also by the other words of the row, as far as these
    are found together in rows that the round before did not suspect.

    The rows of a bag differ in length, so there a row also has a factor ``r`` that multiplies all its :math:`\pi`, from
    a grid whose weights are found in the same way: long rows have more of the expected words, wrong ones words that are
    unexpected there.

    Args:
        data: the data.
        weights: of the rows in the contexts ``[n]``. (default: ones)
        rounds, context, progress: see :class:`Cell`.

    ``node_scores``, ``node_probability`` ``[n]``: log odds and probability that a row has wrong cells; ``share``: the
    estimated share of such rows; ``numeric``: the model of the numeric columns.
    """

    def __init__(
        self,
        data: DetectionData,
        weights: Tensor | None = None,
        rounds: int = 4,
        context: bool = True,
        progress: bool = False,
    ) -> None:
        self.data, self.uses_context = data, context
        self._row_weights = torch.ones(data.num_nodes, device=data.device) if weights is None else weights
        self._max_rounds, self._progress = rounds, progress
        self._fit()

    def _fit(self) -> None:
        data, rounds, w = self.data, self._max_rounds, self._row_weights.to(self.data.device)
        #: Log ratios, which become probabilities when these are first asked for ``[n, d]``; None if not kept.
        self._kept: Tensor | None = None
        self._kept_is_probability = False
        p_cell_wrong: Tensor | None = None
        support: Tensor | None = None
        before = float("nan")
        doubted: Tensor | None = None
        expected: Tensor | None = None
        if not self.has_lengths:
            rounds = 1 if data.is_bag or data.matrix is not None else min(rounds, 3 if data.is_narrow else 2)
        for turn in track(range(rounds), "comparing cells with their context", self._progress):
            self._context: ContextModel = ContextModel(
                data, w, p_cell_wrong, local=self.uses_context, support=support, expected=expected
            )
            expected = None  # which the context gives back as soon as it has its regression
            self.numeric: NumericModel = NumericModel(self._context, None if turn == 0 else self.numeric.is_heavy)
            self._weigh_rows()
            settled = turn > 0 and not data.is_narrow and abs(self.share - before) <= CELLS.settled_share
            if settled or turn + 1 == rounds:
                break
            before = self.share
            if self.has_lengths:
                support = w * (1 - self.node_probability)
            if data.matrix is None:
                regression = self._context.regression if data.is_narrow else None
                if regression is None:
                    p_cell_wrong = self._all_probabilities()
                    continue
                expected = regression[0].clamp(-DATA.max_standardized, DATA.max_standardized)
                regression = p_cell_wrong = None
                if self._kept is not None:  # the rest of this round is not read again
                    self._context.forget()
                    self.numeric.forget()
                suspicion = self._suspicion()
                p_cell_wrong = self._all_probabilities()
                doubted = self._with_next_cell(doubted, p_cell_wrong, suspicion)
                del suspicion
                p_cell_wrong.mul_(doubted)

    def _all_probabilities(self) -> Tensor:
        """``P`` ``[n, d]``; where log ratios are kept, in their place."""
        data = self.data
        if self._kept is not None:
            self._settle()
            assert self._kept is not None
            return self._kept
        out = data.empty(data.num_nodes, data.num_features)
        for first, last, block in data.over_ranges(self._probability):
            out[:, first:last] = block
        return out

    def _settle(self) -> None:
        """Turn the kept log ratios into probabilities."""
        if self._kept_is_probability:
            return
        kept, self._kept = self._kept, None  # which is also what an interrupted loop leaves
        assert kept is not None
        # in place, the odds of the events of these ranges are all that is left of the context
        for first, last in list(self._odds_by_column if self._in_place else self.data.narrow_ranges()):
            kept[:, first:last] = self._probability(first, last, kept[:, first:last])
        self._kept, self._kept_is_probability = kept, True
        self._odds_by_column.clear()
        if self._in_place:
            self._context.free_memory()
        return_freed_memory()

    def _suspicion(self) -> Tensor:
        """Which cell of a row ``[n, d]`` the others are no longer predicted from, if it is wrong: that with the largest
        ratio, weighted by its distance from its column. One joins per row and round, so that a wrong cell does not
        implicate the cells that are predicted from it."""
        data = self.data
        out = data.empty(data.num_nodes, data.num_features)
        for first, last in data.ranges():
            z = data.scales.standardize(data.block(first, last), first).nan_to_num()
            out[:, first:last] = self._log_ratio(first, last) + z.square().log1p()
        return out

    def _with_next_cell(self, doubted: Tensor | None, p_cell_wrong: Tensor, suspicion: Tensor) -> Tensor:
        """Bool ``[n, d]``: the cells doubted so far, and the most suspicious of the others of each row, if it is
        probably wrong."""
        out = self.data.empty(*p_cell_wrong.shape, dtype=torch.bool)
        for rows in row_ranges(*out.shape):
            candidates = p_cell_wrong[rows] > 0.5
            if doubted is not None:
                candidates &= ~doubted[rows]
            left = suspicion[rows].masked_fill_(~candidates, -torch.inf)
            joins = candidates & (left == left.amax(dim=1, keepdim=True))
            out[rows] = joins if doubted is None else joins | doubted[rows]
        return out

    def judge(self, first: int, last: int) -> JudgedCells:
        """The cells of a range of features."""
        return JudgedCells(self.probability(first, last))

    def _weigh_rows(self) -> None:
        """``q_i(e, r)`` ``[n, 1 + rates, lengths]``, and what follows from it for the rows."""
        data, device = self.data, self.data.device
        lowest = min(CELLS.min_wrong_cells / len(data.columns), CELLS.max_rate / 2)
        rates = torch.logspace(math.log10(lowest), math.log10(CELLS.max_rate), CELLS.num_rates, device=device)
        self._rates = [0.0, *rates.tolist()]
        # each length twice: with the expectation of the context, and with that of the whole column
        self._lengths = [(1.0, True)]
        if self.has_lengths:
            self._lengths = [(r, local) for local in (True, False) for r in CELLS.row_lengths]
        likelihood = torch.zeros(data.num_nodes, len(self._rates), len(self._lengths), device=device)
        self._odds_by_column: dict[tuple[int, int], Tensor] = {}
        kept = self._matrix_to_keep()
        self._kept, self._kept_is_probability = None, False
        for _, _, part in data.over_ranges(partial(self._likelihood, kept), narrow=False):
            likelihood += part
        self._kept = kept
        return_freed_memory()
        self._posterior, self.node_scores, self.share = fit_rates(likelihood)
        self.node_probability = torch.sigmoid(self.node_scores)

    def _matrix_to_keep(self) -> Tensor | None:
        """Where the log ratios of this round go: nowhere, in a new matrix, or over the probabilities of the round
        before."""
        if not self._keeps:
            return None
        if self._in_place and self._context.p_cell_wrong is not None:
            _ = self._context.mixture  # the last that reads the probabilities of other ranges
            return self._context.p_cell_wrong
        return self.data.empty(self.data.num_nodes, self.data.num_features)

    def _likelihood(self, kept: Tensor | None, first: int, last: int) -> Tensor:
        """What a range of features adds to the log likelihoods ``[n, 1 + rates, lengths]``. Its log ratios are written
        into ``kept`` ``[n, d]``, if there is one."""
        data, context = self.data, self._context
        n, width = data.num_nodes, last - first
        ratio = torch.empty(n, width, device=data.device) if kept is None else kept[:, first:last]
        expected = torch.empty(n, width, device=data.device) if self.has_lengths else None
        events, by_column, base = [], [], []
        for start, stop in data.narrow_ranges(first, last):
            at = slice(start - first, stop - first)
            if expected is None:
                ratio[:, at] = self._log_ratio(start, stop)
                continue
            row, column = (context.events(start, stop)[0] > 0).nonzero(as_tuple=True)
            events.append(row * width + column + at.start)
            by_column.append(self._by_column(start, stop, row, column))
            log_ratio, expected[:, at] = self._log_ratio(start, stop), context.probability(start, stop)
            base.append(context.event_rate(start, stop))
            ratio[:, at] = log_ratio
            if kept is not None and self._in_place:
                self._odds_by_column[start, stop] = by_column[-1]
        rates = torch.tensor(self._rates, device=data.device)
        out = torch.zeros(n, rates.numel(), len(self._lengths), device=data.device)
        if expected is None:
            for rows in row_ranges(n, width, CELLS.likelihood_cells):
                out[rows] += rate_likelihood(self._evidence(ratio[rows], rows, first, last).expm1_(), rates)[:, :, None]
            return out
        event, order = torch.cat(events).sort()
        row, column = event // width, event % width
        right = self._factors(torch.cat(by_column)[order])
        starts = torch.searchsorted(row, torch.arange(n + 1, device=data.device)).tolist()
        wrong = torch.empty_like(right)
        for rows in row_ranges(n, width, CELLS.likelihood_cells):
            some = slice(starts[rows.start], starts[rows.stop])
            plain = self._evidence(ratio[rows], rows, first, last)
            here = row[some] - rows.start, column[some]
            wrong[some] = _event_if_wrong(plain[here][:, None], right[some])
            plain[here] = 0.0
            out[rows] += rate_likelihood(plain.expm1_(), rates)[:, :, None]
        out += event_likelihood(n, row, right, wrong, rates)
        # An untouched cell without an event is likely by a factor exp(-(pi' - pi)).
        by_context, whole = expected.sum(dim=1), torch.cat(base).sum()
        for m, (r, local) in enumerate(self._lengths):
            out[:, :, m] -= (r * (by_context if local else whole) - by_context)[:, None]
        return out

    def _by_column(self, first: int, last: int, row: Tensor, column: Tensor) -> Tensor:
        """By how much events are more likely in their column than in their context, for the events of a range of
        features."""
        if (first, last) in self._odds_by_column:
            return self._odds_by_column[first, last]
        probability = self._context.probability(first, last)
        return self._context.event_rate(first, last).clamp_min(MIN_PROBABILITY)[column] / probability[row, column]

    def _factors(self, by_column: Tensor) -> Tensor:
        """By how much events are more likely under each length ``[events, lengths]``."""
        return torch.stack([r * (torch.ones_like(by_column) if local else by_column) for r, local in self._lengths], 1)

    def _evidence(self, log_ratio: Tensor, rows: slice, first: int, last: int) -> Tensor:
        """Log ratios of some rows, 0 where nothing is known, and in all but the first feature of a category."""
        ratio = log_ratio.clamp(-CELLS.max_log_ratio, CELLS.max_log_ratio)
        for _, at in self.data.categories(first, last):
            ratio[:, at.start + 1 : at.stop] = 0
        exempt = self.data.exempt(first, last)
        return ratio if exempt is None else ratio.masked_fill_(exempt[rows], 0.0)

    def _log_ratio(self, first: int, last: int) -> Tensor:
        """``log Lambda`` ``[n, c]``; all features of a category have that of the category that is there."""
        if self._kept is not None and not self._kept_is_probability:
            return self._kept[:, first:last]
        data, context = self.data, self._context
        y, _ = context.events(first, last)
        pi = context.probability(first, last)
        if self._only_words:
            return log_ratio_of_words(pi, y)
        odds = (1 - pi).log() - pi.log()
        out = torch.where(y > 0, odds, -odds)
        for c, at in data.categories(first, last):
            rate = y[:, at].mean(dim=0)
            out[:, at] = odds[:, at] + (0.5 * rate + 0.5 / (c.stop - c.start)).log()
        if data.is_bag:
            out = out.masked_fill((y > 0) & (y.sum(dim=0) < CELLS.min_column_events), 0.0)
            out = torch.where((out > 0) & (out < CELLS.min_bag_log_odds), torch.zeros_like(out), out)
        out = context.over_groups(out, y, first, last) if self.uses_context else torch.zeros_like(out)
        numeric = data.numeric[first:last]
        if bool(numeric.any()):
            out = torch.where(numeric, self.numeric.log_ratio(first, last, pi), out)
        if data.num_nodes < ROWS.min_rows:  # so few values have no distribution
            out = torch.zeros_like(out)
        if not data.in_domain:
            out = out.masked_fill(data.out_of_domain(first, last), CELLS.impossible_log_ratio)
        return out

    @cached_property
    def _only_words(self) -> bool:
        """Whether :func:`log_ratio_of_words` applies: a bag of 0/1 words on a CPU."""
        data = self.data
        plain = data.is_bag and data.device.type == "cpu" and all(kind == "binary" for kind in data.kinds)
        return plain and self.uses_context and data.in_domain and data.num_nodes >= ROWS.min_rows

    @property
    def has_lengths(self) -> bool:
        """Whether the rows have a length: they are bags, mostly of 0/1 words, and their context matters."""
        kinds = self.data.kinds
        return self.data.is_bag and self.uses_context and 2 * kinds.count("binary") >= len(kinds)

    def p_own_row(self) -> Tensor:
        """Probability ``[n]`` that some cells of a row are wrong and the others follow its neighbors, so that the row
        is not swapped; 0 where that is not known."""
        if not self.has_lengths:
            return torch.zeros(self.data.num_nodes, device=self.data.device)
        local = torch.tensor([local for _, local in self._lengths], device=self.data.device)
        return self._posterior[:, 1:, local].sum(dim=(1, 2)).clamp_max(1)

    @property
    def _keeps(self) -> bool:
        data = self.data
        fits = data.matrix is None and not data.on_disk and data.num_nodes * data.num_features <= CELLS.cached_cells
        return fits and data.cluster is None

    @property
    def _in_place(self) -> bool:
        """Whether one matrix holds the probabilities of a round, then the log ratios of the next, then its
        probabilities: in bags of 0/1 words a range of features depends on its own probabilities alone."""
        return self._keeps and self.has_lengths and all(kind == "binary" for kind in set(self.data.kinds))

    def free_memory(self) -> None:
        """Free what is kept of ranges of features; it is computed again when it is asked for."""
        self._kept, self._kept_is_probability = None, False
        self._odds_by_column.clear()
        self._context.free_memory()
        if self._in_place:
            self._context.p_cell_wrong = None

    def probability(self, first: int, last: int) -> Tensor:
        """``P`` ``[n, c]``."""
        if self._keeps and self._kept is None:
            if self._in_place:  # the log ratios were written over what they depend on
                self._progress = False
                self._fit()
            else:
                kept = self.data.empty(self.data.num_nodes, self.data.num_features)
                for start, stop in self.data.narrow_ranges():
                    kept[:, start:stop] = self._log_ratio(start, stop)
                self._kept, self._kept_is_probability = kept, False
        if self._kept is not None:
            self._settle()
            return self._kept[:, first:last]
        return self._probability(first, last)

    def _probability(self, first: int, last: int, ratio: Tensor | None = None) -> Tensor:
        """``P`` ``[n, c]`` from log ratios (by default those of the context)."""
        ratio = self._log_ratio(first, last) if ratio is None else ratio
        size = ratio.clamp(-CELLS.max_log_ratio, CELLS.max_log_ratio).exp()
        out = torch.zeros_like(ratio)
        by_rate = self._posterior.sum(dim=2)

        def average(rows: slice) -> None:
            for k, e in enumerate(self._rates):
                out[rows] += by_rate[rows, k : k + 1] * (e * size[rows] / (1 - e + e * size[rows]))

        over_cached_rows(ratio, average)
        if self.has_lengths:
            row, column = (self._context.events(first, last)[0] > 0).nonzero(as_tuple=True)
            right = self._factors(self._by_column(first, last, row, column))
            wrong = _event_if_wrong(ratio[row, column][:, None], right)
            for some in cached_rows(right):
                posterior, total = self._posterior[row[some]], torch.zeros_like(right[some])
                for k, e in enumerate(self._rates):
                    odds = e * wrong[some]
                    total += posterior[:, k] * (odds / ((1 - e) * right[some] + odds))
                out[row[some], column[some]] = total.sum(dim=1)
        out = out.clamp_max(1)  # a sum of products that is 1 may come out a hair above it
        exempt = self.data.exempt(first, last)
        if exempt is not None:
            out = out.masked_fill(exempt, 0.0)
        return out


def _event_if_wrong(log_ratio: Tensor, factor: Tensor) -> Tensor:
    """How likely an event is in a wrong cell, relative to its probability; if the ratio is uninformative, as likely
    as in a right cell of this row, whose length multiplies the probability by a factor."""
    return torch.where(log_ratio == 0, factor, log_ratio.clamp(-CELLS.max_log_ratio, CELLS.max_log_ratio).exp())
