r"""Fused CPU kernels (Numba): all iterations on one block of columns, whose state stays in cache.

**Without history** (:func:`solve_fast`). The low-pass band is not penalized, so its dual is a function of U
and, by :math:`\sum_b W_b^\top W_b = I`, it never has to be computed. With everything divided by gamma and
:math:`\tilde U_k = U_k + a_k (U_k - U_{k-1})` the ADMM of :mod:`magnet.recovery.admm` becomes, over the
high-pass bands alone,

.. math::
    P_k &= 2 U_k - \tilde U_{k-1} \\
    \zeta_b &= F_b + W_b P_k, \qquad E_b^+ = \zeta_b - \mathrm{prox}(\zeta_b), \qquad
    F_b^+ = E_b^+ + a_k (E_b^+ - E_b) \\
    U_{k+1} &= X + \mathrm{prox}_{\omega |.|^q / 2 \gamma}\bigl(\tilde U_k - \textstyle\sum_b W_b^\top F_b^+ - X\bigr)

with the same iterates U. One array per band is all the state there is; analysis adds into it and the prox
happens in the last step of the recurrence.

**With history** (:func:`solve_tracked`): the equations as they stand, all bands explicit, which also holds
for loose transforms.

Arrays are flat blocks ``[n, LANES]``. Bands come as tuples of such arrays: their number is then known when the
kernel is compiled, and the loops over them disappear.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from magnet.recovery.kernels import SOFT
from magnet.recovery.kernels.blocks import FLUSH, gather
from magnet.recovery.kernels.maps import add_fidelity, add_penalty, move, rest
from magnet.recovery.kernels.simd import LANES, bits_of, jit, load, store


class Limits(NamedTuple):
    """The penalty of a block: at row i the threshold of a band is ``threshold * multiplier[i]``."""

    multiplier: NDArray[Any]  # [n], the degree weight, or what the prox makes of it
    threshold: NDArray[Any]  # [bands, LANES] flat
    d: NDArray[Any]  # [n], the degree weight
    cost: NDArray[Any]  # [bands, LANES] flat, nu / gamma


class Block(NamedTuple):
    """Some columns: what they are fitted to, the iterate, and blocks to work in."""

    X: NDArray[Any]  # the observations
    weight: NDArray[Any]  # of the fidelity, see move in magnet.recovery.kernels.maps
    U: NDArray[Any]  # the start, and then the iterate
    source: NDArray[Any]
    target: NDArray[Any]
    spare: NDArray[Any]  # U before the step (solve_fast with inertia), or when a column stopped (solve_tracked)


@jit
def _mix(coefficients, F, position, k):
    """``sum_b c_{b,k} F_b`` at one row."""
    total = load(F[0], position) * coefficients[k * len(F)]
    for b in range(1, len(F)):
        total = total + load(F[b], position) * coefficients[k * len(F) + b]
    return total


@jit
def _ascend(indptr, indices, doubled, coefficients, F, source, target, overwrite):
    """The Chebyshev recurrence from ``T_0`` (in ``source``) to ``T_{m-1}``, its terms added to the bands.

    Three terms are added at a time, since at step j rows of ``T_{j-2}``, ``T_{j-1}`` and ``T_j`` are at hand: that is a
    third of the traffic. What is left over after ``T_{m-1}`` is the caller's, together with ``T_m``. Returns the
    arrays of ``T_{m-1}`` and ``T_{m-2}``.
    """
    n = indptr.size - 1
    bands = len(F)
    degree = coefficients.size // bands - 1
    half = source.dtype.type(0.5)
    for j in range(1, degree):
        if j % 3 < 2:
            for i in range(n):
                position = i * LANES
                row = gather(indptr, indices, doubled, source, i)
                if j == 1:
                    row = row * half
                else:
                    row = row - load(target, position)
                store(target, position, row)
        else:
            for i in range(n):
                position = i * LANES
                oldest, middle = load(target, position), load(source, position)
                row = gather(indptr, indices, doubled, source, i) - oldest
                store(target, position, row)
                for b in range(bands):
                    total = row * coefficients[j * bands + b]
                    total = total + middle * coefficients[(j - 1) * bands + b]
                    total = total + oldest * coefficients[(j - 2) * bands + b]
                    if j > 2 or not overwrite:
                        total = total + load(F[b], position)
                    store(F[b], position, total)
        source, target = target, source
    return source, target


@jit
def _descend(indptr, indices, doubled, coefficients, F, current, other):
    """Clenshaw's recurrence from ``b_m`` (in ``current``) down to ``b_1``: returns the arrays of b_1, b_2."""
    n = indptr.size - 1
    degree = coefficients.size // len(F) - 1
    for k in range(degree - 1, 0, -1):
        for i in range(n):
            position = i * LANES
            row = gather(indptr, indices, doubled, current, i)
            if k < degree - 1:
                row = row - load(other, position)
            store(other, position, row + _mix(coefficients, F, position, k))
        current, other = other, current
    return current, other


