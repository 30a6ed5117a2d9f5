"""Leave-one-out ridge regression (PRESS residuals; Allen 1974) of each column on the others and on the neighbors.

All columns have the same predictors, penalty and weights, so that one inverse serves thousands of them, and missing
cells are integrated out. :mod:`magnet.tables.numbers.ridge` fits one column at a time, with features, a penalty and
robust weights of its own, which takes one decomposition per column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from magnet.detection.data.columns import Column
from magnet.detection.data.scales import median_size, nan_median
from magnet.detection.data.scratch import row_ranges
from magnet.detection.options import CONTEXT, DATA, MIN_WEIGHT, NUMERIC
from magnet.scales import NORMAL_MAD

#: EM steps for missing cells. On a table with a duplicated column, 5 % missing, a fourth one moves predictions by less
#: than 0.01 spreads.
FILL_STEPS = 3
FILL_PIECES = 8  # a block is divided by this for the inverses of missing cells; bounds memory


def leave_one_out_ridge(
    F: Tensor,
    columns: Sequence[Column],
    ridge: float | None = None,
    unclipped: Callable[[slice | Tensor], Tensor] | None = None,
    missing: Tensor | None = None,
    empty: Callable[..., Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    r"""Ridge regression of every column (every category as a whole) on everything but itself, without the row that is
    predicted: in a small table a single wrong cell would otherwise draw the prediction to itself.

    With centered :math:`F = [z, m^1, m^2]` and :math:`\Theta = (F^\top F / n + \mathrm{ridge})^{-1}`, the residuals of
    the columns ``g`` given all others are :math:`e = (F \Theta)_g \Theta_{gg}^{-1}`, and the leverage of a row ``f`` is
    :math:`h = (f \Theta f^\top - e\, (f \Theta)_g^\top) / n`: one inverse serves all columns. Without the row itself
    its residual is :math:`e / (1 - h)`, whose deviation is :math:`1 / \sqrt{1 - h}` times that of the noise.

    Missing cells M of a row are integrated out, as in EM for a normal distribution (Dempster, Laird & Rubin 1977): they
    take the values expected from the rest of the row, and :math:`\Theta_{jj}` becomes
    :math:`\Theta_{jj} - \Theta_{jM} \Theta_{MM}^{-1} \Theta_{Mj}`. So what is predicted from a cell that is missing is
    predicted with less confidence.

    Args:
        F: values ``z`` on the common scale, clipped so that no single one has much weight, and their means over one and
            two hops, side by side ``[n, 3 d]``. Missing values are filled in; where there are none, the results take
            the place of the values and of the means over one hop.
        columns: which features belong together.
        ridge: (default: ``CONTEXT.ridge``)
        unclipped: gives some rows ``[rows, d]`` of the same values before clipping, for tables of few columns. In rows
            that are extreme throughout, a number is predicted from these if that is nearer to it. In other rows they do
            not count: one outlier does not make the rest of its row look wrong, and several outliers in one row
            cannot explain one another.
        missing: bool ``[n, d]``. (default: none)
        empty: makes matrices. (default: in memory)

    Returns:
        predictions ``[n, d]`` and by how much the deviation of their residuals exceeds that of the noise ``[n, d]``.
    """
    n, d = F.shape[0], F.shape[1] // 3
    z = F[:, :d]
    blocks = [slice(start, start + CONTEXT.ridge_block_rows) for start in range(0, n, CONTEXT.ridge_block_rows)]
    center, theta = _precision(F, missing, blocks, CONTEXT.ridge if ridge is None else ridge)
    numeric = [c.start for c in columns if c.kind in ("continuous", "count")]
    extreme = _extreme_rows(z, unclipped, missing, numeric) if unclipped is not None and numeric else None
    extreme_part = None if extreme is None else F[extreme[0]] - center  # the results may take the place of F
    out, widening, added = z, F[:, d : 2 * d], None
    if missing is not None:
        out, widening, added = ((empty or F.new_empty)(n, d) for _ in range(3))
    residuals = _Residuals(theta, columns)
    for rows in blocks:
        part = F[rows] - center
        gain = None if missing is None else _fill(part, missing[rows], theta, center)[2]
        residual, leverage = residuals(part)
        kept = 1 - (leverage / n).clamp(0, CONTEXT.max_leverage)
        out[rows] = z[rows] - (residual if gain is None else residual * gain) / kept
        widening[rows] = kept.rsqrt()
        if added is not None and gain is not None:
            added[rows] = (gain - 1) / theta.diagonal()[:d]
    if missing is not None and added is not None:
        # what is added to the variance, relative to the residuals themselves: theirs in theta contains the ridge
        noise = NORMAL_MAD * nan_median((z - out).abs().masked_fill(missing, torch.nan)).nan_to_num()
        widening *= (1 + added / noise.clamp_min(NUMERIC.min_spread).square()).sqrt()
    if extreme is not None and extreme_part is not None:
        chosen, values = extreme
        extreme_part[:, :d] = values - center[:d]
        residual = (extreme_part @ theta[:, numeric].float()) / theta[numeric, numeric].float()
        at = (chosen[:, None], torch.tensor(numeric, dtype=torch.long, device=z.device)[None])
        nearer = residual.abs() < (values[:, numeric] - out[at]).abs()
        out[at] = torch.where(nearer, values[:, numeric] - residual, out[at])
    return out, widening


def _precision(F: Tensor, missing: Tensor | None, blocks: Sequence[slice], penalty: float) -> tuple[Tensor, Tensor]:
    r"""The center of the features ``[3 d]`` and :math:`\Theta`; missing cells of ``F`` take their expected values."""
    n, d = F.shape[0], F.shape[1] // 3
    unknown = torch.zeros(d, d, dtype=torch.float64, device=F.device)  # covariance of the missing cells
    for _ in range(1 if missing is None else FILL_STEPS):
        center = F.mean(dim=0)
        gram = torch.zeros(3 * d, 3 * d, dtype=torch.float64, device=F.device)
        for rows in blocks:
            part = F[rows] - center
            gram += (part.T @ part).double() / n
        gram[:d, :d] += unknown / n
        theta = torch.linalg.inv(gram + penalty * torch.eye(3 * d, dtype=torch.float64, device=F.device))
        if missing is not None:
            unknown.zero_()
            for rows in blocks:
                F[rows], covariance, _ = _fill(F[rows] - center, missing[rows], theta, center)
                unknown += covariance
    return center, theta


class _Residuals:
    """Residuals and leverages (times n) ``[rows, d]`` of centered rows ``[rows, 3 d]``; columns of one feature are
    computed all at once."""

    def __init__(self, theta: Tensor, columns: Sequence[Column]) -> None:
        self._theta, self._features = theta.float(), sum(c.stop - c.start for c in columns)
        inverses = {c: torch.linalg.inv(theta[c.start : c.stop, c.start : c.stop]).float() for c in columns}
        single = [c for c in columns if c.stop == c.start + 1]
        self._single = torch.tensor([c.start for c in single], dtype=torch.long, device=theta.device)
        self._single_inverse = (
            torch.cat([inverses.pop(c).flatten() for c in single]) if single else self._theta.new_empty(0)
        )
        self._grouped = [(slice(c.start, c.stop), inverse) for c, inverse in inverses.items()]

    def __call__(self, part: Tensor) -> tuple[Tensor, Tensor]:
        product, own = part @ self._theta, self._single
        size = (product * part).sum(dim=1, keepdim=True)
        residual, leverage = torch.empty(2, len(part), self._features, dtype=part.dtype, device=part.device)
        residual[:, own] = product[:, own] * self._single_inverse
        leverage[:, own] = size - residual[:, own] * product[:, own]
        for g, inverse in self._grouped:
            residual[:, g] = product[:, g] @ inverse
            leverage[:, g] = size - (residual[:, g] * product[:, g]).sum(dim=1, keepdim=True)
        return residual, leverage


def _extreme_rows(
    z: Tensor, unclipped: Callable[[slice | Tensor], Tensor], missing: Tensor | None, numeric: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Numbers of the rows that are extreme throughout and were clipped, and their values before ``[rows, d]``."""

    def values_of(rows: slice | Tensor) -> Tensor:
        values = unclipped(rows)
        return values if missing is None else torch.where(missing[rows], z[rows], values)

    found = []
    for rows in row_ranges(*z.shape):
        values = values_of(rows)
        clipped = (values != z[rows]).any(dim=1)
        found.append(clipped & (median_size(values[:, numeric]) > CONTEXT.extreme_row_value))
    chosen = torch.cat(found).nonzero().flatten()
    return chosen, values_of(chosen)


