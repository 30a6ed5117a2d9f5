r"""Scalar proximal maps.

Each function returns, elementwise,

.. math:: \mathrm{prox}(z) = \arg\min_x \; \tfrac12 (x - z)^2 + \phi(x),

states its :math:`\phi`, and is tested against brute-force minimization on a grid. All are differentiable wherever the
map itself is.

Args:
    z: where the map is taken.
    t: the weight, at least 0; broadcasts against ``z``.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

#: Newton steps of the iterated maps: both start within a factor 2 of the root and converge
#: monotonically, so that this many reach the rounding level of float64 for every p and q.
NEWTON_STEPS = 12

Hard = Literal["exact", "paper"]


def soft(z: Tensor, t: Tensor | float) -> Tensor:
    r""":math:`\phi(x) = t |x|`: :math:`\mathrm{sign}(z) \max(|z| - t, 0)`.

    Example:
        >>> soft(torch.tensor([-3.0, 0.5, 2.0]), 1.0).tolist()
        [-2.0, 0.0, 1.0]
    """
    return torch.sign(z) * torch.relu(z.abs() - t)


def hard(z: Tensor, t: Tensor | float, convention: Hard = "exact") -> Tensor:
    r""":math:`\phi(x) = t\,[x \ne 0]`: keep z where :math:`|z| > \sqrt{2t}`, else 0.

    ``convention="paper"`` thresholds at t itself, as Zhou et al. (2023) write and their code does; that is
    not the prox of this :math:`\phi` (it is the one of :math:`t^2/2\,[x \ne 0]`).

    Args:
        convention: ``"exact"`` or ``"paper"``. (default: ``"exact"``)
    """
    t = torch.as_tensor(t, dtype=z.dtype, device=z.device)
    threshold = torch.sqrt(2 * t) if convention == "exact" else t
    return torch.where(z.abs() > threshold, z, torch.zeros_like(z))


def half(z: Tensor, t: Tensor | float) -> Tensor:
    r""":math:`\phi(x) = t |x|^{1/2}`, in closed form (Xu et al., IEEE TNNLS 2012).

    .. math:: \tfrac23 z \Bigl(1 + \cos\bigl(\tfrac{2\pi}3 - \tfrac23 \arccos(\tfrac t4 (|z|/3)^{-3/2})\bigr)\Bigr)
        \quad\text{for } |z| > \tfrac32 t^{2/3}, \text{ else } 0.
    """
    t = torch.as_tensor(t, dtype=z.dtype, device=z.device)
    size = z.abs()
    survives = size > 1.5 * t ** (2.0 / 3.0)
    safe = torch.where(survives, size, torch.ones_like(size))
    ratio = torch.where(survives, t / 4 * (safe / 3) ** -1.5, torch.zeros_like(size))
    angle = 2 * math.pi / 3 - 2.0 / 3.0 * torch.arccos(ratio.clamp(max=1.0))
    return torch.where(survives, 2.0 / 3.0 * z * (1 + torch.cos(angle)), torch.zeros_like(z))


def two_thirds(z: Tensor, t: Tensor | float) -> Tensor:
    r""":math:`\phi(x) = t |x|^{2/3}`, in closed form (Cao, Sun and Xu, 2013).

    With :math:`y = x^{1/3}` the stationarity :math:`x + \tfrac23 t x^{-1/3} = |z|` is the quartic
    :math:`y^4 - |z| y + \tfrac23 t = 0`, whose largest root Ferrari's formula gives.
    """
    t = torch.as_tensor(t, dtype=z.dtype, device=z.device)
    size = z.abs()
    survives = (size > _jump(t, 2.0 / 3.0)[1]) & (t > 0)
    safe_z = torch.where(survives, size, torch.ones_like(size))
    safe_t = torch.where(survives, t.expand_as(size), torch.full_like(size, 0.1))
    # resolvent cubic s^3 - (8t/3) s - z^2 = 0: one real root here, by Cardano with cosh
    radius = torch.sqrt(8.0 / 9.0 * safe_t)
    s = 2 * radius * torch.cosh(torch.arccosh((safe_z**2 / (2 * radius**3)).clamp(min=1.0)) / 3)
    root_s = torch.sqrt(s)
    y = (root_s + torch.sqrt((2 * safe_z / root_s - s).clamp(min=0.0))) / 2
    nonzero = torch.where(survives, y**3, torch.zeros_like(size))
    return torch.sign(z) * torch.where(t > 0, nonzero, size)


def lp(z: Tensor, t: Tensor | float, p: float, convention: Hard = "exact") -> Tensor:
    r""":math:`\phi(x) = t |x|^p` for :math:`0 \le p \le 1` (:math:`|x|^0 = [x \ne 0]`).

    Closed forms for p = 0, 1/2, 2/3, 1. Otherwise z maps to 0 up to the exact jump

    .. math:: x^* = (2 t (1 - p))^{1/(2-p)}, \qquad |z| \le x^* + t p\,x^{*\,p-1},

    and above it to the larger root of :math:`x + t p\,x^{p-1} = |z|` by Newton's method from
    :math:`x = |z|`, where the left side is convex and increasing (generalized thresholding,
    Zuo et al., ICCV 2013).

    Args:
        p: the exponent, in [0, 1].
        convention: threshold of p = 0, as for :func:`hard`. (default: ``"exact"``)
    """
    check_p(p)
    if p == 1:
        return soft(z, t)
    if p == 0:
        return hard(z, t, convention)
    if p == 0.5:
        return half(z, t)
    if p == 2 / 3:
        return two_thirds(z, t)
    t = torch.as_tensor(t, dtype=z.dtype, device=z.device)
    size = z.abs()
    lowest, jump = _jump(t, p)
    survives = size > jump
    x = torch.where(survives, size, torch.ones_like(size))
    floor = torch.where(survives, lowest.expand_as(x), torch.ones_like(x))

    def newton(x: Tensor) -> Tensor:
        residual = x + t * p * x ** (p - 1) - size
        slope = 1 - t * p * (1 - p) * x ** (p - 2)
        return torch.where(survives, torch.maximum(x - residual / slope, floor), x)

    with torch.no_grad():
        for _ in range(NEWTON_STEPS):
            x = newton(x)
    # the last step is recorded: at the root it carries the implicit derivative
    return torch.where(survives, torch.sign(z) * newton(x), torch.zeros_like(z))


def lq(z: Tensor, t: Tensor | float, q: float) -> Tensor:
    r""":math:`\phi(x) = t |x|^q` for :math:`1 \le q \le 2`.

    q = 1 is :func:`soft`, q = 2 gives :math:`z / (1 + 2t)`. In between :math:`s = |x|` solves
    :math:`s + \tau s^{q-1} = |z|` with :math:`\tau = q t`. Where the linear term dominates Newton's method
    runs in s from :math:`|z|/2` (concave, so from the left), elsewhere in :math:`v = s^{q-1}` from
    :math:`|z|/\tau` (convex, so from the right): both are monotone and need no safeguard.

    Args:
        q: the exponent, in [1, 2].
    """
    check_q(q)
    if q == 1:
        return soft(z, t)
    if q == 2:
        return z / (1 + 2 * t)
    tau = q * torch.as_tensor(t, dtype=z.dtype, device=z.device).expand_as(z)
    size = z.abs()
    moves = (size > 0) & (tau > 0)
    size_ = torch.where(moves, size, torch.ones_like(size))
    tau_ = torch.where(moves, tau, torch.ones_like(size))
    linear = tau_ * size_ ** (q - 1) <= size_
    n = 1 / (q - 1)

    def newton_s(s: Tensor) -> Tensor:
        return s - (s + tau_ * s ** (q - 1) - size_) / (1 + tau_ * (q - 1) * s ** (q - 2))

    def newton_v(v: Tensor) -> Tensor:
        return v - (v**n + tau_ * v - size_) / (n * v ** (n - 1) + tau_)

    with torch.no_grad():
        s = torch.where(linear, size_ / 2, torch.ones_like(size_))
        v = torch.where(linear, torch.ones_like(size_), size_ / tau_)
        for _ in range(NEWTON_STEPS):
            s = torch.where(linear, newton_s(s), s)
            v = torch.where(linear, v, newton_v(v))
    root = torch.where(linear, newton_s(s), newton_v(v).clamp(min=0.0) ** n)
    return torch.sign(z) * torch.where(moves, root, size)


def group(z: Tensor, t: Tensor | float) -> Tensor:
    r""":math:`\phi(x) = t \|x\|_2` over the last axis: :math:`z \max(1 - t / \|z\|_2, 0)`.

    Args:
        z: ``[..., d]``.
        t: weights that broadcast against ``[..., 1]``.
    """
    norm = torch.linalg.vector_norm(z, dim=-1, keepdim=True)
    return z * torch.relu(1 - t / norm.clamp(min=torch.finfo(z.dtype).tiny))


def check_p(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"p is {p}; it must lie in [0, 1]")


def check_q(q: float) -> None:
    if not 1 <= q <= 2:
        raise ValueError(f"q is {q}; it must lie in [1, 2]")


def _jump(t: Tensor, p: float) -> tuple[Tensor, Tensor]:
    """Where the l_p prox leaves 0: the smallest nonzero value it takes and the z at which it does."""
    positive = t > 0
    safe = torch.where(positive, t, torch.ones_like(t))
    x = (2 * safe * (1 - p)) ** (1 / (2 - p))
    z = x + safe * p * x ** (p - 1)
    zero = torch.zeros_like(t)
    return torch.where(positive, x, zero), torch.where(positive, z, zero)
