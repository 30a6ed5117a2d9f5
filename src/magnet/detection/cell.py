"""``cell``: which cells of this row cannot be right?"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from magnet.detection.base import Detector
from magnet.detection.expectation import Expectation
from magnet.detection.numeric import Numbers
from magnet.detection.progress import track
from magnet.detection.view import View

# Results are kept in memory between the passes for dense tables of at most this many cells.
KEPT = 200_000_000
# Rows of a bag may be this many times as long as expected.
LENGTHS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 8.0)
# What happens fewer times than this in a column of a bag is not held against a row: some words are just rare.
RARE = 5
# In bags only odds of 12 to 1 speak against a cell: words come in bursts, so that many mild surprises mean little.
MILD = math.log(12)
RATES = 8


@dataclass(kw_only=True, eq=False, repr=False)
class Cell(Detector):
    r"""Weighs, for each cell, "wrong" against "right" given the neighbours.

    A row is untouched (:math:`e = 0`), or its cells are wrong at one of 8 rates ``e`` (from 0.7 cells a row to 30 %).
    With

    .. math::
        \Lambda_{ij} = \frac{p(x_{ij} \mid \text{wrong})}{p(x_{ij} \mid \text{right, context})}, \qquad
        L_i(e) = \prod_j (1 - e + e \Lambda_{ij}), \qquad
        P_{ij} = \sum_e q_i(e) \frac{e \Lambda_{ij}}{1 - e + e \Lambda_{ij}}, \quad q_i(e) \propto g(e) L_i(e),

    the share :math:`1 - g(0)` of rows with wrong cells is found by expectation maximisation. The ratio is, for the
    chance :math:`\pi` of :class:`~magnet.detection.expectation.Expectation`,

    * 0/1 columns: :math:`(1 - \pi) / \pi` for a 1, :math:`\pi / (1 - \pi)` for a 0: a wrong cell is the other one;
    * categories: :math:`(1 - \pi_c) b_c / \pi_c` for the category c that is there and its rate :math:`b_c`;
    * numbers: see :class:`~magnet.detection.numeric.Numbers`.

    The rows of a bag differ in length, so there a row also has a factor ``r`` that multiplies all its :math:`\pi`,
    from a grid whose weights are found in the same way: long rows have more of the expected words, wrong ones words
    that nobody expects.

    Args:
        rounds: how often the context is cleaned by what was found, for dense data. (default: ``2``)
        weights: of the rows in the contexts ``[n]``. (default: ones)
        context: ``False`` looks at the columns only: numbers that are impossible for their column. (default: ``True``)
    """

    rounds: int = 2
    weights: Tensor | None = field(default=None, repr=False)
    context: bool = True

    def _detect(self, view: View) -> None:
        w = torch.ones(view.nodes, device=view.device) if self.weights is None else self.weights.to(view.device)
        doubt = None
        rounds = 1 if view.matrix is not None else self.rounds
        for turn in track(range(rounds), "comparing cells with their context", self.progress):
            self._expectation = Expectation(view, w, doubt, local=self.context)
            self._numbers = Numbers(self._expectation)
            self._ratios: dict[int, Tensor] = {}
            self._found: dict[int, Tensor] = {}
            self._weigh_rows(view)
            if turn + 1 < rounds:
                doubt = torch.empty(view.nodes, view.features, device=view.device)
                for first, last in view.ranges():
                    doubt[:, first:last] = self._probability(first, last)

    def _weigh_rows(self, view: View) -> None:
        """``q_i(e, r)`` ``[n, 1 + rates, lengths]``, and what follows from it for the rows."""
        count, n = len(view.columns), view.nodes
        rates = torch.logspace(math.log10(min(0.7 / count, 0.2)), math.log10(0.3), RATES, device=view.device)
        self._rates = torch.cat([torch.zeros(1, device=view.device), rates])
        # each length twice: with the expectation of the context, and with that of the whole column
        self._lengths = (
            [(r, local) for local in (True, False) for r in LENGTHS] if self._counts_events() else [(1.0, True)]
        )
        likelihood = torch.zeros(n, RATES + 1, len(self._lengths), device=view.device)
        for first, last in view.ranges():
            ratio, event = self._parts(first, last)
            plain = ratio.masked_fill(event, 0.0).expm1()
            for k, e in enumerate(self._rates.tolist()):
                likelihood[:, k] += torch.log1p(e * plain).sum(dim=1, keepdim=True)
            if not self._counts_events():
                continue
            row, column = event.nonzero(as_tuple=True)
            event_ratio = ratio[row, column]
            for m, factor in enumerate(self._factors(first, last, row, column)):
                wrong = as_wrong(event_ratio, factor)
                for k, e in enumerate(self._rates.tolist()):
                    likelihood[:, k, m].index_add_(0, row, ((1 - e) * factor + e * wrong).log())
            # An untouched cell without an event is likely by a factor exp(-(pi' - pi)).
            base, expected = (
                self._expectation.event_means(first, last)[0].sum(),
                self._expectation.chance(first, last).sum(dim=1),
            )
            for m, (r, local) in enumerate(self._lengths):
                likelihood[:, :, m] -= (r * (expected if local else base) - expected)[:, None]
        self._joint, self.node_scores_, self.share_ = mixture(likelihood)
        self.node_probability_ = torch.sigmoid(self.node_scores_)

    def _factors(self, first: int, last: int, row: Tensor, column: Tensor) -> list[Tensor]:
        """By how much an event is more likely under each length, for some cells of a range of features."""
        base = self._expectation.event_means(first, last)[0].clamp_min(1e-6)
        chance = self._expectation.chance(first, last)
        by_column = base[column] / chance[row, column]
        return [r * (torch.ones_like(by_column) if local else by_column) for r, local in self._lengths]

    def _parts(self, first: int, last: int) -> tuple[Tensor, Tensor]:
        """Log ratios (0 where nothing is known, and in all but the first column of a category), and the events of
        bags."""
        view = self._view
        ratio = self._log_ratio(first, last).clamp(-60, 60)
        for c in view.columns:
            if c.kind == "categorical" and first <= c.start < last:
                ratio[:, c.start - first + 1 : c.stop - first] = 0
        known = self._known(first, last)
        if known is not None:
            ratio = ratio.masked_fill(known, 0.0)
        if not self._counts_events():
            return ratio, torch.zeros_like(ratio, dtype=torch.bool)
        return ratio, self._expectation.events(first, last)[0] > 0

    def _log_ratio(self, first: int, last: int) -> Tensor:
        """``log Lambda`` ``[n, c]``; all columns of a category have that of the category that is there."""
        if first in self._ratios:
            return self._ratios[first].clone()
        view, e = self._view, self._expectation
        y, _ = e.events(first, last)
        pi = e.chance(first, last)
        odds = (1 - pi).log() - pi.log()
        out = torch.where(y > 0, odds, -odds)
        for c in view.columns:
            if c.kind == "categorical" and first <= c.start < last:
                at = slice(c.start - first, c.stop - first)
                rate = y[:, at].mean(dim=0)
                out[:, at] = odds[:, at] + (0.5 * rate + 0.5 / (c.stop - c.start)).log()
        if view.bag:
            out = out.masked_fill((y > 0) & (y.sum(dim=0) < RARE), 0.0)
            out = torch.where((out > 0) & (out < MILD), torch.zeros_like(out), out)
        out = e.over_groups(out, y, first, last) if self.context else torch.zeros_like(out)
        numeric = view.of_kind("count", "continuous")[first:last]
        if bool(numeric.any()):
            out = torch.where(numeric, self._numbers.log_ratio(first, last, pi), out)
        if self._keep():
            self._ratios[first] = out
        return out.clone()

    def _counts_events(self) -> bool:
        """Whether the rows have a length: they are bags, and their context matters."""
        return self._view.bag and self.context and "binary" in self._view.kinds

    def among_neighbours(self) -> Tensor:
        """Probability ``[n]`` that some cells of a row are wrong and the rest follows its neighbours, so that it is the
        node's own row; 0 where nothing is known about that."""
        if not self._counts_events():
            return torch.zeros(self._view.nodes, device=self._view.device)
        local = torch.tensor([local for _, local in self._lengths], device=self._view.device)
        return self._joint[:, 1:, local].sum(dim=(1, 2)).clamp_max(1)

    def _keep(self) -> bool:
        return self._view.matrix is None and self._view.nodes * self._view.features <= KEPT

    def _probability(self, first: int, last: int) -> Tensor:
        """``P`` ``[n, c]``."""
        if first in self._found:
            return self._found[first]
        ratio = self._log_ratio(first, last)
        size = ratio.clamp(-60, 60).exp()
        out = torch.zeros_like(ratio)
        by_rate = self._joint.sum(dim=2)
        for k, e in enumerate(self._rates.tolist()):
            out += by_rate[:, k : k + 1] * (e * size / (1 - e + e * size))
        if self._counts_events():
            row, column = (self._expectation.events(first, last)[0] > 0).nonzero(as_tuple=True)
            event_ratio = ratio[row, column]
            total = torch.zeros_like(event_ratio)
            for m, factor in enumerate(self._factors(first, last, row, column)):
                wrong = as_wrong(event_ratio, factor)
                for k, e in enumerate(self._rates.tolist()):
                    total += self._joint[row, k, m] * (e * wrong / ((1 - e) * factor + e * wrong))
            out[row, column] = total
        out = out.clamp_max(1)  # a sum of products that is 1 may come out a hair above it
        known = self._known(first, last)
        if known is not None:
            out = out.masked_fill(known, 0.0)
        if self._keep():
            self._found[first] = out
        return out

    def _cells(self, first: int, last: int) -> tuple[Tensor, Tensor]:
        probability = self._probability(first, last)
        return probability, probability


