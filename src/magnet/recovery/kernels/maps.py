"""The scalar maps of the CPU kernels: the proximal maps of :mod:`magnet.prox` and what they cost, lane by lane."""

from __future__ import annotations

import math
from typing import Any

from numba import njit

from magnet.prox import NEWTON_STEPS
from magnet.recovery.kernels import HARD, QUADRATIC, SOFT
from magnet.recovery.kernels.simd import LANES, drop_above, load, maximum, minimum, splat, store

_jit = njit(nogil=True, cache=True, error_model="numpy")


@_jit
def lp_scalar(z: Any, t: Any, p: Any) -> Any:
    """:func:`magnet.prox.lp` of one number, 0 < p < 1."""
    size = abs(z)
    if t <= 0:
        return z
    lowest = (2 * t * (1 - p)) ** (1 / (2 - p))
    if size <= lowest + t * p * lowest ** (p - 1):
        return z * 0
    x = size
    for _ in range(NEWTON_STEPS):
        x = max(x - (x + t * p * x ** (p - 1) - size) / (1 - t * p * (1 - p) * x ** (p - 2)), lowest)
    return math.copysign(x, z)


@_jit
def lq_scalar(z: Any, t: Any, q: Any) -> Any:
    """:func:`magnet.prox.lq` of one number, 1 < q < 2."""
    size, tau = abs(z), q * t
    if size == 0 or tau == 0:
        return z
    if tau * size ** (q - 1) <= size:
        s = size / 2
        for _ in range(NEWTON_STEPS):
            s -= (s + tau * s ** (q - 1) - size) / (1 + tau * (q - 1) * s ** (q - 2))
    else:
        n = 1 / (q - 1)
        v = size / tau
        for _ in range(NEWTON_STEPS):
            v -= (v**n + tau * v - size) / (n * v ** (n - 1) + tau)
        s = max(v, 0.0) ** n
    return math.copysign(s, z)


@_jit
def lp_rest(zeta: Any, threshold: Any, p: Any, scratch: Any) -> Any:
    """``zeta - prox(zeta)`` for 0 < p < 1, lane by lane."""
    store(scratch, 0, zeta)
    store(scratch, LANES, threshold)
    for c in range(LANES):
        z = scratch[c]
        scratch[c] = z - lp_scalar(z, scratch[LANES + c], p)
    return load(scratch, 0)


@_jit
def lq_each(z: Any, weight: Any, q: Any, scratch: Any) -> Any:
    """The prox of ``weight |.|^q`` for 1 < q < 2, lane by lane."""
    store(scratch, 0, z)
    store(scratch, LANES, weight)
    for c in range(LANES):
        scratch[c] = lq_scalar(scratch[c], scratch[LANES + c], q)
    return load(scratch, 0)


@_jit
def rest(zeta: Any, threshold: Any, how: Any, p: Any, scratch: Any) -> Any:
    """``zeta - prox(zeta)`` of the penalty."""
    if how == SOFT:
        return minimum(maximum(zeta, threshold * scratch.dtype.type(-1)), threshold)
    if how == HARD:
        return drop_above(zeta, threshold)
    return lp_rest(zeta, threshold, p, scratch)


@_jit
def move(b: Any, X: Any, weight: Any, how: Any, q: Any, scratch: Any) -> Any:
    """``U - X`` of the U-step; ``weight`` is ``1 / (1 + omega)`` for q = 2, else ``omega / 2``."""
    z = b - X
    if how == QUADRATIC:
        return z * weight
    if how == SOFT:
        return z - minimum(maximum(z, weight * scratch.dtype.type(-1)), weight)
    return lq_each(z, weight, q, scratch)


@_jit
def add_penalty(sums: Any, cost: Any, value: Any, how: Any, p: Any, scratch: Any) -> None:
    if how == SOFT:
        size = maximum(value, value * scratch.dtype.type(-1))
        store(sums, 0, load(sums, 0) + size * cost)
        return
    store(scratch, 0, value)
    store(scratch, LANES, cost)
    for c in range(LANES):
        size = abs(scratch[c])
        sums[c] += scratch[LANES + c] * (size**p if p > 0 else size * 0 + (size > 0))


@_jit
def add_fidelity(sums: Any, moved: Any, z: Any, weight: Any, how: Any, q: Any, scratch: Any) -> None:
    """``omega / 2 |U - X|^q``; for q = 2, ``omega (U - X)^2 = (1 - w) w z^2`` with ``w = 1 / (1 + omega)``."""
    if how == QUADRATIC:
        one = splat(scratch.dtype.type(1))
        store(sums, 0, load(sums, 0) + z * z * (one - weight) * weight * scratch.dtype.type(0.5))
        return
    store(scratch, 0, moved)
    store(scratch, LANES, weight)
    for c in range(LANES):
        sums[c] += scratch[LANES + c] * abs(scratch[c]) ** q
