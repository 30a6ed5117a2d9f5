"""What the context expects in each cell."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import torch
from torch import Tensor

from magnet.detection.columns import Column
from magnet.detection.pooling import CELLS, Pool, fit_pools
from magnet.detection.regression import regress
from magnet.detection.view import View

# A numeric column has a spike where one value fills more than this share of it.
SPIKE = 0.5
# Cells that hold a one, drawn for the estimate of the mixture.
ONES = 400_000
# In bags the column's rate has at least this weight: a word that the neighbours do not have is rarer, not impossible.
COMMON = 0.2
# Values more spreads than this from the middle are cut before they predict others.
CUT = 3.0
# Rows drawn for the pools of a table.
SAMPLE = 4000


class Expectation:
    r"""Probabilities of 0/1 events, given the neighbours.

    The event of a 0/1 column is "1", of a category "this one", of a numeric column with a spike (most words of a
    bag: 0) "not the spike". Its probability is

    .. math::
        \pi_{ij} = a_0 b_j + a_1 m^1_{ij} + a_2 m^2_{ij},

    with the column's rate :math:`b_j` and the weighted means :math:`m^1, m^2` over one and two hops (without the way
    back), both shrunk towards :math:`b_j` by half an observation. The weights :math:`a` maximise the likelihood of
    the cells where the event happened.

    In tables of up to 256 columns these three, the same means shrunk by a fiftieth of an observation, and the linear
    prediction from the neighbours and the rest of the row are multiplied instead, with weights for each column: see
    :class:`~magnet.detection.pooling.Pool`.

    Args:
        view: the data.
        w: weights ``[n]`` of the rows.
        doubt: probability ``[n, d]`` that a cell is wrong, if something is known already: such cells count as what
            they would otherwise be.
        local: ``False`` takes every node's context to be the whole column; so it is where the rest of the row can be
            used and the neighbours were chosen by the rows themselves. (default: ``True``)
    """

    def __init__(self, view: View, w: Tensor, doubt: Tensor | None = None, local: bool = True) -> None:
        self.view, self.w, self.doubt = view, w, doubt
        self.row_tells = local and view.table and view.features >= 2 and view.nodes >= 10 * view.features
        self.neighbours_tell = local and not (view.from_rows and self.row_tells)
        self.near = (view.adjacency @ w[:, None])[:, 0]
        self.far = ((view.adjacency @ self.near[:, None])[:, 0] - view.back * w).clamp_min(0)
        self._recent_range: tuple[int, int] | None = None
        self._recent: dict[float, tuple[Tensor, Tensor, Tensor]] = {}

    @cached_property
    def spike(self) -> Tensor:
        """The value ``[d]`` that is no event: 0 for 0/1 columns and categories; NaN for columns without one."""
        view = self.view
        value = torch.zeros(view.features, device=view.device)
        numeric = view.of_kind("count", "continuous")
        if view.matrix is not None or not bool(numeric.any()):
            return value
        for first, last in view.ranges():
            block = view.block(first, last)
            known = (~block.isnan()).sum(dim=0).clamp_min(1)
            median = block.nanmedian(dim=0).values
            candidates = torch.stack([torch.zeros_like(median), median])
            share = torch.stack([(block == v).sum(dim=0) / known for v in candidates])
            best, which = share.max(dim=0)
            found = candidates.gather(0, which[None])[0]
            found = torch.where((best > SPIKE) & (best < 1), found, torch.full_like(found, float("nan")))
            value[first:last] = torch.where(numeric[first:last], found, value[first:last])
        return value

    def events(self, first: int, last: int) -> tuple[Tensor, Tensor | None]:
        """Whether the event happened, ``[n, c]`` in [0, 1], and which cells are observed (None for all)."""
        block = self.view.block(first, last)
        y = (block != self.spike[first:last]).float()
        seen = None
        if self.view.missing is not None:
            seen = ~self.view.missing[:, first:last]
            y = y * seen
        return y, seen

    def means(self, y: Tensor, seen: Tensor | None = None, shrink: float = 0.5) -> tuple[Tensor, Tensor, Tensor]:
        """Column mean ``[c]``, one-hop and two-hop mean ``[n, c]`` of some values ``[n, c]``, the last two shrunk
        towards the first by so many observations."""
        w, A = self.w[:, None], self.view.adjacency
        if not self.neighbours_tell:
            known = w if seen is None else w * seen
            base = (known * y).sum(dim=0) / known.expand_as(y).sum(dim=0).clamp_min(1e-9)
            return base, base.expand_as(y), base.expand_as(y)
        if seen is None:
            base = (w * y).sum(dim=0) / self.w.sum().clamp_min(1e-9)
            weighted, near, far = w * y, self.near[:, None], self.far[:, None]
        else:
            ws = w * seen
            base = (ws * y).sum(dim=0) / ws.sum(dim=0).clamp_min(1e-9)
            weighted, near = ws * y, A @ ws
            far = (A @ near - self.view.back[:, None] * ws).clamp_min(0)
        one = A @ weighted
        two = A @ one - self.view.back[:, None] * weighted
        return base, (one + shrink * base) / (near + shrink), (two + shrink * base) / (far + shrink)

    def event_means(self, first: int, last: int, shrink: float = 0.5) -> tuple[Tensor, Tensor, Tensor]:
        """The means of the events of a range of features; those of the range asked for last are kept."""
        if self._recent_range != (first, last):
            self._recent_range, self._recent = (first, last), {}
        if shrink not in self._recent:
            self._recent[shrink] = self._event_means(first, last, shrink)
        return self._recent[shrink]

    def _event_means(self, first: int, last: int, shrink: float) -> tuple[Tensor, Tensor, Tensor]:
        y, seen = self.events(first, last)
        if self.doubt is not None:
            doubt = self.doubt[:, first:last]
            y = y + doubt * (1 - 2 * y)
        return self.means(y, seen, shrink)

    @cached_property
    def regression(self) -> tuple[Tensor, Tensor] | None:
        """Every column predicted from the neighbours and the rest of the row, on the common scale ``[n, d]``, and the
        leverages ``[n, d]``; None for wide tables and few rows."""
        view = self.view
        if not self.row_tells:
            return None
        z = torch.empty(view.nodes, view.features, device=view.device)
        one, two = torch.empty_like(z), torch.empty_like(z)
        whole = torch.empty_like(z) if view.narrow else None
        for first, last in view.ranges():
            block = view.scales.standardise(view.block(first, last), first).nan_to_num()
            believed = 1 if self.doubt is None else 1 - self.doubt[:, first:last]
            z[:, first:last] = block.clamp(-CUT, CUT) * believed
            if whole is not None:
                whole[:, first:last] = block * believed
            seen = None if view.missing is None else ~view.missing[:, first:last]
            _, one[:, first:last], two[:, first:last] = self.means(z[:, first:last], seen)
        return regress(z, one, two, view.columns, whole=whole)

    def event_parts(self, first: int, last: int) -> list[Tensor]:
        """What the chance is mixed from: the column's rate ``[c]`` and predictions ``[n, c]``."""
        parts = list(self.event_means(first, last))
        if self.view.table:
            parts += self.event_means(first, last, shrink=0.02)[1:]
        if self.regression is not None:
            scales = self.view.scales
            linear = self.regression[0][:, first:last] * scales.spread[first:last] + scales.centre[first:last]
            indicator = self.view.of_kind("binary", "categorical")[first:last]
            parts.append(torch.where(indicator, linear.clamp(5e-4, 1 - 5e-4), parts[1]))
        return parts

    @cached_property
    def mixture(self) -> Tensor:
        """``a`` ``[parts]``, by expectation maximisation over (a sample of) the cells where the event happened."""
        parts, generator = [], torch.Generator().manual_seed(0)
        for first, last in self.view.ranges():
            y, _ = self.events(first, last)
            row, column = y.nonzero(as_tuple=True)
            keep = max(1, int(ONES * (last - first) / self.view.features))
            if row.numel() > keep:
                chosen = torch.randperm(row.numel(), generator=generator)[:keep].to(row.device)
                row, column = row[chosen], column[chosen]
            base, *local = self.event_parts(first, last)
            parts.append(torch.stack([base[column], *(part[row, column] for part in local)], dim=1))
        a = mixing_weights(torch.cat(parts))
        if self.view.bag and float(a[0]) < COMMON:
            a = torch.cat([a.new_tensor([COMMON]), a[1:] * (1 - COMMON) / a[1:].sum()])
        return a

    @cached_property
    def pools(self) -> dict[int, Pool]:
        """For tables: how what is known about a column is put together, by its first feature."""
        view = self.view
        rows = torch.randperm(view.nodes, generator=torch.Generator().manual_seed(0))[:SAMPLE].to(view.device)
        seen: dict[str, list[tuple[Column, Tensor, Tensor]]] = {}
        for first, last in view.ranges():
            y, known = self.events(first, last)
            for c, opinions in self.opinions(first, last, rows):
                value, use = held(c, y[rows, c.start - first : c.stop - first])
                if known is not None:
                    use = use & known[rows, c.start - first]
                at = use.nonzero().flatten()[: CELLS // opinions.shape[1]]
                seen.setdefault(c.kind, []).append((c, opinions[at], value[at]))
        return {
            c.start: pool
            for of_kind in seen.values()
            for (c, _, _), pool in zip(
                of_kind, fit_pools([o for _, o, _ in of_kind], [v for _, _, v in of_kind]), strict=True
            )
        }

    def opinions(self, first: int, last: int, rows: Tensor | None = None) -> Iterator[tuple[Column, Tensor]]:
        """For every column of a range that has events, what each part says about its values ``[n, K, parts]``."""
        base, *local = self.event_parts(first, last)
        keep = slice(None) if rows is None else rows
        parts = torch.stack([base.expand_as(local[0])[keep], *(part[keep] for part in local)], dim=2)
        for c in self.view.columns:
            if first <= c.start < last and not bool(self.spike[c.start].isnan()):
                own = parts[:, c.start - first : c.stop - first]
                yield c, own if c.kind == "categorical" else torch.cat([1 - own, own], dim=1)

    def chance(self, first: int, last: int) -> Tensor:
        """``pi`` ``[n, c]``, between 1e-6 and 1 - 1e-6."""
        if self.view.table:
            total = torch.ones(self.view.nodes, last - first, device=self.view.device)
            y, known = self.events(first, last)
            for c, opinions in self.opinions(first, last):
                value, there = held(c, y[:, c.start - first : c.stop - first])
                if known is not None:
                    there = there & known[:, c.start - first]
                chance = self.pools[c.start].chance(opinions, value.masked_fill(~there, -1))
                total[:, c.start - first : c.stop - first] = chance if c.kind == "categorical" else chance[:, 1:]
        else:
            parts = self.event_parts(first, last)
            total = torch.zeros_like(parts[1])
            for a, part in zip(self.mixture, parts, strict=True):
                total += a * part
        return total.clamp(1e-6, 1 - 1e-6)

    def differs(self, first: int, last: int) -> Tensor:
        """Probability ``[n, c]`` that the right value is another one, where the row is not the node's own."""
        view = self.view
        y, _ = self.events(first, last)
        pi = self.chance(first, last)
        out = torch.where(y > 0, 1 - pi, pi)
        numeric = view.of_kind("count", "continuous")[first:last]
        # A number that is no spike hardly ever comes back; without a spike neither does any other.
        out = torch.where(numeric & ((y > 0) | self.spike[first:last].isnan()), torch.ones_like(out), out)
        block = view.block(first, last)
        out = out.masked_fill(block.amax(dim=0) == block.amin(dim=0), 0.0)  # a constant column has no other value
        return self.over_groups(out, y, first, last)

    def over_groups(self, values: Tensor, y: Tensor, first: int, last: int) -> Tensor:
        """Gives all columns of a categorical group the value of the category that is there."""
        for c in self.view.columns:
            if c.kind == "categorical" and first <= c.start < last:
                at = slice(c.start - first, c.stop - first)
                present = y[:, at]
                values[:, at] = (values[:, at] * present).sum(dim=1, keepdim=True) / present.sum(
                    dim=1, keepdim=True
                ).clamp_min(1)
        return values


def held(column: Column, y: Tensor) -> tuple[Tensor, Tensor]:
    """Which of its values a column's cells hold ``[n]``, and whether they hold any, from their events ``[n, K]``."""
    if column.kind == "categorical":
        return y.argmax(dim=1), y.sum(dim=1) > 0
    return (y[:, 0] > 0).long(), torch.ones(y.shape[0], dtype=torch.bool, device=y.device)


def mixing_weights(values: Tensor, steps: int = 100) -> Tensor:
    """Weights ``[k]`` under which the mixture of likelihoods ``[n, k]`` is largest."""
    values = values.double().clamp_min(1e-12)
    k = values.shape[1]
    a = torch.full((k,), 1 / k, dtype=torch.float64, device=values.device)
    if values.shape[0] == 0:
        return a.float()
    for _ in range(steps):
        share = a * values
        new = (share / share.sum(dim=1, keepdim=True)).mean(dim=0)
        if float((new - a).abs().max()) < 1e-5:
            break
        a = new
    return a.float()
