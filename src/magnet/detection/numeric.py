"""How likely a number is where it stands: densities of numeric columns, right and wrong."""

from __future__ import annotations

import math
from functools import cached_property

import torch
from torch import Tensor

from magnet.detection.expectation import Expectation

# Tail weights tried for the right values, from heavy to normal, and the ratio of their 95 % to their 75 % point.
FREEDOM = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 30.0)
TAIL = (6.314, 4.246, 3.576, 3.077, 2.878, 2.708, 2.59, 2.486)
# Rows of this many numbers have a spread of their own.
MANY = 16
# Columns with tails as heavy as with so many degrees of freedom are looked at on a scale that is logarithmic far out.
HEAVY = 1.0
# and their residuals never have lighter tails than with so many.
CAREFUL = 3.0
# Wrong values are spread like a Cauchy distribution of this many spreads.
WIDE = 3.0
# Wrong values of a column that must be known before they count as much as that distribution.
ENOUGH = 10
# Known wrong values are counted in bins of a quarter of a spread, so many to each side of the middle.
BINS = 48


class Numbers:
    r"""Right values of a numeric column follow the context, wrong ones do not.

    On the common scale, with the means :math:`m^1, m^2` of the neighbours,

    .. math::
        z_{ij} = \beta_{1j} m^1_{ij} + \beta_{2j} m^2_{ij} + s_j(k_i)\, t_{\nu_j},
        \qquad z^{\text{wrong}}_{ij} \sim \mathrm{Cauchy}(0, 3),

    where the spread :math:`s_j` depends on the number of neighbours :math:`k_i` and on the prediction, both in four
    steps, and, with 16 columns or more, is multiplied by the row's median residual where that is larger than usual. In
    tables of up to 256 columns the prediction is that of :func:`~magnet.detection.regression.regress`, which also
    knows the rest of the row.

    Cells that were judged wrong before do not count for the spread and the tail. Where there are many in a column, they
    say where its wrong values lie (the same slip, the same placeholder): see :func:`log_wrong`.

    A column with a spike (see :class:`Expectation`) has two parts: whether the value is the spike, and how far from
    it the others lie: :math:`\log |x - \text{spike}|` follows a t distribution, each side with its share.

    Args:
        expectation: of the same data.
    """

    def __init__(self, expectation: Expectation) -> None:
        self.expectation, self.view = expectation, expectation.view
        numeric = self.view.of_kind("count", "continuous")
        self.smooth = torch.nonzero(numeric & expectation.spike.isnan()).flatten()
        edges = torch.tensor([0.5, 2.5, 6.5], device=self.view.device)
        self.steps = torch.bucketize(self.view.neighbours.contiguous(), edges)

    @cached_property
    def _smooth(self) -> tuple[Tensor, Tensor, Tensor]:
        """Of the columns without a spike: prediction and spread ``[n, c]`` on the common scale, freedom ``[c]``."""
        plain = self._standard(self.smooth)
        joint = self.expectation.regression
        if joint is not None:
            prediction, widening = joint[0][:, self.smooth], (1 - joint[1][:, self.smooth]).rsqrt()
        else:
            widening = torch.ones((), device=plain.device)
            seen = None if self.view.missing is None else ~self.view.missing[:, self.smooth]
            prediction = self._from_context(plain.clamp(-4, 4), seen)
        z, prediction = self._bend(plain, slice(None)), self._bend(prediction, slice(None))
        residual = (z - prediction) / widening
        if self.expectation.doubt is not None:
            residual = residual.masked_fill(self.expectation.doubt[:, self.smooth] > 0.5, float("nan"))
        least = 0.6 * grid_step(z)
        spread = torch.maximum(spread_by_step(residual, self.steps), least)
        spread = torch.maximum(spread * spread_by_level(residual / spread, prediction), least)
        if self.smooth.numel() >= MANY:
            spread = spread * row_scale(residual / spread)
        nu = freedom(residual / spread)
        # what is rare in a heavy column is rarer still in the part that was fitted
        return prediction, spread * widening, torch.where(self._heavy, nu.clamp_max(CAREFUL), nu)

    def _standard(self, columns: Tensor) -> Tensor:
        assert self.view.x is not None
        z = torch.empty(self.view.nodes, columns.numel(), device=self.view.device)
        for at in range(0, columns.numel(), 64):
            some = columns[at : at + 64]
            z[:, at : at + 64] = self.view.scales.standardise_cells(self.view.x[:, some], some)
        return z

    @cached_property
    def _heavy(self) -> Tensor:
        """Bool ``[c]``: columns whose values have so heavy tails that nothing would be far out."""
        return freedom(self._standard(self.smooth)) <= HEAVY

    def _bend(self, z: Tensor, which: Tensor | slice) -> Tensor:
        """Values ``[n, c]`` of some of the columns without a spike; the large ones of heavy columns as logarithms."""
        return torch.where(self._heavy[which], z.asinh(), z)

    def _from_context(self, z: Tensor, seen: Tensor | None) -> Tensor:
        """``beta_1 m1 + beta_2 m2 + constant`` by least squares."""
        z = z.nan_to_num()
        base, one, two = self.expectation.means(z, seen)
        w = torch.ones_like(z) if seen is None else seen.float()
        y, u, v = z - base, one - base, two - base
        ridge = 1e-3 * w.sum(dim=0) + 1e-9
        uu, vv = (w * u * u).sum(dim=0) + ridge, (w * v * v).sum(dim=0) + ridge
        uv, uy, vy = (w * u * v).sum(dim=0), (w * u * y).sum(dim=0), (w * v * y).sum(dim=0)
        determinant = uu * vv - uv * uv
        return base + ((uy * vv - vy * uv) * u + (vy * uu - uy * uv) * v) / determinant

    def log_ratio(self, first: int, last: int, chance: Tensor) -> Tensor:
        """``log p(x | wrong) - log p(x | right)`` ``[n, c]``; 0 for columns that are not numeric.

        Args:
            first, last: range of features.
            chance: probability of an event, from :meth:`Expectation.chance`.
        """
        out = torch.zeros_like(chance)
        here = (self.smooth >= first) & (self.smooth < last)
        if bool(here.any()):
            columns = self.smooth[here]
            prediction, spread, nu = (part[..., here] for part in self._smooth)
            z = self._bend(self._standard(columns), here)
            doubt = None if self.expectation.doubt is None else self.expectation.doubt[:, columns]
            out[:, columns - first] = log_wrong(z, doubt) - log_t((z - prediction) / spread, nu) + spread.log()
        numeric = self.view.of_kind("count", "continuous")[first:last]
        spiked = torch.nonzero(numeric & ~self.expectation.spike[first:last].isnan()).flatten()
        if spiked.numel():
            away = self.view.block(first, last)[:, spiked] - self.expectation.spike[first:last][spiked]
            out[:, spiked] = spiked_ratio(away, chance[:, spiked])
        return out

    def expected(self, row: Tensor, feature: Tensor) -> tuple[Tensor, Tensor]:
        """What the context expects in some cells of columns without a spike, in the units of ``x``, and how many
        spreads away the value is."""
        place = torch.searchsorted(self.smooth, feature)
        prediction, spread, _ = self._smooth
        z = self.view.scales.standardise_cells(self.view.x[row, feature], feature)  # type: ignore[index]
        middle = prediction[row, place]
        plain = torch.where(self._heavy[place], middle.sinh(), middle)
        away = (torch.where(self._heavy[place], z.asinh(), z) - middle).abs()
        return self.view.scales.natural(plain, feature), away / spread[row, place]