def _fill(part: Tensor, missing: Tensor, theta: Tensor, center: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Fill centered rows ``[r, 3 d]`` with what is expected in their missing cells ``[r, d]``.

    Returns the rows with their centers, the sum of the covariances ``[d, d]`` of the missing cells, and the factor
    ``[r, d]`` by which the variance of each cell, given the others, is larger because these are missing."""
    d = missing.shape[1]
    covariance, gain = torch.zeros_like(theta[:d, :d]), torch.ones(missing.shape, device=part.device)
    own, count = theta.diagonal()[:d], missing.sum(dim=1)
    for k in count[count > 0].unique().tolist():
        for rows in (count == k).nonzero().flatten().split(max(1, DATA.cells_per_block // (FILL_PIECES * k * (k + d)))):
            at = missing[rows].nonzero()[:, 1].reshape(-1, k)
            inverse = torch.linalg.inv(theta[at[:, :, None], at[:, None]])
            part[rows[:, None], at] = 0
            pull = (part[rows].double() @ theta).gather(1, at)
            part[rows[:, None], at] = -(inverse @ pull[:, :, None])[:, :, 0].float()
            covariance.index_put_((at[:, :, None], at[:, None]), inverse, accumulate=True)
            cross = theta[at, :d]
            left = own - (cross * (inverse @ cross)).sum(dim=1)
            gain[rows] = (own / left.clamp_min(MIN_WEIGHT)).float()
    return part + center, covariance, gain.masked_fill_(missing, 1.0)