@jit
def solve_fast(matrix, coefficients, limits, block, F, E, iterations, inertia, maps):
    """``iterations`` steps on one block; ``U`` is the start and becomes the result.

    Args:
        matrix: twice the shifted Laplacian.
        coefficients: Chebyshev coefficients of the high-pass bands, ``[degree + 1, bands]`` flat.
        limits, block: see :class:`Limits` and :class:`Block`.
        F: a block of zeros for each band.
        E: the same again; used when there is inertia.
        maps: the prox of the penalty and of the fidelity, see :mod:`magnet.recovery.kernels.maps`.
    """
    indptr, indices, doubled = matrix
    multiplier, threshold = limits.multiplier, limits.threshold
    X, weight, U, source, target, U_before = block
    prox_p, prox_q = maps
    n = indptr.size - 1
    bands = len(F)
    degree = coefficients.size // bands - 1
    zero, half, two = U.dtype.type(0), U.dtype.type(0.5), U.dtype.type(2)
    scratch = np.empty(2 * LANES, U.dtype)
    whole = bits_of(scratch)
    for i in range(n):
        store(source, i * LANES, load(U, i * LANES))
    for k in range(iterations):
        a = inertia if k > 0 else zero
        source, target = _ascend(indptr, indices, doubled, coefficients, F, source, target, False)
        for i in range(n):
            position = i * LANES
            row = gather(indptr, indices, doubled, source, i)
            if degree > 1:
                row = row - load(target, position)
            else:
                row = row * half
            top = row * zero
            for b in range(bands):
                zeta = load(F[b], position) + row * coefficients[degree * bands + b]
                if degree % 3 > 0:
                    zeta = zeta + load(source, position) * coefficients[(degree - 1) * bands + b]
                if degree % 3 > 1:
                    zeta = zeta + load(target, position) * coefficients[(degree - 2) * bands + b]
                limit = load(threshold, b * LANES) * multiplier[i]
                zeta = rest(zeta, limit, prox_p, scratch, whole)
                if inertia > 0:
                    before = load(E[b], position)
                    store(E[b], position, zeta)
                    zeta = zeta + (zeta - before) * a
                top = top + zeta * coefficients[degree * bands + b]
                store(F[b], position, zeta)
            store(target, position, top)
        source, target = target, source
        source, target = _descend(indptr, indices, doubled, coefficients, F, source, target)
        for i in range(n):
            position = i * LANES
            row = gather(indptr, indices, doubled, source, i) * half
            row = row + _mix(coefficients, F, position, 0)
            if degree > 1:
                row = row - load(target, position)
            ahead = load(U, position)
            if inertia > 0:
                before = load(U_before, position)
                store(U_before, position, ahead)
                ahead = ahead + (ahead - before) * a
            x = load(X, position)
            fitted = x + move(ahead - row, x, load(weight, position), prox_q, scratch, whole)
            store(U, position, fitted)
            store(target, position, fitted * two - ahead)
        source, target = target, source