def spiked_ratio(away: Tensor, chance: Tensor) -> Tensor:
    """``log p(wrong) - log p(right)`` for distances ``[n, c]`` from a spike, given the chance of not being on it."""
    event = (away != 0) & ~away.isnan()
    size = torch.where(event, away.abs(), torch.full_like(away, float("nan"))).log()
    centre = size.nanmedian(dim=0).values.nan_to_num()
    spread = mad(size - centre).clamp_min(0.4)
    nu = freedom((size - centre) / spread)
    count = event.sum(dim=0)
    up = ((away > 0).sum(dim=0) + 0.5) / (count + 1)
    side = torch.where(away > 0, up, 1 - up)
    # densities with respect to the distance from the spike, in units of its median
    right = log_t((size - centre) / spread, nu) - spread.log() - (size - centre)
    wrong = math.log(2 / (math.pi * WIDE)) - torch.log1p(((size - centre).exp() / WIDE).square())
    filled = count / (~away.isnan()).sum(dim=0).clamp_min(1)
    on_spike = 0.5 * (1 - filled).clamp_min(1e-6)
    moved = (1 - on_spike).log() + math.log(0.5) + wrong - chance.log() - side.log() - right
    return torch.where(event, moved, on_spike.log() - (1 - chance).log())


def spread_by_step(residual: Tensor, steps: Tensor) -> Tensor:
    """Robust spread ``[n, c]`` of residuals, by the amount of context; few nodes borrow from all."""
    overall = mad(residual)
    out = overall.expand_as(residual).clone()
    for step in range(4):
        members = steps == step
        count = int(members.sum())
        if count >= 20:
            weight = count / (count + 50)
            out[members] = weight * mad(residual[members]) + (1 - weight) * overall
    return out.clamp_min(0.02)


