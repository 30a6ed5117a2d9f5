"""Fused CUDA kernels (Triton): the iteration of :mod:`magnet.recovery.kernels.cpu`, one launch per sparse product.

A program computes one row of the product for a block of columns, and does in registers whatever else that row
needs: adding to the bands, the prox, the U-step. With a history to keep, the reference driver runs with the
transform computed by the same kernels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

from magnet.framelets import FrameletTransform
from magnet.graph import Graph
from magnet.prox import NEWTON_STEPS
from magnet.recovery import admm, driver
from magnet.recovery.kernels import GENERAL, HARD, KEEP, QUADRATIC, SOFT
from magnet.recovery.problem import Problem
from magnet.recovery.result import Record

#: Columns solved together, columns of one program (all rows of which run before the next columns, so that what is
#: gathered mostly stays in the L2 cache), and neighbors loaded at a time: the best of a search on an H200.
BLOCK_COLUMNS, BLOCK, EDGES = 256, 64, 16


@triton.jit
def sparse_row(indptr, indices, values, source, row, cols, inside, width, EDGES: tl.constexpr, BLOCK: tl.constexpr):
    """One row of the sparse product; ``EDGES`` neighbors are loaded at a time."""
    total = tl.zeros([BLOCK], dtype=source.dtype.element_ty)
    end = tl.load(indptr + row + 1)
    for first in range(tl.load(indptr + row), end, EDGES):
        edge = first + tl.arange(0, EDGES)
        there = edge < end
        neighbor = tl.load(indices + edge, mask=there, other=0).to(tl.int64)
        value = tl.load(values + edge, mask=there, other=0.0)
        tile = tl.load(
            source + neighbor[:, None] * width + cols[None, :], mask=there[:, None] & inside[None, :], other=0.0
        )
        total += tl.sum(value[:, None] * tile, axis=0)
    return total


@triton.jit
def _lp_rest(z, t, p, STEPS: tl.constexpr):
    """``z - prox(z)`` of ``t |.|^p``, 0 < p < 1; see :func:`magnet.prox.lp`."""
    size = tl.abs(z)
    safe = tl.maximum(t, 1e-30)
    lowest = tl.exp(tl.log(2 * safe * (1 - p)) / (2 - p))
    survives = (size > lowest + safe * p * tl.exp(tl.log(lowest) * (p - 1))) | (t <= 0)
    x = tl.where(survives, size, 1.0)
    x = tl.maximum(x, 1e-30)
    for _ in range(STEPS):
        power = tl.exp(tl.log(x) * (p - 1))
        x = tl.maximum(x - (x + t * p * power - size) / (1 - t * p * (1 - p) * power / x), 1e-30)
        x = tl.where(survives & (t > 0), tl.maximum(x, lowest), x)
    kept = tl.where(t > 0, x, size)
    return tl.where(survives, tl.where(z < 0, z + kept, z - kept), z)


@triton.jit
def _lq_each(z, t, q, STEPS: tl.constexpr):
    """The prox of ``t |.|^q``, 1 < q < 2; see :func:`magnet.prox.lq`."""
    size = tl.abs(z)
    tau = q * t
    moves = (size > 0) & (tau > 0)
    size_ = tl.where(moves, size, 1.0)
    tau_ = tl.where(moves, tau, 1.0)
    linear = tau_ * tl.exp(tl.log(size_) * (q - 1)) <= size_
    n = 1 / (q - 1)
    s = tl.where(linear, size_ / 2, 1.0)
    v = tl.where(linear, 1.0, size_ / tau_)
    for _ in range(STEPS):
        power = tl.exp(tl.log(tl.maximum(s, 1e-30)) * (q - 1))
        next_s = s - (s + tau_ * power - size_) / (1 + tau_ * (q - 1) * power / tl.maximum(s, 1e-30))
        top = tl.exp(tl.log(tl.maximum(v, 1e-30)) * n)
        next_v = v - (top + tau_ * v - size_) / (n * top / tl.maximum(v, 1e-30) + tau_)
        s = tl.where(linear, next_s, s)
        v = tl.where(linear, v, next_v)
    root = tl.where(linear, s, tl.exp(tl.log(tl.maximum(v, 1e-30)) * n))
    moved = tl.where(moves, root, size)
    return tl.where(z < 0, -moved, moved)


@triton.jit
def _place(order, width, BLOCK: tl.constexpr):
    """Which row and columns this program has. Rows are ordered by decreasing degree, so that long rows do not come
    last."""
    row = tl.load(order + tl.program_id(0))
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    return row, cols, cols < width, row * width + cols


@triton.jit
def _advance_kernel(
    order, indptr, indices, values, coefficients, F, source, target, n, width, j,
    FIRST: tl.constexpr, TERMS: tl.constexpr, OVERWRITE: tl.constexpr,
    BANDS: tl.constexpr, EDGES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """``T_j``, and its last ``TERMS`` terms added to the bands."""
    row, cols, inside, at = _place(order, width, BLOCK)
    new = sparse_row(indptr, indices, values, source, row, cols, inside, width, EDGES, BLOCK)
    oldest = new
    if FIRST:
        new = new * 0.5
    else:
        oldest = tl.load(target + at, mask=inside)
        new = new - oldest
    if TERMS > 0:
        middle = tl.load(source + at, mask=inside)
        for b in tl.static_range(BANDS):
            total = new * tl.load(coefficients + j * BANDS + b)
            if TERMS > 1:
                total += middle * tl.load(coefficients + (j - 1) * BANDS + b)
            if TERMS > 2:
                total += oldest * tl.load(coefficients + (j - 2) * BANDS + b)
            if not OVERWRITE:
                total += tl.load(F + b * n * width + at, mask=inside)
            tl.store(F + b * n * width + at, total, mask=inside)
    tl.store(target + at, new, mask=inside)


@triton.jit
def _shrink_kernel(
    order, indptr, indices, values, coefficients, F, E, source, target, spread, threshold, inertia, p, n, width,
    DEGREE: tl.constexpr, HOW: tl.constexpr, INERTIAL: tl.constexpr, STEPS: tl.constexpr,
    BANDS: tl.constexpr, EDGES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The last step of the recurrence, the prox, and the start ``b_m`` of Clenshaw's."""
    row, cols, inside, at = _place(order, width, BLOCK)
    new = sparse_row(indptr, indices, values, source, row, cols, inside, width, EDGES, BLOCK)
    oldest = tl.load(target + at, mask=inside)
    if DEGREE == 1:
        new = new * 0.5
    else:
        new = new - oldest
    middle = tl.load(source + at, mask=inside)
    top = new * 0.0
    for b in tl.static_range(BANDS):
        zeta = tl.load(F + b * n * width + at, mask=inside) + new * tl.load(coefficients + DEGREE * BANDS + b)
        if DEGREE % 3 > 0:
            zeta += middle * tl.load(coefficients + (DEGREE - 1) * BANDS + b)
        if DEGREE % 3 > 1:
            zeta += oldest * tl.load(coefficients + (DEGREE - 2) * BANDS + b)
        limit = tl.load(threshold + b * width + cols, mask=inside, other=0.0) * tl.load(spread + row)
        if HOW == 0:
            zeta = tl.minimum(tl.maximum(zeta, -limit), limit)
        elif HOW == 1:
            zeta = tl.where(tl.abs(zeta) > limit, 0.0, zeta)
        else:
            zeta = _lp_rest(zeta, limit, p, STEPS)
        if INERTIAL:
            before = tl.load(E + b * n * width + at, mask=inside)
            tl.store(E + b * n * width + at, zeta, mask=inside)
            zeta = zeta + (zeta - before) * inertia
        top += zeta * tl.load(coefficients + DEGREE * BANDS + b)
        tl.store(F + b * n * width + at, zeta, mask=inside)
    tl.store(target + at, top, mask=inside)