def as_wrong(log_ratio: Tensor, factor: Tensor) -> Tensor:
    """How likely an event is in a wrong cell, in units of its chance; where the ratio says nothing, as likely as in a
    right cell of this row, whose length multiplies the chance by a factor."""
    return torch.where(log_ratio == 0, factor, log_ratio.clamp(-60, 60).exp())


def mixture(likelihood: Tensor, steps: int = 300) -> tuple[Tensor, Tensor, float]:
    r"""Empirical Bayes from log likelihoods ``[n, 1 + K, M]`` of rates (the first is 0) and lengths.

    The prior is :math:`g(e) h(r)`, uniform over the rates above 0; its weights are found by EM. Returns the
    posterior, the log odds ``[n]`` that the rate is above 0, and the share of such rows.
    """
    _, k, m = likelihood.shape
    if float(likelihood.abs().max()) < 1e-6:  # nothing speaks for or against
        share = 0.001
    else:
        share = 0.05
    length = torch.full((m,), 1 / m, device=likelihood.device)
    for _ in range(steps):
        prior = torch.full((k, 1), share / (k - 1), device=likelihood.device)
        prior[0] = 1 - share
        weighted = likelihood + (prior * length).log()
        posterior = torch.softmax(weighted.flatten(1), dim=1).reshape(likelihood.shape)
        new = min(0.9, max(0.001, float(1 - posterior[:, 0].sum(dim=1).mean())))
        length = posterior.sum(dim=1).mean(dim=0).clamp_min(1e-6)
        length = length / length.sum()
        if abs(new - share) < 1e-5:
            break
        share = new
    odds = weighted[:, 1:].flatten(1).logsumexp(dim=1) - weighted[:, 0].logsumexp(dim=1)
    return posterior, odds, share