@jit
def solve_tracked(matrix, coefficients, limits, block, states, measured, stopped, tol, inertia, maps):
    """Like :func:`solve_fast` with all bands explicit, the residuals of every step, and columns that stop.

    Args:
        states: WU, the next WU, Y, V and Z: a block of zeros for each band.
        measured: ``[iterations, 6, LANES]``: objective / gamma and the squared norms of primal, dual / gamma,
            WU, Z, Y / gamma.
        stopped: ``[LANES]``, the iteration after which a column's residuals were below ``tol``, 0 if never.
    """
    indptr, indices, doubled = matrix
    multiplier, threshold, d, penalty = limits
    X, weight, U, source, target, out = block
    WU, fresh, Y, V, Z = states
    prox_p, prox_q = maps
    n = indptr.size - 1
    bands = len(WU)
    degree = coefficients.size // bands - 1
    zero, half, minus = U.dtype.type(0), U.dtype.type(0.5), U.dtype.type(-1)
    scratch = np.empty(2 * LANES, U.dtype)
    whole = bits_of(scratch)
    sums = np.zeros(6 * LANES, U.dtype)
    for k in range(-1, measured.shape[0]):
        # k = -1 only computes W U_0
        a = inertia if k > 0 else zero
        if k < 0:
            for i in range(n):
                store(source, i * LANES, load(U, i * LANES))
        else:
            for i in range(n):
                position = i * LANES
                top = load(WU[0], position) * zero
                for b in range(bands):
                    y = load(Y[b], position)
                    zeta = load(WU[b], position) + y
                    limit = load(threshold, b * LANES) * multiplier[i]
                    z = zeta - rest(zeta, limit, prox_p, scratch, whole)
                    v = y - z
                    tilted = v
                    if inertia > 0:
                        tilted = v + (v - load(V[b], position)) * a
                    store(Z[b], position, z)
                    store(V[b], position, v)
                    store(Y[b], position, tilted)
                    top = top + tilted * coefficients[degree * bands + b]
                store(source, position, top)
            source, target = _descend(indptr, indices, doubled, coefficients, Y, source, target)
            for i in range(n):
                position = i * LANES
                row = gather(indptr, indices, doubled, source, i) * half
                row = row + _mix(coefficients, Y, position, 0)
                if degree > 1:
                    row = row - load(target, position)
                x, w = load(X, position), load(weight, position)
                moved = move(row * minus, x, w, prox_q, scratch, whole)
                store(U, position, x + moved)
                store(target, position, x + moved)
                add_fidelity(sums, moved, row * minus - x, w, prox_q, scratch)
                if i % FLUSH == FLUSH - 1:
                    _flush(sums, measured[k])
            source, target = target, source
        source, target = _ascend(indptr, indices, doubled, coefficients, fresh, source, target, True)
        for i in range(n):
            position = i * LANES
            row = gather(indptr, indices, doubled, source, i)
            if degree > 1:
                row = row - load(target, position)
            else:
                row = row * half
            for b in range(bands):
                wu = row * coefficients[degree * bands + b]
                if degree > 2:
                    wu = wu + load(fresh[b], position)
                if degree % 3 > 0:
                    wu = wu + load(source, position) * coefficients[(degree - 1) * bands + b]
                if degree % 3 > 1:
                    wu = wu + load(target, position) * coefficients[(degree - 2) * bands + b]
                before, tilted = load(WU[b], position), load(Y[b], position)
                store(WU[b], position, wu)
                if k < 0:
                    continue
                y = tilted + wu
                store(Y[b], position, y)
                z = load(Z[b], position)
                _add_square(sums, LANES, wu - z)
                _add_square(sums, 2 * LANES, wu - before + (tilted - load(V[b], position)))
                _add_square(sums, 3 * LANES, wu)
                _add_square(sums, 4 * LANES, z)
                _add_square(sums, 5 * LANES, y)
                cost = load(penalty, b * LANES) * d[i]
                add_penalty(sums, cost, wu if prox_p.how == SOFT else z, prox_p, scratch)
            if k >= 0 and i % FLUSH == FLUSH - 1:
                _flush(sums, measured[k])
        if k >= 0:
            _flush(sums, measured[k])
            if _stop(measured, k, stopped, tol, U, out):
                return
    for c in range(LANES):
        if stopped[c] == 0:
            for i in range(n):
                out[i * LANES + c] = U[i * LANES + c]


@jit
def _add_square(sums, at, value):
    store(sums, at, load(sums, at) + value * value)


@jit
def _flush(sums, totals):
    for row in range(6):
        for c in range(LANES):
            totals[row, c] += sums[row * LANES + c]
            sums[row * LANES + c] = 0


@jit
def _stop(measured, k, stopped, tol, U, out):
    """Copy out the columns that have converged; true when all have. Stopped columns keep their numbers."""
    everything = True
    for c in range(LANES):
        if stopped[c] > 0:
            for row in range(6):
                measured[k, row, c] = measured[k - 1, row, c]
            continue
        primal, dual = measured[k, 1, c], measured[k, 2, c]
        scale = max(measured[k, 3, c], measured[k, 4, c])
        if tol > 0 and primal <= tol * tol * scale and dual <= tol * tol * measured[k, 5, c]:
            stopped[c] = k + 1
            for i in range(out.size // LANES):
                out[i * LANES + c] = U[i * LANES + c]
        else:
            everything = False
    return everything
