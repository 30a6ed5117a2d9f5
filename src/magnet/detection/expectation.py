"""What the context expects in each cell."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from magnet.detection.regression import regress
from magnet.detection.view import View

# A numeric column has a spike where one value fills more than this share of it.
SPIKE = 0.3
# Tables of at most this many columns are predicted as a whole.
JOINT = 256
# Cells that hold a one, drawn for the estimate of the mixture.
ONES = 400_000


class Expectation:
    r"""Probabilities of 0/1 events, given the neighbours.

    The event of a 0/1 column is "1", of a category "this one", of a numeric column with a spike (most words of a
    bag: 0) "not the spike". Its probability is

    .. math::
        \pi_{ij} = a_0 b_j + a_1 m^1_{ij} + a_2 m^2_{ij} + a_3 \ell_{ij},

    with the column's rate :math:`b_j`, the weighted means :math:`m^1, m^2` over one and two hops (without the way
    back), both shrunk towards :math:`b_j` by half an observation, and, in tables of up to 256 columns, the linear
    prediction :math:`\ell` from the neighbours and the rest of the row. The weights :math:`a` maximise the likelihood
    of the cells where the event happened.

    Args:
        view: the data.
        w: weights ``[n]`` of the rows.
        doubt: probability ``[n, d]`` that a cell is wrong, if something is known already: such cells count as what
            they would otherwise be.
        local: ``False`` takes every node's context to be the whole column. (default: ``True``)
    """

    def __init__(self, view: View, w: Tensor, doubt: Tensor | None = None, local: bool = True) -> None:
        self.view, self.w, self.doubt, self.local = view, w, doubt, local
        a = view.graph.adjacency
        self.back = torch.from_numpy(np.asarray(a.multiply(a).sum(axis=1), dtype=np.float32).ravel()).to(view.device)
        self.near = (view.adjacency @ w[:, None])[:, 0]
        self.far = ((view.adjacency @ self.near[:, None])[:, 0] - self.back * w).clamp_min(0)

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

    def means(self, y: Tensor, seen: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Column mean ``[c]``, one-hop and two-hop mean ``[n, c]`` of some values ``[n, c]``."""
        w, A = self.w[:, None], self.view.adjacency
        if not self.local:
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
            far = (A @ near - self.back[:, None] * ws).clamp_min(0)
        one = A @ weighted
        two = A @ one - self.back[:, None] * weighted
        return base, (one + 0.5 * base) / (near + 0.5), (two + 0.5 * base) / (far + 0.5)

    def event_means(self, first: int, last: int) -> tuple[Tensor, Tensor, Tensor]:
        y, seen = self.events(first, last)
        if self.doubt is not None:
            doubt = self.doubt[:, first:last]
            y = y + doubt * (1 - 2 * y)
        return self.means(y, seen)

    @cached_property
    def regression(self) -> Tensor | None:
        """Every column predicted from the neighbours and the rest of the row, on the common scale ``[n, d]``; None for
        wide tables and few rows."""
        view = self.view
        if view.x is None or not 2 <= view.features <= JOINT or view.nodes < 10 * view.features or not self.local:
            return None
        z = torch.empty(view.nodes, view.features, device=view.device)
        one, two = torch.empty_like(z), torch.empty_like(z)
        for first, last in view.ranges():
            block = view.scales.standardise(view.block(first, last), first).nan_to_num().clamp(-3, 3)
            z[:, first:last] = block if self.doubt is None else block * (1 - self.doubt[:, first:last])
            seen = None if view.missing is None else ~view.missing[:, first:last]
            _, one[:, first:last], two[:, first:last] = self.means(z[:, first:last], seen)
        return regress(z, one, two, view.columns)

    def event_parts(self, first: int, last: int) -> list[Tensor]:
        """What the chance is mixed from: the column's rate ``[c]`` and predictions ``[n, c]``."""
        base, one, two = self.event_means(first, last)
        parts = [base, one, two]
        if self.regression is not None and bool((self.spike[first:last] == 0).any()):
            scales = self.view.scales
            linear = self.regression[:, first:last] * scales.spread[first:last] + scales.centre[first:last]
            indicator = self.view.of_kind("binary", "categorical")[first:last]
            parts.append(torch.where(indicator, linear.clamp(0.005, 0.995), one))
        return parts

    @cached_property
    def mixture(self) -> Tensor:
        """``a``, by expectation maximisation over (a sample of) the cells where the event happened."""
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
        values = torch.cat(parts).double().clamp_min(1e-9)
        a = torch.full((values.shape[1],), 1 / values.shape[1], dtype=torch.float64, device=values.device)
        if values.shape[0] == 0:
            return a.float()
        for _ in range(100):
            share = a * values
            new = (share / share.sum(dim=1, keepdim=True)).mean(dim=0)
            if float((new - a).abs().max()) < 1e-5:
                break
            a = new
        return a.float()

    def chance(self, first: int, last: int) -> Tensor:
        """``pi`` ``[n, c]``, between 1e-6 and 1 - 1e-6."""
        parts = self.event_parts(first, last)
        return sum(a * part for a, part in zip(self.mixture, parts, strict=True)).clamp(1e-6, 1 - 1e-6)

    def differs(self, first: int, last: int) -> Tensor:
        """Probability ``[n, c]`` that the right value is another one, where the row is not the node's own."""
        view = self.view
        y, _ = self.events(first, last)
        pi = self.chance(first, last)
        out = torch.where(y > 0, 1 - pi, pi)
        numeric = view.of_kind("count", "continuous")[first:last]
        # A number that is no spike hardly ever comes back; without a spike neither does any other.
        out = torch.where(numeric & ((y > 0) | self.spike[first:last].isnan()), torch.ones_like(out), out)
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