@triton.jit
def _mix(coefficients, F, at, inside, k, size, BANDS: tl.constexpr):
    total = tl.load(F + at, mask=inside) * tl.load(coefficients + k * BANDS)
    for b in tl.static_range(1, BANDS):
        total += tl.load(F + b * size + at, mask=inside) * tl.load(coefficients + k * BANDS + b)
    return total


@triton.jit
def _descend_kernel(
    order, indptr, indices, values, coefficients, F, current, other, n, width, k,
    SCALE: tl.constexpr, SUBTRACT: tl.constexpr, PRODUCT: tl.constexpr,
    BANDS: tl.constexpr, EDGES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """``b_k = sum_b c_{b,k} F_b + 2 L b_{k+1} - b_{k+2}``, written over ``b_{k+2}``."""
    row, cols, inside, at = _place(order, width, BLOCK)
    new = _mix(coefficients, F, at, inside, k, n * width, BANDS)
    if PRODUCT:
        new += sparse_row(indptr, indices, values, current, row, cols, inside, width, EDGES, BLOCK) * SCALE
    if SUBTRACT:
        new -= tl.load(other + at, mask=inside)
    tl.store(other + at, new, mask=inside)


@triton.jit
def _fit_kernel(
    order, indptr, indices, values, coefficients, F, current, other, X, weight, U, U_before, inertia, q, n, width,
    SUBTRACT: tl.constexpr, HOW: tl.constexpr, INERTIAL: tl.constexpr, STEPS: tl.constexpr,
    BANDS: tl.constexpr, EDGES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The last step of Clenshaw's recurrence, the U-step, and ``P`` of the next iteration."""
    row, cols, inside, at = _place(order, width, BLOCK)
    new = sparse_row(indptr, indices, values, current, row, cols, inside, width, EDGES, BLOCK) * 0.5
    new += _mix(coefficients, F, at, inside, 0, n * width, BANDS)
    if SUBTRACT:
        new -= tl.load(other + at, mask=inside)
    ahead = tl.load(U + at, mask=inside)
    if INERTIAL:
        before = tl.load(U_before + at, mask=inside)
        tl.store(U_before + at, ahead, mask=inside)
        ahead = ahead + (ahead - before) * inertia
    x = tl.load(X + at, mask=inside)
    w = tl.load(weight + at, mask=inside)
    z = ahead - new - x
    if HOW == 3:
        moved = z * w
    elif HOW == 0:
        moved = z - tl.minimum(tl.maximum(z, -w), w)
    else:
        moved = _lq_each(z, w, q, STEPS)
    tl.store(U + at, x + moved, mask=inside)
    tl.store(other + at, (x + moved) * 2 - ahead, mask=inside)


class _Launcher:
    """The sparse matrix on the device, and the shape of the launches."""

    def __init__(self, transform: FrameletTransform, like: Tensor, first_band: int) -> None:
        self.n = transform.num_nodes
        self.degree = transform.degree
        self.bands = transform.num_bands - first_band
        table = transform.coefficients[first_band:].T
        self.coefficients = torch.as_tensor(np.ascontiguousarray(table), dtype=like.dtype, device=like.device)
        self.sparse = device_matrix(transform.graph, like, "shifted", 2.0)

    def shape(self, width: int) -> tuple[tuple[int, int], dict[str, Any]]:
        block = min(BLOCK, max(32, triton.next_power_of_2(width)))
        options = {"BANDS": self.bands, "EDGES": EDGES, "BLOCK": block, "num_warps": 1}
        return (self.n, triton.cdiv(width, block)), options

    def ascend(self, F: Tensor, source: Tensor, target: Tensor, last: int, overwrite: bool) -> Any:
        """``T_1`` to ``T_last``; returns the arrays of the last two."""
        grid, options = self.shape(source.shape[1])
        for j in range(1, last + 1):
            terms = j % 3 + 1 if j % 3 == 2 or j == self.degree else 0
            _advance_kernel[grid](
                *self.sparse, self.coefficients, F, source, target, self.n, source.shape[1], j,
                FIRST=j == 1, TERMS=terms, OVERWRITE=overwrite and j <= 2, **options,
            )  # fmt: skip
            source, target = target, source
        return source, target

    def descend(self, F: Tensor, current: Tensor, other: Tensor, last: int) -> Any:
        """From ``b_m`` in ``current`` to ``b_last``; returns the arrays of the last two."""
        grid, options = self.shape(current.shape[1])
        for k in range(self.degree - 1, last - 1, -1):
            _descend_kernel[grid](
                *self.sparse, self.coefficients, F, current, other, self.n, current.shape[1], k,
                SCALE=0.5 if k == 0 else 1.0, SUBTRACT=k < self.degree - 1, PRODUCT=True, **options,
            )  # fmt: skip
            current, other = other, current
        return current, other


def device_matrix(graph: Graph, like: Tensor, name: str, factor: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The order of the rows, and a matrix of the graph times a factor, on the device (cached)."""
    key = ("triton", name, like.dtype, like.device)
    if key not in graph.cache:
        matrix = getattr(graph, name)
        order = np.argsort(-np.diff(matrix.indptr), kind="stable").astype(np.int64)
        graph.cache[key] = (
            torch.as_tensor(order, device=like.device),
            torch.as_tensor(matrix.indptr.astype(np.int64), device=like.device),
            torch.as_tensor(matrix.indices.astype(np.int32), device=like.device),
            torch.as_tensor(factor * matrix.data, dtype=like.dtype, device=like.device),
        )
    cached: tuple[Tensor, Tensor, Tensor, Tensor] = graph.cache[key]
    return cached


class FusedTransform(FrameletTransform):
    """A framelet transform whose analysis and synthesis run in the fused kernels."""

    def __init__(self, transform: FrameletTransform) -> None:
        super().__init__(transform.graph, levels=transform.levels, degree=transform.degree, bank=transform.bank)

    def analysis(self, x: Tensor) -> Tensor:
        launcher = _Launcher(self, x, 0)
        bands = torch.empty(self.num_bands, *x.shape, dtype=x.dtype, device=x.device)
        launcher.ascend(bands, x.clone(), torch.empty_like(x), self.degree, overwrite=True)
        return bands

    def synthesis(self, coefficients: Tensor) -> Tensor:
        coefficients = coefficients.contiguous()
        launcher = _Launcher(self, coefficients, 0)
        first, second = torch.empty_like(coefficients[0]), torch.empty_like(coefficients[0])
        grid, options = launcher.shape(first.shape[1])
        _descend_kernel[grid](
            *launcher.sparse, launcher.coefficients, coefficients, second, first, self.num_nodes, first.shape[1],
            self.degree, SCALE=1.0, SUBTRACT=False, PRODUCT=False, **options,
        )  # fmt: skip
        return launcher.descend(coefficients, first, second, 0)[0]


def solve(problem: Problem, start: Tensor, *, history: bool) -> tuple[Tensor, Record]:
    """The CUDA counterpart of :func:`magnet.recovery.driver.solve`, elementwise penalty only."""
    settings = problem.settings
    if history or settings.tol > 0 or not problem.low_pass_is_implicit:
        problem = replace(problem, transform=FusedTransform(problem.transform))
        state, record = driver.solve(problem, admm.initial(problem, start), history=history)
        return state.U, record
    columns = start.shape[1]
    result = torch.empty_like(start)
    launcher = _Launcher(problem.transform, start, 1)
    for first in range(0, columns, BLOCK_COLUMNS):
        block = slice(first, min(first + BLOCK_COLUMNS, columns))
        result[:, block] = _solve_block(problem, start, launcher, block)
    iterations = np.full(columns, settings.max_iter, dtype=np.int64)
    return result, Record(iterations, np.zeros(columns, dtype=bool))


def _solve_block(problem: Problem, start: Tensor, launcher: _Launcher, block: slice) -> Tensor:
    settings, degree = problem.settings, launcher.degree
    U = start[:, block].contiguous().clone()
    X = problem.X[:, block].contiguous()
    gamma = problem.gamma if problem.gamma.numel() == 1 else problem.gamma[block]
    weight, how_q = _weights(problem, problem.M[:, block], gamma)
    nu = problem.nu[1:] if problem.nu.shape[1] == 1 else problem.nu[1:, block]
    threshold = (nu / gamma).expand(launcher.bands, U.shape[1])
    spread = problem.d.flatten()
    how_p = {1.0: SOFT, 0.0: HARD}.get(float(settings.p), GENERAL)
    if how_p == HARD and settings.hard == "exact":
        threshold, spread = torch.sqrt(2 * threshold), torch.sqrt(spread)
    threshold = threshold.contiguous()
    inertial = settings.inertia > 0
    F = torch.zeros(launcher.bands, *U.shape, dtype=U.dtype, device=U.device)
    E = torch.zeros_like(F) if inertial else F
    U_before = U.clone() if inertial else U
    source, target = U.clone(), torch.empty_like(U)
    grid, options = launcher.shape(U.shape[1])
    fixed = (*launcher.sparse, launcher.coefficients)
    size = (launcher.n, U.shape[1])
    for k in range(settings.max_iter):
        a = settings.inertia if k > 0 else 0.0
        source, target = launcher.ascend(F, source, target, degree - 1, overwrite=False)
        _shrink_kernel[grid](
            *fixed, F, E, source, target, spread, threshold, a, float(settings.p), *size,
            DEGREE=degree, HOW=how_p, INERTIAL=inertial, STEPS=NEWTON_STEPS, **options,
        )  # fmt: skip
        source, target = target, source
        source, target = launcher.descend(F, source, target, 1)
        _fit_kernel[grid](
            *fixed, F, source, target, X, weight, U, U_before, a, float(settings.q), *size,
            SUBTRACT=degree > 1, HOW=how_q, INERTIAL=inertial, STEPS=NEWTON_STEPS, **options,
        )  # fmt: skip
        source, target = target, source
    return U


def _weights(problem: Problem, trust: Tensor, gamma: Tensor) -> tuple[Tensor, int]:
    """The weight of the U-step: ``1 / (1 + omega)`` for q = 2, else ``omega / 2``, omega over gamma."""
    settings = problem.settings
    omega = problem.d * trust**settings.q / gamma
    if settings.variant == "released" and settings.q == 1:
        omega = omega * gamma**2
    kept = (trust == 1) if settings.keep_trusted else torch.zeros_like(trust, dtype=torch.bool)
    if settings.q == 2:
        return torch.where(kept, 0.0, 1 / (1 + omega)).contiguous(), QUADRATIC
    weight = torch.where(kept, KEEP, omega / 2).contiguous()
    return weight, SOFT if settings.q == 1 else GENERAL