def spread_by_level(u: Tensor, level: Tensor, groups: int = 4) -> Tensor:
    """By how much residuals ``[n, c]`` are wider where the prediction is small, or large, than on the whole."""
    some = level[:: max(1, level.shape[0] // 10_000)].sort(dim=0).values
    edges = some[[some.shape[0] * k // groups for k in range(1, groups)]]
    group = (level > edges[:, None]).sum(dim=0)
    overall = mad(u).clamp_min(1e-9)
    out = torch.ones_like(u)
    for k in range(groups):
        members = group == k
        count = members.sum(dim=0)
        own = mad(u.masked_fill(~members, float("nan"))) / overall
        out = torch.where(members, (count * own + 50) / (count + 50), out)
    return out.clamp_min(0.1)


def grid_step(z: Tensor) -> Tensor:
    """The median gap between neighbouring values ``[c]`` of columns with at most 50 different ones, else 0."""
    out = torch.zeros(z.shape[1], device=z.device)
    for j in range(z.shape[1]):
        some = z[: min(1000, z.shape[0]), j]
        different = some[~some.isnan()].unique()
        if 1 < different.numel() <= 50 and different.numel() < some.numel() / 2:
            out[j] = different.diff().median()
    return out


def row_scale(u: Tensor) -> Tensor:
    """By how much the median residual of a row exceeds that of all rows ``[n, 1]``: some rows are just wilder.

    Shrunk by the part of its variance that the median of so few numbers has anyway (1.36 / d for its logarithm).
    """
    middle = u.abs().nanmedian(dim=1, keepdim=True).values.nan_to_num()
    ratio = (middle.clamp_min(1e-9) / middle.median().clamp_min(1e-9)).log()
    variance = (1.4826 * ratio.abs().median()).square().clamp_min(1e-9)
    return ((1 - 1.36 / u.shape[1] / variance).clamp_min(0) * ratio).clamp_min(0).exp()


def mad(values: Tensor) -> Tensor:
    """1.4826 times the median absolute value ``[c]``."""
    return 1.4826 * values.abs().nanmedian(dim=0).values.nan_to_num()


def freedom(u: Tensor) -> Tensor:
    """Degrees of freedom ``[c]`` of the t distribution whose tail is most like that of ``u``."""
    ordered = u.abs().sort(dim=0).values  # NaN last
    known = (~u.isnan()).sum(dim=0)
    low, high = (ordered.gather(0, ((known - 1).clamp_min(0) * q).long()[None])[0] for q in (0.5, 0.9))
    ratio = (high / low.clamp_min(1e-9)).nan_to_num()
    nearest = (ratio[:, None].log() - torch.tensor(TAIL, device=u.device).log()).abs().argmin(dim=1)
    return torch.tensor(FREEDOM, device=u.device)[nearest]


def log_t(u: Tensor, nu: Tensor) -> Tensor:
    """Log density of the t distribution."""
    constant = torch.lgamma((nu + 1) / 2) - torch.lgamma(nu / 2) - 0.5 * (nu * math.pi).log()
    return constant - (nu + 1) / 2 * torch.log1p(u.square() / nu)


def log_wrong(z: Tensor, doubt: Tensor | None = None) -> Tensor:
    r"""Log density of wrong values ``[n, c]``: :math:`(1 - \lambda_j)\,\mathrm{Cauchy}(0, 3) + \lambda_j h_j`.

    ``h`` is the smoothed histogram of what was judged wrong in the same column, without the cell itself, and
    :math:`\lambda = N / (N + 10)` for N such cells.

    Args:
        z: values on the common scale.
        doubt: probability that each is wrong, as far as it is known.
    """
    wide = log_cauchy(z)
    if doubt is None:
        return wide
    wrong = torch.where(doubt > 0.5, doubt, torch.zeros_like(doubt))
    place = (z.nan_to_num() * 4 + BINS).floor()
    inside = (place >= 0) & (place < 2 * BINS)
    place = place.clamp(0, 2 * BINS - 1).long()
    histogram = torch.zeros(2 * BINS + 4, z.shape[1], device=z.device).scatter_add_(0, place + 2, wrong * inside)
    kernel = torch.tensor([1.0, 4.0, 6.0, 4.0, 1.0], device=z.device) / 16
    smooth = (histogram.unfold(0, 5, 1) * kernel).sum(dim=-1)
    others = (wrong.sum(dim=0) - wrong).clamp_min(0)
    near = (smooth.gather(0, place) - kernel[2] * wrong).clamp_min(0) * inside
    return ((ENOUGH * wide.exp() + 4 * near) / (ENOUGH + others)).log()


def log_cauchy(z: Tensor, scale: float = WIDE) -> Tensor:
    """Log density of the Cauchy distribution."""
    return -math.log(math.pi * scale) - torch.log1p((z / scale).square())
