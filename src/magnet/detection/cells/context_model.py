"""The context model: probabilities of the values of a cell, given its neighborhood and the rest of its row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property, partial

import scipy.sparse as sp
import torch
from torch import Tensor

from magnet.detection.cells.cooccurrence import Cooccurrence
from magnet.detection.cells.linear_pool import Neighborhood, mixing_weights, pool_words
from magnet.detection.cells.opinion_pool import LogOpinionPool, fit_pools
from magnet.detection.cells.ridge import leave_one_out_ridge
from magnet.detection.data.columns import Column
from magnet.detection.data.dataset import DetectionData
from magnet.detection.data.scratch import over_cached_rows, row_ranges
from magnet.detection.data.sparse_rows import stacked
from magnet.detection.options import CONTEXT, DATA, MIN_WEIGHT, POOL

Means = tuple[Tensor, Tensor, Tensor]


class ContextModel:
    r"""Probabilities of 0/1 events, given the neighbors.

    The event of a 0/1 column is "1", of a category "this one", of a numeric column with a spike (most words of a
    bag: 0) "not the spike". Its probability is

    .. math::
        \pi_{ij} = a_0 b_j + a_1 m^1_{ij} + a_2 m^2_{ij},

    with the column's rate :math:`b_j` and the weighted means :math:`m^1, m^2` over one and two hops (without walks that
    return), both shrunk toward :math:`b_j` by half an observation. The weights :math:`a` maximize the likelihood of
    the cells where the event happened. In bags the result can be multiplied by the lift that the other words of the row
    give a word, where that is above 1.

    In tables of up to 256 columns these three, the same means shrunk by a fiftieth of an observation, and the linear
    prediction from the neighbors and the rest of the row are combined by a logarithmic opinion pool instead, with
    weights for each column: see :class:`~magnet.detection.cells.opinion_pool.LogOpinionPool`.

    Args:
        data: the data.
        weights: of the rows ``[n]``.
        p_cell_wrong: probability ``[n, d]`` that a cell is wrong, where something is known already: such cells count as
            the value that they would otherwise have.
        expected: of such cells, the standardized value that they would have, as far as the rest of the row tells
            ``[n, d]``. (default: the middle of the column)
        local: ``False`` takes every node's context to be the whole column. So it is in any case where the edges were
            chosen by the rows themselves and the rest of the row can be used. (default: ``True``)
        support: for bags, weights ``[n]`` of the rows in :class:`~magnet.detection.cells.cooccurrence.Cooccurrence`,
            whose lift then counts. (default: not used)
    """

    def __init__(
        self,
        data: DetectionData,
        weights: Tensor,
        p_cell_wrong: Tensor | None = None,
        local: bool = True,
        support: Tensor | None = None,
        expected: Tensor | None = None,
    ) -> None:
        self.data, self.weights, self.p_cell_wrong, self.support = data, weights, p_cell_wrong, support
        self.expected = torch.zeros((), device=data.device) if expected is None else expected
        enough_rows = data.num_nodes >= CONTEXT.min_rows_per_column * data.num_features
        self.uses_row = local and data.is_table and data.num_features >= 2 and enough_rows
        self.uses_neighbors = local and not (data.edges_from_rows and self.uses_row)
        self.free_memory()

    def free_memory(self) -> None:
        """Free what is kept of the latest range of features, and the co-occurrence of words."""
        self.__dict__.pop("rest_of_row", None)
        self._recent_range: tuple[int, int] | None = None
        self._recent: dict[float, Means] = {}
        self._recent_rate: tuple[tuple[int, int], Tensor] | None = None
        self._recent_probability: tuple[tuple[int, int], Tensor] | None = None
        self._recent_events: tuple[tuple[int, int], Tensor, Tensor | None] | None = None

    def forget(self) -> None:
        """Free the regression and what is known about the cells; nothing may be asked after this."""
        self.free_memory()
        self.__dict__.pop("regression", None)
        self.p_cell_wrong = None

    @cached_property
    def _amounts(self) -> tuple[Tensor, Tensor]:
        """Total weights ``[n, 1]`` of the one-hop and two-hop neighbors."""
        near, far = self.data.neighbor_sums(self.weights[:, None])
        return near, far.clamp_min(0)

    def events(self, first: int, last: int) -> tuple[Tensor, Tensor | None]:
        """Whether the event happened, ``[n, c]`` in [0, 1], and which cells are observed (None for all); those of the
        latest range are kept."""
        if self._recent_events is None or self._recent_events[0] != (first, last):
            y, observed = (self.data.block(first, last) != self.data.spike[first:last]).float(), None
            if self.data.missing is not None:
                observed = ~self.data.missing[:, first:last]
                y = y * observed
            self._recent_events = (first, last), y, observed
        return self._recent_events[1:]

    def means(self, y: Tensor, observed: Tensor | None = None) -> Means:
        """Column mean ``[c]``, one-hop and two-hop mean ``[n, c]`` of some values ``[n, c]``, the last two shrunk
        toward the first."""
        return self._means(y, observed, (CONTEXT.shrinkage,))[CONTEXT.shrinkage]

    def _means(self, y: Tensor, observed: Tensor | None, shrinkages: Sequence[float]) -> dict[float, Means]:
        """The means, shrunk by each of these numbers of observations; the sums over neighbors are computed once."""
        w = self.weights[:, None]
        if not self.uses_neighbors:
            known = w if observed is None else w * observed
            base = (known * y).sum(dim=0) / known.expand_as(y).sum(dim=0).clamp_min(MIN_WEIGHT)
            return dict.fromkeys(shrinkages, (base, base.expand_as(y), base.expand_as(y)))
        if observed is None:
            weighted, (near, far) = w * y, self._amounts
            base = weighted.sum(dim=0) / self.weights.sum().clamp_min(MIN_WEIGHT)
        else:
            w = w * observed
            weighted, (near, far) = w * y, self.data.neighbor_sums(w)
            base, far = weighted.sum(dim=0) / w.sum(dim=0).clamp_min(MIN_WEIGHT), far.clamp_min_(0)
        one, two = self.data.neighbor_sums(weighted)
        out = {s: (base, (one + s * base).div_(near + s), (two + s * base).div_(far + s)) for s in shrinkages[:-1]}
        s = shrinkages[-1]
        return out | {s: (base, one.add_(s * base).div_(near + s), two.add_(s * base).div_(far + s))}

    def _write_means(self, y: Tensor, observed: Tensor | None, one: Tensor, two: Tensor) -> None:
        """:meth:`means` over one and two hops into given matrices ``[n, c]``; the sums over two hops are never all in
        memory where all cells are observed."""
        if observed is not None or not self.uses_neighbors:
            _, one[:], two[:] = self.means(y, observed)
            return
        data, s, (near, far) = self.data, CONTEXT.shrinkage, self._amounts
        weighted = self.weights[:, None] * y
        base = s * (weighted.sum(dim=0) / self.weights.sum().clamp_min(MIN_WEIGHT))
        sums = data.neighbor_sum(weighted)

        def write(rows: slice) -> None:
            one[rows] = (sums[rows] + base).div_(near[rows] + s)
            two[rows] = data.far_sums(sums, weighted, rows).add_(base).div_(far[rows] + s)

        over_cached_rows(weighted, write)

    def event_means(self, first: int, last: int, shrinkage: float | None = None) -> Means:
        """The means of the events of a range of features; those of the latest range are kept."""
        if self._recent_range != (first, last):
            y, observed = self.events(first, last)
            y = self._without_wrong(y, first, last)
            shrinkages = (CONTEXT.shrinkage, CONTEXT.weak_shrinkage)[: 1 + self.data.is_table]
            self._recent_range, self._recent = (first, last), self._means(y, observed, shrinkages)
        return self._recent[CONTEXT.shrinkage if shrinkage is None else shrinkage]

    def event_rate(self, first: int, last: int) -> Tensor:
        """The mean ``[c]`` of the events of a range of features; that of the latest range is kept."""
        if self._recent_rate is None or self._recent_rate[0] != (first, last):
            self._recent_rate = (first, last), self.event_means(first, last)[0]
        return self._recent_rate[1]

    def _without_wrong(self, y: Tensor, first: int, last: int) -> Tensor:
        """Events ``[n, c]`` in which cells that are probably wrong count as the other value."""
        return y if self.p_cell_wrong is None else y + self.p_cell_wrong[:, first:last] * (1 - 2 * y)

    @cached_property
    def regression(self) -> tuple[Tensor, Tensor, Tensor | None] | None:
        """Every column predicted from the neighbors and the rest of the row, on the common scale ``[n, d]``, by how
        much the deviations of the residuals exceed those of the noise, and a matrix of this size beside them that is
        free for other use, if there is one; None for wide tables and few rows."""
        data, limit = self.data, DATA.max_standardized
        if not self.uses_row:
            return None
        n, d = data.num_nodes, data.num_features
        both = data.empty(n, 3 * d)
        z, one, two = both.split(d, dim=1)  # values, means over one hop, means over two
        for rows in row_ranges(n, d):
            z[rows] = self._believed(rows, limit)
        for first, last in data.ranges(DATA.product_width):
            at = slice(first, last)
            observed = None if data.missing is None else ~data.missing[:, at]
            self._write_means(z[:, at], observed, one[:, at], two[:, at])
        unclipped = partial(self._believed, limit=torch.inf) if data.is_narrow else None
        found = leave_one_out_ridge(both, data.columns, unclipped=unclipped, missing=data.missing, empty=data.empty)
        self.expected = torch.zeros((), device=data.device)  # as large as the features, and not needed again
        return *found, two if data.missing is None else None

    def _believed(self, rows: slice | Tensor, limit: float) -> Tensor:
        """Standardized values ``[rows, d]`` within a limit, those that are probably wrong replaced by their
        predictions."""
        assert self.data.x is not None
        z = self.data.scales.standardize(self.data.x[rows]).nan_to_num().clamp_(-limit, limit)
        if self.p_cell_wrong is None:
            return z
        expected = self.expected if self.expected.dim() == 0 else self.expected[rows]
        return torch.lerp(z, expected.expand_as(z), self.p_cell_wrong[rows])

    @cached_property
    def rest_of_row(self) -> Cooccurrence | None:
        """Co-occurrence of the words of a bag; None if not used."""
        if self.support is None or not self.data.is_bag:
            return None
        return Cooccurrence(self.event_matrix(), self.support, self.data.on_disk)

    def event_matrix(self) -> sp.csr_matrix:
        """All events, sparse ``[n, d]``."""
        data = self.data
        if data.matrix is not None:
            return data.matrix
        assert data.x is not None

        def events(rows: slice) -> sp.csr_matrix:
            y = data.x[rows] != data.spike  # type: ignore[index]
            return sp.csr_matrix((y if data.missing is None else y & ~data.missing[rows]).cpu().numpy())

        return stacked((events(rows) for rows in row_ranges(*data.x.shape)), data.num_features, data.on_disk)

    def _predictors(self, first: int, last: int) -> list[Tensor]:
        """What the probability is combined from: the column's rate ``[c]`` and predictions ``[n, c]``."""
        parts = list(self.event_means(first, last))
        if self.rest_of_row is not None:
            # Words that co-occur; for any other word the rest of the row is no more informative than its rate.
            expected = self.rest_of_row.probability(first, last)
            parts.append(expected * (expected / self.rest_of_row.rate(first, last) > CONTEXT.min_lift))
        if self.data.is_table:
            parts += self.event_means(first, last, CONTEXT.weak_shrinkage)[1:]
        if self.regression is not None:
            scales, least = self.data.scales, CONTEXT.min_linear_probability
            linear = self.regression[0][:, first:last] * scales.spread[first:last] + scales.center[first:last]
            parts.append(torch.where(self.data.numeric[first:last], parts[1], linear.clamp(least, 1 - least)))
        return parts

    @cached_property
    def mixture(self) -> Tensor:
        """``a`` ``[predictors]``, by expectation maximization over (a sample of) the cells where the event happened."""
        parts, (ranges, step) = [], self._sample()
        for first, last in ranges:
            row, column = self.events(first, last)[0].nonzero()[::step].unbind(1)
            base, *local = self._predictors(first, last)
            parts.append(torch.stack([base[column], *(part[row, column] for part in local)], dim=1))
        a, least = mixing_weights(torch.cat(parts)), CONTEXT.min_base_weight
        if self.data.is_bag and float(a[0]) < least:
            a = torch.cat([a.new_tensor([least]), a[1:] * (1 - least) / a[1:].sum()])
        return a

    def _sample(self) -> tuple[list[tuple[int, int]], int]:
        """Evenly spread ranges of features, and every how many of their events are about ``CONTEXT.mixture_events``."""
        data = self.data
        if data.matrix is not None:
            events = data.matrix.nnz
        else:
            events = sum(int((data.block(*each) != data.spike[slice(*each)]).sum()) for each in data.ranges())
        enough = math.ceil(CONTEXT.mixture_events * data.num_features / max(1, events))
        columns = max(enough, CONTEXT.mixture_columns)
        if 2 * columns > data.num_features:
            return list(data.narrow_ranges()), max(1, events // CONTEXT.mixture_events)
        ranges = list(data.narrow_ranges(width=columns // CONTEXT.mixture_ranges))
        step = len(ranges) // CONTEXT.mixture_ranges
        return ranges[step // 2 :: step], max(1, columns // enough)

    @cached_property
    def pools(self) -> dict[int, LogOpinionPool]:
        """For tables: how the predictors of a column are combined, by its first feature."""
        data = self.data
        order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(0))
        rows = order[: CONTEXT.pool_rows].to(data.device)
        by_kind: dict[str, list[tuple[Column, Tensor, Tensor]]] = {}
        for first, last in data.ranges():
            y, observed = self.events(first, last)
            for c, predictive in self._predictive(first, last, rows):
                value, use = _observed_category(c, y[rows, c.start - first : c.stop - first])
                if observed is not None:
                    use = use & observed[rows, c.start - first]
                at = use.nonzero().flatten()[: POOL.max_cells // predictive.shape[1]]
                by_kind.setdefault(c.kind, []).append((c, predictive[at], value[at]))
        pools: dict[int, LogOpinionPool] = {}
        for of_kind in by_kind.values():
            fitted = fit_pools([p for _, p, _ in of_kind], [v for _, _, v in of_kind])
            pools |= {c.start: pool for (c, _, _), pool in zip(of_kind, fitted, strict=True)}
        return pools

    def _predictive(self, first: int, last: int, rows: Tensor | None = None) -> Iterator[tuple[Column, Tensor]]:
        """For every column of a range that has events, the predictive distributions ``[n, K, predictors]``."""
        held = [c for c in self.data.columns if first <= c.start < last and not bool(self.data.spike[c.start].isnan())]
        if not held:
            return
        base, *local = self._predictors(first, last)
        keep = slice(None) if rows is None else rows
        parts = torch.stack([base.expand_as(local[0])[keep], *(part[keep] for part in local)], dim=2)
        for c in held:
            own = parts[:, c.start - first : c.stop - first]
            yield c, own if c.kind == "categorical" else torch.cat([1 - own, own], dim=1)

    def probability(self, first: int, last: int) -> Tensor:
        r""":math:`\pi` ``[n, c]``, the probability of an event in each cell of a range of features; the last range is
        kept."""
        if self._recent_probability is None or self._recent_probability[0] != (first, last):
            self._recent_probability = (first, last), self._probability(first, last)
        return self._recent_probability[1]

    def _probability(self, first: int, last: int) -> Tensor:
        if self.data.is_table:
            y, observed = self.events(first, last)
            total = torch.ones_like(y)
            for c, predictive in self._predictive(first, last):
                at = slice(c.start - first, c.stop - first)
                value, held = _observed_category(c, y[:, at])
                if observed is not None:
                    held = held & observed[:, c.start - first]
                pi = self.pools[c.start].probability(predictive, value.masked_fill(~held, -1))
                total[:, at] = pi if c.kind == "categorical" else pi[:, 1:]
        elif (near := self._neighborhood(first, last)) is not None:
            rest = self.rest_of_row
            return pool_words(self.mixture, near, None if rest is None else rest.of_words(first, last))
        else:
            parts = self._predictors(first, last)
            total = torch.zeros_like(parts[1])
            for a, part in zip(self.mixture, parts, strict=True):
                total += a * part
        return total.clamp(CONTEXT.min_probability, 1 - CONTEXT.min_probability)

    def _neighborhood(self, first: int, last: int) -> Neighborhood | None:
        """Sums of the events of a range of features over the neighbors, for :func:`pool_words`; None on a GPU, where
        cells are missing, and without neighbors."""
        y, observed = self.events(first, last)
        if observed is not None or self.data.device.type != "cpu" or not self.uses_neighbors:
            return None
        weighted = self.weights[:, None] * self._without_wrong(y, first, last)
        one = self.data.neighbor_sum(weighted)
        near, far = (amount[:, 0] for amount in self._amounts)
        rate = weighted.sum(dim=0) / self.weights.sum().clamp_min(MIN_WEIGHT)
        self._recent_rate = (first, last), rate
        return Neighborhood(one, self.data.neighbor_sum(one), weighted, near, far, self.data.return_weight, rate)

    def p_differs(self, first: int, last: int) -> Tensor:
        """Probability ``[n, c]`` that the right value is another one, where the row is swapped."""
        y, _ = self.events(first, last)
        pi = self.probability(first, last)
        out = torch.where(y > 0, 1 - pi, pi)
        # Values outside the spikes almost never coincide between rows.
        unique = self.data.numeric[first:last] & ((y > 0) | self.data.spike[first:last].isnan())
        out = torch.where(unique, torch.ones_like(out), out)
        block = self.data.block(first, last)
        out = out.masked_fill(block.amax(dim=0) == block.amin(dim=0), 0.0)  # a constant column has no other value
        return self.over_groups(out, y, first, last)

    def over_groups(self, values: Tensor, y: Tensor, first: int, last: int) -> Tensor:
        """Gives all features of a categorical column the value of the category that is there."""
        for _, at in self.data.categories(first, last):
            present = y[:, at]
            count = present.sum(dim=1, keepdim=True).clamp_min(1)
            values[:, at] = (values[:, at] * present).sum(dim=1, keepdim=True) / count
        return values


def _observed_category(column: Column, y: Tensor) -> tuple[Tensor, Tensor]:
    """Which of its values a column's cells hold ``[n]``, and whether they hold any, from their events ``[n, K]``."""
    if column.kind == "categorical":
        return y.argmax(dim=1), y.sum(dim=1) > 0
    return (y[:, 0] > 0).long(), torch.ones(y.shape[0], dtype=torch.bool, device=y.device)
