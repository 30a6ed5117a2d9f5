"""Densities of numeric columns, of right and of wrong values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.detection.cells.context_model import ContextModel
from magnet.detection.cells.tails import Tail, fit_t_dof, fit_tail, log_t_density
from magnet.detection.data.columns import BLOCK_COLUMNS
from magnet.detection.data.dataset import block_width
from magnet.detection.data.scales import group_medians, lower_median, median_size, nan_median
from magnet.detection.data.scratch import cached_rows, row_ranges
from magnet.detection.data.sparse_rows import concatenated, row_pieces
from magnet.detection.options import DATA, MIN_PROBABILITY, MIN_SQUARE, MIN_WEIGHT, NUMERIC
from magnet.scales import BINOMIAL_KERNEL, LOG_MEDIAN_VARIANCE, NORMAL_MAD

SAMPLED_ROWS = 10_000  # at least, that levels of the prediction are found by; bounds run time
SAMPLED_CELLS = 1_000_000  # that a quantile is taken over; bounds run time
GRID_SAMPLE = 1_000  # cells that show whether a column has few different values; bounds run time
# Values off a spike are nearly all equal where their median residual is below this part of what it is otherwise: then
# it says nothing about their tail. (100 ones of Cora times 100: none of them found without it, 98 % with it; with 1 in
# the place of 0.1 one right row in 600 more of PubMed is flagged.)
DEGENERATE = 0.1
LEVELS = 4  # of the prediction in which the spread may differ (not swept)
RIDGE = 1e-3  # per row, of the least squares on the neighbors' means, which are nearly collinear (not swept)
BINS_PER_SPREAD = 4  # of the histogram of wrong values (not swept)
SIGNIFICANT = 2  # standard errors by which the residuals of a row are smaller than those of others (not swept)
FAR_QUANTILE = 0.99  # of the residuals: the far ones (not swept)


class NumericModel:
    r"""Right values of a numeric column follow the context, wrong ones do not: a Student-t scale mixture.

    On the common scale, with the means :math:`m^1, m^2` of the neighbors,

    .. math::
        z_{ij} = \beta_{1j} m^1_{ij} + \beta_{2j} m^2_{ij} + s_j(k_i)\, t_{\nu_j},
        \qquad z^{\text{wrong}}_{ij} \sim \mathrm{Cauchy}(0, 3),

    where the spread :math:`s_j` depends on the number of neighbors :math:`k_i` and on the prediction, both in four
    steps, and, with 16 columns or more, is multiplied by the row's median residual where that is larger than usual. In
    tables of up to 256 columns the prediction is that of
    :func:`~magnet.detection.cells.ridge.leave_one_out_ridge`, which also uses the rest of the row.

    Cells that were judged wrong before do not count for the spread and the tail. Where there are many in a column, they
    say where its wrong values lie (the same slip, the same placeholder): see :func:`log_wrong_density`.

    A column with a spike (see :class:`~magnet.detection.cells.context_model.ContextModel`) has two parts: whether the
    value is the spike, and how far from it the others lie: :math:`\log |x - \text{spike}|` follows a t distribution,
    each side with its share.

    Args:
        context: the context model of the same data.
        is_heavy: of another model of the same data. (default: computed)
    """

    def __init__(self, context: ContextModel, is_heavy: Tensor | None = None) -> None:
        self.context, self.data = context, context.data
        if is_heavy is not None:
            self.is_heavy = is_heavy
        self.smooth = torch.nonzero(self.data.numeric & self.data.spike.isnan()).flatten()

    @cached_property
    def _fit(self) -> tuple[Tensor, Tensor, Tail]:
        """Of the columns without a spike: prediction and spread ``[n, c]`` on the common scale, and the tails."""
        data, options = self.data, NUMERIC
        prediction, relative, spread = self._matrices()
        degree = torch.bucketize(
            data.num_neighbors.contiguous(), torch.tensor(options.degree_edges, device=data.device)
        )
        for at in self._column_blocks():
            z, prediction[:, at] = self._predicted(at)
            difference = (z - prediction[:, at]) / self._widening(at)
            if self.context.p_cell_wrong is not None:
                difference.masked_fill_(self.context.p_cell_wrong[:, self.smooth[at]] > 0.5, float("nan"))
            least = options.grid_spread * _grid_step(z)
            wide = torch.maximum(_spread_by_degree(difference, degree), least)
            spread[:, at] = torch.maximum(wide * spread_by_prediction(difference / wide, prediction[:, at]), least)
            relative[:, at] = difference.div_(spread[:, at])
        if self.smooth.numel() >= options.min_row_scale_columns:
            scale = _row_scale(relative)
            spread *= scale
            relative /= scale
        dofs, tails = [fit_t_dof(relative[:, at]) for at in self._column_blocks()], []
        del relative
        for at, dof in zip(self._column_blocks(), dofs, strict=True):
            # rare values of a heavy-tailed column are even rarer in the fitted part
            dof = torch.where(self.is_heavy[at], dof.clamp_max(options.max_heavy_dof), dof)
            wide = spread[:, at].mul_(self._widening(at))
            if self.data.is_bag:  # words that most rows have are few, and their weights have no far tails
                tails.append(Tail.of(dof))
                continue
            # the bulk of the residuals is not representative of rows that the prediction does not fit
            z, by_row = self._asinh_scale(self._standardized(self.smooth[at]), at), self.context.regression is not None
            tails.append(fit_tail((z - prediction[:, at]) / wide, log_cauchy_density(z) + wide.log(), dof, by_row))
        weights, scales = (
            torch.cat(parts, dim=1) for parts in zip(*((t.log_weight, t.scale) for t in tails), strict=True)
        )
        return prediction, spread, Tail(weights, scales)

    def forget(self) -> None:
        """Free the matrices; nothing but ``is_heavy`` may be asked after this."""
        self.__dict__.pop("_fit", None)

    def _matrices(self) -> tuple[Tensor, Tensor, Tensor]:
        """Matrices for the predictions, residuals and spreads; the first two are those of the regression, where these
        are the same or free."""
        data, joint = self.data, self.context.regression
        shape = (data.num_nodes, self.smooth.numel())
        prediction, relative = None, None
        if joint is not None and self.smooth.numel() == data.num_features:
            prediction, relative = None if bool(self.is_heavy.any()) else joint[0], joint[2]
        prediction = data.empty(*shape) if prediction is None else prediction
        return prediction, data.empty(*shape) if relative is None else relative, data.empty(*shape)

    def _column_blocks(self) -> list[slice]:
        """Ranges of the columns without a spike that fit in a block."""
        width = min(BLOCK_COLUMNS, block_width(self.data.num_nodes))
        return [slice(at, at + width) for at in range(0, self.smooth.numel(), width)]

    def _predicted(self, at: slice) -> tuple[Tensor, Tensor]:
        """Values and predictions ``[n, c]`` of some of the columns without a spike."""
        columns, missing, joint = self.smooth[at], self.data.missing, self.context.regression
        plain = self._standardized(columns)
        if joint is not None:
            prediction = joint[0][:, columns]
        else:
            observed = None if missing is None else ~missing[:, columns]
            prediction = self._from_context(plain.clamp(-DATA.max_standardized, DATA.max_standardized), observed)
        return self._asinh_scale(plain, at), self._asinh_scale(prediction, at)

    def _widening(self, at: slice) -> Tensor | float:
        """By how much the deviation of a residual exceeds that of the noise ``[n, c]``: the row is left out."""
        joint = self.context.regression
        return 1.0 if joint is None else joint[1][:, self.smooth[at]]

    def _standardized(self, columns: Tensor) -> Tensor:
        assert self.data.x is not None
        out = self.data.x[:, columns].contiguous()
        for rows in cached_rows(out):
            out[rows] = self.data.scales.standardize_cells(out[rows], columns)
        return out

    @cached_property
    def is_heavy(self) -> Tensor:
        """Bool ``[c]``: columns without a spike whose tails are so heavy that no value would be far out."""
        parts = [fit_t_dof(self._standardized(self.smooth[at])) for at in self._column_blocks()]
        return torch.cat(parts) <= NUMERIC.heavy_dof if parts else self.smooth > 0

    def _asinh_scale(self, z: Tensor, which: Tensor | slice) -> Tensor:
        """Values ``[n, c]`` of some of the columns without a spike, those of heavy-tailed columns on an asinh scale."""
        heavy = self.is_heavy[which]
        return torch.where(heavy, z.asinh(), z) if bool(heavy.any()) else z

    def _from_context(self, z: Tensor, observed: Tensor | None) -> Tensor:
        """``beta_1 m1 + beta_2 m2 + constant`` by least squares."""
        z = z.nan_to_num()
        base, one, two = self.context.means(z, observed)
        w = torch.ones_like(z) if observed is None else observed.float()
        y, u, v = z - base, one - base, two - base
        ridge = RIDGE * w.sum(dim=0) + MIN_WEIGHT
        uu, vv = (w * u * u).sum(dim=0) + ridge, (w * v * v).sum(dim=0) + ridge
        uv, uy, vy = (w * u * v).sum(dim=0), (w * u * y).sum(dim=0), (w * v * y).sum(dim=0)
        determinant = uu * vv - uv * uv
        return base + ((uy * vv - vy * uv) * u + (vy * uu - uy * uv) * v) / determinant

    def log_ratio(self, first: int, last: int, probability: Tensor) -> Tensor:
        """``log p(x | wrong) - log p(x | right)`` ``[n, c]``; 0 for columns that are not numeric.

        Args:
            first, last: range of features.
            probability: of an event, from :meth:`ContextModel.probability`.
        """
        out = torch.zeros_like(probability)
        here = slice(*torch.searchsorted(self.smooth, torch.tensor([first, last], device=out.device)).tolist())
        columns = self.smooth[here]
        if columns.numel():
            prediction, spread, tail = self._fit
            tail = Tail(tail.log_weight[:, here], tail.scale[:, here])
            z = self._asinh_scale(self._standardized(columns), here)
            wrong = log_wrong_density(
                z, None if self.context.p_cell_wrong is None else self.context.p_cell_wrong[:, columns]
            )
            for rows in cached_rows(z):
                right = tail.log_density((z[rows] - prediction[rows, here]) / spread[rows, here])
                wrong[rows] = wrong[rows] - right + spread[rows, here].log()
            out[:, columns - first] = wrong
        spike = self.data.spike[first:last]
        spiked = torch.nonzero(self.data.numeric[first:last] & ~spike.isnan()).flatten()
        if spiked.numel():
            distance = self.data.block(first, last)[:, spiked] - spike[spiked]
            out[:, spiked] = spiked_log_ratio(distance, probability[:, spiked], self._row_level)
        return out

    @cached_property
    def _row_level(self) -> Tensor | None:
        """By how much the values of a bag's row are larger than those of other rows ``[n]``, on the log scale: words
        weigh more in short texts. The median over the row's words of ``log |x| -`` the column's median, shrunk by the
        part of its variance that a median of so few words has anyway; None for other data."""
        data = self.data
        if not data.is_bag:
            return None
        center = [nan_median(_log_size(data.block(*each) - data.spike[slice(*each)])) for each in data.ranges()]
        middle, count = torch.zeros(2, data.num_nodes, device=data.device)
        within = concatenated(self._beside_medians(torch.cat(center), middle, count), data.on_disk)
        filled = count > 0
        spread = (NORMAL_MAD * torch.tensor(lower_median(within), device=data.device)).nan_to_num()
        between = _robust_spread(middle[filled] - middle[filled].median()).square().clamp_min(MIN_SQUARE)
        return middle / (1 + math.pi / 2 * spread.square() / (between * count.clamp_min(1)))

    def _beside_medians(self, center: Tensor, middle: Tensor, count: Tensor) -> Iterator[NDArray[np.float32]]:
        """Distances of the values of a bag, ``log |x| -`` the center ``[d]`` of their column, from the medians of their
        rows, a range of rows at a time; the medians ``[n]`` and the numbers of values are written into the others."""
        for rows, row, value in self._log_sizes(center):
            order = value.argsort(stable=True)
            order = order[row[order].argsort(stable=True)]
            length = torch.bincount(row, minlength=rows.stop - rows.start)
            filled, median = length > 0, torch.zeros_like(middle[rows])
            median[filled] = value[order][(length.cumsum(0) - length + length // 2)[filled]]
            middle[rows], count[rows] = median, length.float()
            yield (value - median[row]).abs().cpu().numpy()

    def _log_sizes(self, center: Tensor) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """Ranges of rows, and of the values in them that are not the spike, the number of their row there and
        ``log |x - spike| -`` the center ``[d]`` of their column."""
        data = self.data
        if data.matrix is not None:  # the spikes are 0
            for rows, piece in row_pieces(data.matrix):
                row = torch.from_numpy(np.repeat(np.arange(piece.shape[0]), np.diff(piece.indptr))).to(data.device)
                size = _log_size(torch.from_numpy(piece.data).to(data.device))
                yield rows, row, size - center[torch.from_numpy(piece.indices)]
            return
        assert data.x is not None
        for rows in row_ranges(*data.x.shape):
            size = _log_size(data.x[rows] - data.spike)
            row, column = (~size.isnan()).nonzero(as_tuple=True)
            yield rows, row, size[row, column] - center[column]

    def beside_prediction(self, place: int) -> tuple[Tensor, Tensor]:
        """Values and predictions ``[n]`` of one of the columns without a spike, on the scale of its residuals."""
        here = slice(place, place + 1)
        return self._asinh_scale(self._standardized(self.smooth[here]), here)[:, 0], self._fit[0][:, place]

    def expected(self, row: Tensor, feature: Tensor) -> tuple[Tensor, Tensor]:
        """What the context expects in some cells of columns without a spike, in the units of ``x``, and how many
        spreads away the value is."""
        assert self.data.x is not None
        place = torch.searchsorted(self.smooth, feature)
        prediction, spread, _ = self._fit
        z = self.data.scales.standardize_cells(self.data.x[row, feature], feature)
        middle, heavy = prediction[row, place], self.is_heavy[place]
        distance = (torch.where(heavy, z.asinh(), z) - middle).abs()
        plain = torch.where(heavy, middle.sinh(), middle)
        return self.data.scales.restore(plain, feature), distance / spread[row, place]


def _log_size(distance: Tensor) -> Tensor:
    """``log |x - spike|``, NaN on the spike."""
    return torch.where(distance != 0, distance.abs(), torch.full_like(distance, float("nan"))).log()


def spiked_log_ratio(distance: Tensor, probability: Tensor, row_level: Tensor | None = None) -> Tensor:
    """``log p(x | wrong) - log p(x | right)`` for distances ``[n, c]`` from a spike, given the probability of not being
    on it, and by how much each row ``[n]`` is larger than others on the log scale."""
    size = _log_size(distance)
    event = ~size.isnan()
    center = nan_median(size).nan_to_num()
    residual = size - center if row_level is None else size - center - row_level[:, None]
    spread = _robust_spread(residual).clamp_min(NUMERIC.min_log_spread)
    nu = fit_t_dof(residual / spread, DEGENERATE / NORMAL_MAD)
    count = event.sum(dim=0)
    up = ((distance > 0).sum(dim=0) + 0.5) / (count + 1)
    side = torch.where(distance > 0, up, 1 - up)
    # densities with respect to the distance from the spike, in units of its median
    right = log_t_density(residual / spread, nu) - spread.log() - (size - center)
    scale = NUMERIC.wrong_scale
    wrong = math.log(2 / (math.pi * scale)) - torch.log1p(((size - center).exp() / scale).square())
    filled = count / (~distance.isnan()).sum(dim=0).clamp_min(1)
    on_spike = 0.5 * (1 - filled).clamp_min(MIN_PROBABILITY)
    moved = (1 - on_spike).log() + math.log(0.5) + wrong - probability.log() - side.log() - right
    return torch.where(event, moved, on_spike.log() - (1 - probability).log())


def _spread_by_degree(residual: Tensor, degree: Tensor) -> Tensor:
    """Robust spread ``[n, c]`` of residuals, by the number of neighbors; small groups are shrunk toward all nodes."""
    overall = _robust_spread(residual)
    out = overall.expand_as(residual).clone()
    for step in range(len(NUMERIC.degree_edges) + 1):
        members = degree == step
        count = int(members.sum())
        if count >= NUMERIC.min_group:
            weight = count / (count + NUMERIC.prior_cells)
            out[members] = weight * _robust_spread(residual[members]) + (1 - weight) * overall
    return out.clamp_min(NUMERIC.min_spread)


def spread_by_prediction(u: Tensor, prediction: Tensor) -> Tensor:
    """By how much residuals ``[n, c]`` are wider where the prediction is small, or large, than on the whole."""
    ordered = prediction[:: max(1, prediction.shape[0] // SAMPLED_ROWS)].sort(dim=0).values
    edges = ordered[[ordered.shape[0] * k // LEVELS for k in range(1, LEVELS)]]
    group = torch.zeros(prediction.shape, dtype=torch.uint8, device=u.device)
    for edge in edges:
        group += prediction > edge
    size, prior = u.abs(), NUMERIC.prior_cells
    overall = (NORMAL_MAD * nan_median(size).nan_to_num()).clamp_min(MIN_WEIGHT)
    median, count = group_medians(size, group, LEVELS)
    own = NORMAL_MAD * median.nan_to_num() / overall
    relative = ((count * own + prior) / (count + prior)).clamp_min(NUMERIC.min_relative_spread)
    for rows in cached_rows(size):
        size[rows] = relative.gather(0, group[rows].long())
    return size


def _grid_step(z: Tensor) -> Tensor:
    """The median gap between neighboring values ``[c]`` of columns with few different ones, else 0. Rare values, such
    as ratings that were multiplied, are no part of the grid."""
    out = torch.zeros(z.shape[1], device=z.device)
    for j in range(z.shape[1]):
        some = z[: min(GRID_SAMPLE, z.shape[0]), j]
        known = some[~some.isnan()]
        different, times = known.unique(return_counts=True)
        if 1 < different.numel() <= NUMERIC.max_grid_values and different.numel() < some.numel() / 2:
            usual = different[times > DATA.max_exceptions * known.numel()]
            out[j] = (usual if usual.numel() > 1 else different).diff().median()
    return out


def _row_scale(u: Tensor) -> Tensor:
    """By how much the median residual of a row exceeds that of all rows, or falls below it ``[n, 1]``: some rows vary
    more than others.

    Shrunk by the part of its variance that the median of so few numbers has anyway. In a
    narrow row everything stands out, so a row is narrow only where two standard errors show it, and only if the far
    values of such rows (their 99 % point) are no larger than those of the others. Errors are as large in narrow rows as
    elsewhere; where narrow rows have even larger values, their middle says nothing about their tail.
    """
    middle = median_size(u)[:, None].nan_to_num()
    ratio = (middle.clamp_min(MIN_WEIGHT) / middle.median().clamp_min(MIN_WEIGHT)).log()
    variance = (NORMAL_MAD * ratio.abs().median()).square().clamp_min(MIN_WEIGHT)
    chance = LOG_MEDIAN_VARIANCE / u.shape[1]
    level = (1 - chance / variance).clamp_min(0) * ratio
    narrow = (level < -SIGNIFICANT * chance**0.5)[:, 0] & ~u.isnan().all(dim=1)
    usual = ~narrow & (level[:, 0] <= 0)
    if bool(narrow.any()) and bool(usual.any()):
        narrow &= _tail_quantile(u, narrow) <= _tail_quantile(u, usual)
    return torch.where((level > 0) | narrow[:, None], level, torch.zeros_like(level)).exp()


def _tail_quantile(u: Tensor, members: Tensor) -> float:
    """The 99 % point of ``|u|``, over some of the members among the rows."""
    rows = members.nonzero().flatten()
    size = u[rows[:: max(1, rows.numel() * u.shape[1] // SAMPLED_CELLS)]].abs()
    return float(size[~size.isnan()].quantile(FAR_QUANTILE))


def _robust_spread(values: Tensor) -> Tensor:
    """Median absolute deviation from 0 ``[c]``, consistent for the normal distribution (Rousseeuw & Croux 1993)."""
    return NORMAL_MAD * nan_median(values.abs()).nan_to_num()


def log_cauchy_density(z: Tensor) -> Tensor:
    """Log density of the Cauchy distribution of wrong values, in spreads of their column."""
    scale = NUMERIC.wrong_scale
    return -math.log(math.pi * scale) - torch.log1p((z / scale).square())


def log_wrong_density(z: Tensor, p_cell_wrong: Tensor | None = None) -> Tensor:
    r"""Log density of wrong values ``[n, c]``: :math:`(1 - \lambda_j)\,\mathrm{Cauchy}(0, 3) + \lambda_j h_j`.

    ``h`` is the smoothed histogram of the values judged wrong in the same column, without the cell itself, and
    :math:`\lambda = N / (N + 10)` for N such cells.

    Args:
        z: values on the common scale.
        p_cell_wrong: probability that each is wrong, as far as it is known.
    """
    if p_cell_wrong is None:
        return log_cauchy_density(z)
    bins, prior = NUMERIC.histogram_bins, NUMERIC.prior_wrong_cells
    wrong = torch.where(p_cell_wrong > 0.5, p_cell_wrong, torch.zeros((), device=z.device))
    total, histogram = wrong.sum(dim=0), torch.zeros(2 * bins + len(BINOMIAL_KERNEL) - 1, z.shape[1], device=z.device)

    def bin_of(rows: slice) -> tuple[Tensor, Tensor]:
        place = (z[rows].nan_to_num() * BINS_PER_SPREAD + bins).floor()
        inside = (place >= 0) & (place < 2 * bins)
        return place.clamp(0, 2 * bins - 1).long(), inside

    for rows in cached_rows(z):
        place, inside = bin_of(rows)
        histogram.scatter_add_(0, place + 2, wrong[rows] * inside)
    kernel = torch.tensor(BINOMIAL_KERNEL, device=z.device)
    smooth = (histogram.unfold(0, kernel.numel(), 1) * kernel).sum(dim=-1)
    for rows in cached_rows(z):
        place, inside = bin_of(rows)
        others = (total - wrong[rows]).clamp_min(0)
        near = (smooth.gather(0, place) - kernel[2] * wrong[rows]).clamp_min(0) * inside
        wrong[rows] = ((prior * log_cauchy_density(z[rows]).exp() + BINS_PER_SPREAD * near) / (prior + others)).log()
    return wrong
