"""Conjugate gradients on many columns at once: the reference, in plain torch and differentiable."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def conjugate_gradients(
    apply: Callable[[Tensor], Tensor],
    right: Tensor,
    start: Tensor,
    diagonal: Tensor,
    *,
    max_iter: int,
    tol: float = 0.0,
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Solve :math:`B U = R` for every column separately, :math:`B` symmetric positive semidefinite.

    Jacobi-preconditioned (Hestenes and Stiefel, 1952), with :math:`\langle a, b \rangle` over the rows of a column:

    .. math::
        \alpha = \frac{\langle r, z \rangle}{\langle s, B s \rangle}, \quad
        U \mathrel{+}= \alpha s, \quad r \mathrel{-}= \alpha B s, \quad z = r / \mathrm{diagonal}, \quad
        s \leftarrow z + \frac{\langle r, z \rangle}{\langle r, z \rangle_{\text{before}}} s

    Args:
        apply: ``U -> B U``, for columns ``[n, d]``. It may differ from column to column.
        right: ``R``, ``[n, d]``.
        start: the first ``U``.
        diagonal: what approximates the diagonal of ``B``, ``[n, d]`` or broadcastable to it; positive.
        max_iter: maximum number of steps.
        tol: a column stops at ``|r| <= tol |R|``. (default: ``0``)

    Returns:
        ``U``, the steps that each column took, and its relative residual.
    """
    tiny = torch.finfo(right.dtype).tiny
    U = start
    r = right - apply(U)
    z = r / diagonal
    direction, rho = z, (r * z).sum(0)
    size = torch.linalg.vector_norm(right, dim=0)
    size = torch.where(size > 0, size, torch.linalg.vector_norm(r, dim=0)).clamp(min=tiny)
    steps = torch.zeros(U.shape[1], dtype=torch.long, device=U.device)
    for _ in range(max_iter):
        going = torch.linalg.vector_norm(r, dim=0) > tol * size
        if not bool(going.any()):
            break
        steps += going
        image = apply(direction)
        curvature = (direction * image).sum(0)
        alpha = torch.where(going & (curvature > 0), rho / curvature.clamp(min=tiny), torch.zeros_like(rho))
        U = U + alpha * direction
        r = r - alpha * image
        z = r / diagonal
        rho_next = (r * z).sum(0)
        beta = torch.where(rho > 0, rho_next / rho.clamp(min=tiny), torch.zeros_like(rho))
        direction, rho = z + beta * direction, rho_next
    left = (torch.linalg.vector_norm(r, dim=0) / size).detach()
    return U, steps, left
