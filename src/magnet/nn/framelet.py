"""Recovery as a layer: the inertial ADMM unrolled, with weights that are learned."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from magnet.framelets import FrameletTransform
from magnet.recovery import recover


class FrameletDenoise(nn.Module):
    r"""K steps of the inertial ADMM of :func:`magnet.recover` with learnable :math:`\nu` and :math:`\gamma`.

    .. math::
        \min_U \sum_b \nu_b \|W_b U\|_1 + \tfrac12 \|M \odot (U - X)\|_2^2

    :math:`\nu_b` (one for each high-pass band; the low-pass has none) and :math:`\gamma` are kept positive by a
    softplus. The layer is differentiable in ``x``, the trust, and both.

    Args:
        bands: number of bands of the transform, ``1 + K * levels``.
        steps: K, number of unrolled iterations. (default: ``5``)
        nu: initial :math:`\nu_b` of the first level; level l starts at ``nu / 4^(l-1)``. (default: ``0.01``)
        gamma: initial :math:`\gamma`. (default: ``1``)

    Example:
        >>> W = FrameletTransform([[0, 1, 2, 3], [1, 2, 3, 0]], num_nodes=4, levels=1)
        >>> layer = FrameletDenoise(W.num_bands, steps=3)
        >>> layer(torch.tensor([[1.0], [1.0], [9.0], [1.0]]), W).shape
        torch.Size([4, 1])
    """

    def __init__(self, bands: int, steps: int = 5, nu: float = 0.01, gamma: float = 1.0) -> None:
        super().__init__()
        if bands < 2 or steps < 1:
            raise ValueError(f"bands is {bands} and steps {steps}; at least 2 and 1 are needed")
        if nu <= 0 or gamma <= 0:
            raise ValueError(f"nu is {nu} and gamma {gamma}; both must be positive")
        self.steps = steps
        starts = [nu / 4**level for level in range(bands - 1)]
        self.raw_nu = nn.Parameter(_inverse_softplus(starts))
        self.raw_gamma = nn.Parameter(_inverse_softplus([gamma]))

    @property
    def nu(self) -> Tensor:
        """The weights of all bands, the low-pass in front."""
        high = softplus(self.raw_nu)
        return torch.cat([high.new_zeros(1), high])

    @property
    def gamma(self) -> Tensor:
        return softplus(self.raw_gamma)

    def forward(self, x: Tensor, transform: FrameletTransform, trust: Tensor | None = None) -> Tensor:
        """Denoised features ``[n, d]``."""
        result = recover(
            x,
            trust,
            transform,
            nu0=self.nu,
            gamma=self.gamma,
            max_iter=self.steps,
            tol=0.0,
            degree_weights=False,
            backend="torch",
            history=False,
        )
        return result.x


def _inverse_softplus(values: list[float]) -> Tensor:
    y = torch.tensor(values, dtype=torch.float64)
    return (y + torch.log(-torch.expm1(-y))).to(torch.get_default_dtype())
