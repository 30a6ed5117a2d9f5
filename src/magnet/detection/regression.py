"""Each column of a table predicted from the others and from the neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from magnet.detection.columns import Column


def regress(z: Tensor, one: Tensor, two: Tensor, columns: Sequence[Column], ridge: float = 0.01) -> Tensor:
    r"""Ridge regression of every column (every category as a whole) on all that is known but itself.

    With :math:`F = [z, m^1, m^2]` and :math:`\Theta = (F^\top F / n + \mathrm{ridge})^{-1}`, the prediction of the
    columns ``g`` from all others is :math:`z_g - (F \Theta)_g \Theta_{gg}^{-1}`: one inverse serves them all.

    Args:
        z: values on the common scale ``[n, d]``, cut so that no single one has much weight; 0 where missing.
        one, two: means over one and two hops ``[n, d]``.
        columns: which features belong together.
        ridge: (default: ``0.01``)

    Returns:
        predictions ``[n, d]``.
    """
    d = z.shape[1]
    mean = z.mean(dim=0)
    F = torch.cat([z - mean, one - one.mean(dim=0), two - two.mean(dim=0)], dim=1)
    gram = (F.T @ F).double() / F.shape[0]
    theta = torch.linalg.inv(gram + ridge * torch.eye(3 * d, dtype=torch.float64, device=z.device))
    product = F @ theta[:, :d].float()
    out = torch.empty_like(z)
    for c in columns:
        g = slice(c.start, c.stop)
        out[:, g] = z[:, g] - product[:, g] @ torch.linalg.inv(theta[g, g]).float()
    return out
