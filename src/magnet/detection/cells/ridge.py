"""Leave-one-out ridge regression (PRESS residuals; Allen 1974) of each column on the others and on the neighbors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from magnet.detection.data.columns import Column
from magnet.detection.data.scales import median_size
from magnet.detection.data.scratch import row_ranges
from magnet.detection.options import CONTEXT


def leave_one_out_ridge(
    F: Tensor,
    columns: Sequence[Column],
    ridge: float | None = None,
    unclipped: Callable[[slice | Tensor], Tensor] | None = None,
    empty: Callable[..., Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    r"""Ridge regression of every column (every category as a whole) on everything but itself, without the row that is
    predicted: in a small table a single wrong cell would otherwise draw the prediction to itself.

    With centered :math:`F = [z, m^1, m^2]` and :math:`\Theta = (F^\top F / n + \mathrm{ridge})^{-1}`, the residuals of
    the columns ``g`` given all others are :math:`e = (F \Theta)_g \Theta_{gg}^{-1}`, and the leverage of a row ``f`` is
    :math:`h = (f \Theta f^\top - e\, (f \Theta)_g^\top) / n`: one inverse serves all columns. Without the row itself
    its residual is :math:`e / (1 - h)`, whose deviation is :math:`1 / \sqrt{1 - h}` times that of the noise.

    Args:
        F: values ``z`` on the common scale, clipped so that no single one has much weight, 0 where missing, and their
            means over one and two hops, side by side ``[n, 3 d]``.
        columns: which features belong together.
        ridge: (default: ``CONTEXT.ridge``)
        unclipped: gives some rows ``[rows, d]`` of the same values before clipping, for tables of few columns. In rows
            that are extreme throughout, a number is predicted from these if that is nearer to it. In other rows they do
            not count: one wild cell does not make the rest of its row look wrong, and several outliers in one row
            cannot explain one another.
        empty: makes the matrices. (default: in memory)

    Returns:
        predictions ``[n, d]`` and leverages ``[n, d]``.
    """
    n, d = F.shape[0], F.shape[1] // 3
    z, center, empty = F[:, :d], F.mean(dim=0), empty or F.new_empty
    blocks = [slice(start, start + CONTEXT.ridge_block_rows) for start in range(0, n, CONTEXT.ridge_block_rows)]
    gram = torch.zeros(3 * d, 3 * d, dtype=torch.float64, device=z.device)
    for rows in blocks:
        part = F[rows] - center
        gram += (part.T @ part).double() / n
    penalty = CONTEXT.ridge if ridge is None else ridge
    theta = torch.linalg.inv(gram + penalty * torch.eye(3 * d, dtype=torch.float64, device=z.device))
    out, leverage = empty(n, d), empty(n, d)
    inverses = {c: torch.linalg.inv(theta[c.start : c.stop, c.start : c.stop]).float() for c in columns}
    # columns of one feature all at once
    single = [c for c in columns if c.stop == c.start + 1]
    own = torch.tensor([c.start for c in single], dtype=torch.long, device=z.device)
    own_inverse = torch.cat([inverses.pop(c).flatten() for c in single]) if single else z.new_empty(0)
    for rows in blocks:
        part = F[rows] - center
        product = part @ theta.float()
        size = (product * part).sum(dim=1, keepdim=True)
        residual = product[:, own] * own_inverse
        leverage[rows, own] = ((size - residual * product[:, own]) / n).clamp(0, CONTEXT.max_leverage)
        out[rows, own] = z[rows][:, own] - residual / (1 - leverage[rows][:, own])
        for c, inverse in inverses.items():
            g = slice(c.start, c.stop)
            residual = product[:, g] @ inverse
            h = (size - (residual * product[:, g]).sum(dim=1, keepdim=True)) / n
            leverage[rows, g] = h.clamp(0, CONTEXT.max_leverage)
            out[rows, g] = z[rows, g] - residual / (1 - leverage[rows, g])
    numeric = [c.start for c in columns if c.kind in ("continuous", "count")]
    if unclipped is not None and numeric:
        found = []
        for rows in row_ranges(n, d):
            values = unclipped(rows)
            wild = (values != z[rows]).any(dim=1)
            found.append(wild & (median_size(values[:, numeric]) > CONTEXT.extreme_row_value))
        chosen = torch.cat(found).nonzero().flatten()
        values, part = unclipped(chosen), F[chosen] - center
        part[:, :d] = values - center[:d]
        residual = (part @ theta[:, numeric].float()) / theta[numeric, numeric].float()
        at = (chosen[:, None], torch.tensor(numeric, dtype=torch.long, device=z.device)[None])
        nearer = residual.abs() < (values[:, numeric] - out[at]).abs()
        out[at] = torch.where(nearer, values[:, numeric] - residual, out[at])
    return out, leverage
