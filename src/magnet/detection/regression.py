"""Each column of a table predicted from the others and from the neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from magnet.detection.columns import Column

# No row decides more of its own prediction than this: beyond it nothing is left to judge it by.
MOST = 0.95
# A row is extreme throughout if most of its numbers are more spreads than this from the middle.
EXTREME = 2.0
# Rows that are worked on at once.
ROWS = 1 << 16


def regress(
    z: Tensor, one: Tensor, two: Tensor, columns: Sequence[Column], ridge: float = 0.01, whole: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    r"""Ridge regression of every column (every category as a whole) on all that is known but itself, and without the
    row that is predicted: in a small table a single wrong cell would otherwise draw the prediction to itself.

    With :math:`F = [z, m^1, m^2]` and :math:`\Theta = (F^\top F / n + \mathrm{ridge})^{-1}`, the residuals of the
    columns ``g`` given all others are :math:`e = (F \Theta)_g \Theta_{gg}^{-1}`, and the leverage of a row ``f`` is
    :math:`h = (f \Theta f^\top - e\, (f \Theta)_g^\top) / n`: one inverse serves all columns. Without the row itself
    its residual is :math:`e / (1 - h)`, whose deviation is :math:`1 / \sqrt{1 - h}` times that of the noise.

    Args:
        z: values on the common scale ``[n, d]``, cut so that no single one has much weight; 0 where missing.
        one, two: means over one and two hops ``[n, d]``.
        columns: which features belong together.
        ridge: (default: ``0.01``)
        whole: the same values before they were cut, for tables of few columns. In rows that are extreme throughout a
            number is predicted from those, if it is nearer to what follows from them. In others they do not count: one
            wild cell does not make the rest of its row look wrong, and several do not excuse each other.

    Returns:
        predictions ``[n, d]`` and the leverages ``[n, d]``.
    """
    n, d = z.shape
    mean = z.mean(dim=0)
    F = torch.cat([z - mean, one - one.mean(dim=0), two - two.mean(dim=0)], dim=1)
    gram = (F.T @ F).double() / n
    theta = torch.linalg.inv(gram + ridge * torch.eye(3 * d, dtype=torch.float64, device=z.device))
    out, leverage = torch.empty_like(z), torch.empty_like(z)
    groups = [(slice(c.start, c.stop), torch.linalg.inv(theta[c.start : c.stop, c.start : c.stop])) for c in columns]
    for start in range(0, n, ROWS):
        rows = slice(start, start + ROWS)
        product = F[rows] @ theta.float()
        size = (product * F[rows]).sum(dim=1, keepdim=True)
        for g, inverse in groups:
            residual = product[:, g] @ inverse.float()
            h = (size - (residual * product[:, g]).sum(dim=1, keepdim=True)) / n
            leverage[rows, g] = h.clamp(0, MOST)
            out[rows, g] = z[rows, g] - residual / (1 - leverage[rows, g])
    numeric = [c.start for c in columns if c.kind in ("continuous", "count")]
    if whole is not None and numeric:
        cut = ((whole != z).any(dim=1) & (whole[:, numeric].abs().median(dim=1).values > EXTREME)).nonzero().flatten()
        F[cut, :d] = whole[cut] - mean
        residual = (F[cut] @ theta[:, numeric].float()) / theta[numeric, numeric].float()
        at = (cut[:, None], torch.tensor(numeric, dtype=torch.long, device=z.device)[None])
        nearer = residual.abs() < (whole[at] - out[at]).abs()
        out[at] = torch.where(nearer, whole[at] - residual, out[at])
    return out, leverage
