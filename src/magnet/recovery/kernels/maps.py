"""Scalar maps of the CPU kernels: the proximal maps of :mod:`magnet.prox` and their objectives.

``prox`` is a :class:`~magnet.recovery.kernels.tables.Map`, ``scratch`` memory for two vectors, ``whole`` its bits.
"""

from __future__ import annotations

import math

import numpy as np

from magnet.prox import NEWTON_STEPS
from magnet.recovery.kernels import HARD, QUADRATIC, SOFT, TABLE
from magnet.recovery.kernels.simd import LANES, drop_above, jit, load, maximum, minimum, splat, store

ROUNDING = 1e-16  # a relative Newton step that no longer matters in float64


@jit
def lq_scalar(z, t, q):
    """:func:`magnet.prox.lq` of one number, 1 < q < 2."""
    size, tau = abs(z), q * t
    if size == 0 or tau == 0:
        return z
    if tau * size ** (q - 1) <= size:
        s = size / 2
        for _ in range(NEWTON_STEPS):
            power = s ** (q - 1)
            step = (s + tau * power - size) / (1 + tau * (q - 1) * power / s)
            s -= step
            if abs(step) <= ROUNDING * s:
                break
    else:
        n = 1 / (q - 1)
        v = size / tau
        for _ in range(NEWTON_STEPS):
            power = v ** (n - 1)
            step = (power * v + tau * v - size) / (n * power + tau)
            v -= step
            if abs(step) <= ROUNDING * v:
                break
        s = max(v, 0.0) ** n
    return math.copysign(s, z)


@jit
def _look_up(scratch, whole, c, cubics, base, shift):
    """The table at lane c of ``scratch``; -1 below its first piece, -2 above its last one (and for inf and NaN)."""
    bits = whole[c]
    piece = (bits >> shift) - base
    if piece < 0:
        return scratch.dtype.type(-1)
    if 4 * piece >= cubics.size:
        return scratch.dtype.type(-2)
    mask = (1 << shift) - 1
    place = scratch.dtype.type(bits & mask) / scratch.dtype.type(mask + 1)
    at = 4 * piece
    return cubics[at] + place * (cubics[at + 1] + place * (cubics[at + 2] + place * cubics[at + 3]))


@jit
def table_rest(zeta, inverse, prox, scratch, whole):
    """``zeta - prox(zeta)`` of ``t |.|^p``, 0 < p < 1; ``inverse`` is ``t^(-1/(2-p))``."""
    p, cubics, base, shift, jump, polish = prox.exponent, prox.cubics, prox.base, prox.shift, prox.jump, prox.polish
    store(scratch, 0, maximum(zeta, zeta * scratch.dtype.type(-1)) * inverse)
    for c in range(LANES):
        y = scratch[c]
        if y <= jump:
            scratch[c] = 1
            continue
        share = max(_look_up(scratch, whole, c, cubics, base, shift), scratch.dtype.type(0))
        if y < np.inf:
            for _ in range(polish):
                x = y - y * share
                power = x ** (p - 1)
                x -= (x + p * power - y) / (1 - p * (1 - p) * power / x)
                share = (y - x) / y
        scratch[c] = share
    return zeta * load(scratch, 0)


@jit
def _polished(y, share, q):
    """One Newton step for ``u / y``, in u or in ``v = u^(q-1) = y - u``, whichever is the larger of the two."""
    if y >= 2:
        u = y * share
        power = u ** (q - 1)
        return (u - (u + power - y) / (1 + (q - 1) * power / u)) / y
    n = 1 / (q - 1)
    v = y - y * share
    power = v ** (n - 1)
    v -= (power * v + v - y) / (n * power + 1)
    return (y - v) / y


@jit
def table_move(z, inverse, prox, scratch, whole):
    """The prox of ``t |.|^q``, 1 < q < 2; ``inverse`` is ``(q t)^(-1/(2-q))``."""
    q, cubics, base, shift, polish = prox.exponent, prox.cubics, prox.base, prox.shift, prox.polish
    store(scratch, 0, maximum(z, z * scratch.dtype.type(-1)) * inverse)
    for c in range(LANES):
        y = scratch[c]
        share = _look_up(scratch, whole, c, cubics, base, shift)
        steps = polish
        if share < 0:
            steps = prox.below if share == -1 else prox.above
            share = scratch.dtype.type(share == -2)
            if not 0 < y < np.inf:
                steps = 0
        for _ in range(steps):
            share = _polished(y, share, q)
        scratch[c] = share
    return z * load(scratch, 0)


@jit
def _lq_each(z, weight, q, scratch):
    """The prox of ``weight |.|^q`` for 1 < q < 2, lane by lane."""
    store(scratch, 0, z)
    store(scratch, LANES, weight)
    for c in range(LANES):
        scratch[c] = lq_scalar(scratch[c], scratch[LANES + c], q)
    return load(scratch, 0)


@jit
def rest(zeta, threshold, prox, scratch, whole):
    """``zeta - prox(zeta)`` of the penalty; see :func:`table_rest` for what ``threshold`` is for a table."""
    if len(prox.simple) == 1 or prox.how == SOFT:
        return minimum(maximum(zeta, threshold * scratch.dtype.type(-1)), threshold)
    if prox.how == HARD:
        return drop_above(zeta, threshold)
    return table_rest(zeta, threshold, prox, scratch, whole)


@jit
def move(b, X, weight, prox, scratch, whole):
    """``U - X`` of the U-step; ``weight`` is ``1 / (1 + omega)`` for q = 2, ``omega / 2`` or that of a table."""
    z = b - X
    if len(prox.simple) == 1 or prox.how == QUADRATIC:
        return z * weight
    if prox.how == SOFT:
        return z - minimum(maximum(z, weight * scratch.dtype.type(-1)), weight)
    if prox.how == TABLE:
        return table_move(z, weight, prox, scratch, whole)
    return _lq_each(z, weight, prox.exponent, scratch)


@jit
def add_penalty(sums, cost, value, prox, scratch):
    """``cost |value|^p``."""
    if len(prox.simple) == 1 or prox.how == SOFT:
        size = maximum(value, value * scratch.dtype.type(-1))
        store(sums, 0, load(sums, 0) + size * cost)
        return
    store(scratch, 0, value)
    store(scratch, LANES, cost)
    for c in range(LANES):
        size = abs(scratch[c])
        if size > 0:
            sums[c] += scratch[LANES + c] * (size**prox.exponent if prox.how == TABLE else 1)


@jit
def add_fidelity(sums, moved, z, weight, prox, scratch):
    """``omega / 2 |U - X|^q = moved (z - moved) / q``, by the equation that ``moved`` solves."""
    one = scratch.dtype.type(1)
    if len(prox.simple) == 1 or prox.how == QUADRATIC:
        cost = z * z * (splat(one) - weight) * weight * scratch.dtype.type(0.5)
    else:
        cost = moved * (z - moved) * (one / prox.exponent)
    store(sums, 0, load(sums, 0) + cost)
