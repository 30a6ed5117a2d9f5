r"""Weighted propagation on the CPU (Numba): conjugate gradients on one block of columns, whose state stays in cache.

The system is that of :mod:`magnet.recovery.propagation`, :math:`(w + \lambda L) U = w X` on the free cells, with the
Jacobi preconditioner :math:`1 / (w + \lambda)`; every column has its own weights, and so its own matrix. With
:math:`d = w + \lambda` (0 on cells that are fixed) a step makes three passes over the block:

.. math::
    q &= d\,s - \lambda \hat A s, & \langle s, q \rangle \\
    r &\leftarrow r - \alpha q, & \langle r, r / d \rangle, \; \langle r, r \rangle \\
    U &\leftarrow U + \alpha s, \quad s \leftarrow r / d + \beta s

A column that has converged gets :math:`\alpha = 0`. Several lambdas share a block once it has been read and checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from magnet.graph import Graph
from magnet.recovery.io.columns import FAR_OUT, ORDINARY_BITS
from magnet.recovery.kernels.blocks import aligned, gather, kernel_matrix, run_blocks
from magnet.recovery.kernels.simd import LANES, jit, keep_where, load, splat, store

#: Rows summed in the working precision before they are added to the float64 totals.
FLUSH = 64


def solve(
    graph: Graph,
    x: torch.Tensor,
    trust: torch.Tensor,
    lams: Sequence[float],
    coordinates: str,
    *,
    max_iter: int,
    tol: float,
    threads: int | None = None,
) -> list[tuple[torch.Tensor, NDArray[np.int64], NDArray[np.float64]]] | None:
    """The CPU counterpart of ``propagation._System.cg``: for each lambda the columns, their steps and their residuals.

    ``None`` if a cell is invalid: the caller then finds the cell and reports it.
    """
    run = _Run(graph, x, trust, lams, coordinates, max_iter, tol)
    cost = x.numel() * min(max_iter, 32) * len(lams)
    fine = run_blocks(x.shape[1], lambda: _Space(run), run.block, threads=threads, cost=cost)
    if not all(fine):
        return None
    return [(torch.from_numpy(run.result[k]), run.steps[k], run.left[k]) for k in range(len(lams))]


class _Space:
    """The arrays of one thread."""

    def __init__(self, run: _Run) -> None:
        size = run.x.shape[0] * LANES
        self.known, self.w, self.X, self.d, self.inverse = (aligned(size, run.x.dtype) for _ in range(5))
        self.U, self.r, self.s, self.q = (aligned(size, run.x.dtype) for _ in range(4))
        self.evidence = np.zeros((int(run.component.max()) + 1) * LANES, run.x.dtype)
        self.column = np.empty(run.x.shape[0], run.x.dtype)
        self.median, self.scale = np.zeros(LANES, run.x.dtype), np.ones(LANES, run.x.dtype)


class _Run:
    """What the blocks of one solve share, as arrays that the kernels take."""

    def __init__(
        self,
        graph: Graph,
        x: torch.Tensor,
        trust: torch.Tensor,
        lams: Sequence[float],
        coordinates: str,
        max_iter: int,
        tol: float,
    ) -> None:
        self.x = np.ascontiguousarray(x.detach().numpy())
        by_row = trust.shape[1] > 1 and trust.stride(1) == 0
        self.trust = np.ascontiguousarray((trust[:, :1] if by_row else trust).detach().numpy())
        kind = self.x.dtype
        self.order, indptr, indices, values = kernel_matrix(graph, "normalized")
        self.sparse = (indptr, indices, values.astype(kind))
        self.component = graph.components[self.order].astype(np.int64)
        self.isolated = graph.isolated[self.order]
        self.degree = coordinates == "degree"
        self.root = np.sqrt(graph.degree_weights[self.order] if self.degree else np.ones(x.shape[0])).astype(kind)
        self.ordinary = kind.type(2.0 ** ORDINARY_BITS[x.dtype])
        self.lams, self.max_iter, self.tol = lams, max_iter, tol
        self.result = [np.empty_like(self.x) for _ in lams]
        self.steps = np.zeros((len(lams), x.shape[1]), dtype=np.int64)
        self.left = np.zeros((len(lams), x.shape[1]))

    def block(self, first: int, space: _Space) -> bool:
        """Solve columns ``first`` to ``first + LANES``; false if a cell is invalid."""
        width = min(LANES, self.x.shape[1] - first)
        columns = slice(first, first + width)
        blocks = (space.known, space.w, space.evidence)
        if not _pack(self.x, self.trust, self.order, self.component, first, width, *blocks):
            return False
        places = (self.component, self.isolated)
        options = (self.root, self.degree, self.ordinary)
        _known(space.known, space.w, *places, space.evidence, options, space.column, space.median, space.scale, space.X)
        steps, left = np.zeros(LANES, dtype=np.int64), np.zeros(LANES)
        for k, lam in enumerate(self.lams):
            _diagonal(space.w, *places, space.evidence, lam, space.d, space.inverse)
            _conjugate_gradients(
                *self.sparse,
                (space.X, space.w, space.d, space.inverse),
                (space.U, space.r, space.s, space.q),
                self.x.dtype.type(lam if lam > 0 else 1.0),
                lam > 0,
                self.max_iter,
                self.tol,
                steps,
                left,
            )
            center = space.median if self.degree else np.zeros_like(space.median)
            _unpack(
                (space.U, space.d, space.known),
                self.root,
                center,
                space.scale,
                self.order,
                first,
                width,
                self.result[k],
            )
            self.steps[k, columns] = steps[:width]
            self.left[k, columns] = left[:width]
        return True


@jit
def _pack(
    x: Any,
    trust: Any,
    order: Any,
    component: Any,
    first: Any,
    width: Any,
    known: Any,
    w: Any,
    evidence: Any,
) -> Any:
    """Copy columns into blocks, and add up the weight that each component has in each column.

    False if a trust value is outside [0, 1] or a trusted cell is not finite.
    """
    evidence[:] = 0
    fine = True
    by_row = trust.shape[1] == 1
    for i in range(order.size):
        node = order[i]
        for c in range(LANES):
            at = i * LANES + c
            if c >= width:
                known[at] = 0
                w[at] = 0
                continue
            weight = trust[node, 0 if by_row else first + c]
            value = x[node, first + c]
            # also false for NaN
            if not (weight >= 0 and weight <= 1) or (weight > 0 and not np.isfinite(value)):
                fine = False
            known[at] = value
            w[at] = weight
            evidence[component[i] * LANES + c] += weight
    return fine


@jit
def _known(
    known: Any,
    w: Any,
    component: Any,
    isolated: Any,
    evidence: Any,
    options: Any,
    column: Any,
    median: Any,
    scale: Any,
    X: Any,
) -> None:
    """Fill in trusted column medians where a cell holds no usable number or its component has no weight.

    See ``fill_missing``, and for the scale by which a column is divided ``column_scales``, in
    :mod:`magnet.recovery.io.columns`.
    """
    root, degree, ordinary = options
    n = root.size
    for c in range(LANES):
        largest = root.dtype.type(0)
        for i in range(n):
            if w[i * LANES + c] > 0:
                largest = max(largest, abs(known[i * LANES + c]))
        scale[c] = 1
        if largest > ordinary or 0 < largest < 1 / ordinary:
            scale[c] = 2.0 ** np.floor(np.log2(largest))
        limit = np.float64(largest) * FAR_OUT if largest > 0 else np.inf
        needed = degree
        for i in range(n):
            at = i * LANES + c
            hopeless = evidence[component[i] * LANES + c] == 0 and not isolated[i]
            # also true for NaN
            if hopeless or not abs(known[at]) <= limit:
                needed = True
                break
        median[c] = _trusted_median(known, w, c, column) if needed else 0
        for i in range(n):
            at = i * LANES + c
            hopeless = evidence[component[i] * LANES + c] == 0 and not isolated[i]
            far = not abs(known[at]) <= limit and not (isolated[i] and np.isfinite(known[at]))
            if hopeless or far or not np.isfinite(known[at]):
                known[at] = median[c]
            X[at] = (root[i] * (known[at] - median[c]) if degree else known[at]) / scale[c]


@jit
def _trusted_median(known: Any, w: Any, c: Any, column: Any) -> Any:
    """See :func:`magnet.recovery.io.columns.trusted_median`: the lower of the two middle ones."""
    for least in (0.5, 0.0):
        count = 0
        for i in range(column.size):
            value = known[i * LANES + c]
            if w[i * LANES + c] > least and np.isfinite(value):
                column[count] = value
                count += 1
        if count > 0:
            return np.partition(column[:count], (count - 1) // 2)[(count - 1) // 2]
    return column.dtype.type(0)


@jit
def _diagonal(
    w: Any,
    component: Any,
    isolated: Any,
    evidence: Any,
    lam: Any,
    d: Any,
    inverse: Any,
) -> None:
    """``d = w + lam`` on the free cells and 0 on the fixed ones; ``lam = 0`` fixes the cells of positive weight."""
    for i in range(component.size):
        for c in range(LANES):
            at = i * LANES + c
            free = not isolated[i] and evidence[component[i] * LANES + c] > 0 and (lam > 0 or w[at] == 0)
            d[at] = (w[at] + lam if lam > 0 else 1) if free else 0
            inverse[at] = 1 / d[at] if free else 0


@jit
def _add_up(vector: Any, scratch: Any, totals: Any) -> None:
    """Add the lanes of a vector to float64 totals."""
    store(scratch, 0, vector)
    for c in range(LANES):
        totals[c] += scratch[c]


@jit
def _conjugate_gradients(
    indptr: Any,
    indices: Any,
    values: Any,
    system: Any,
    iterates: Any,
    lam: Any,
    weighted: Any,
    max_iter: Any,
    tol: Any,
    steps: Any,
    left: Any,
) -> None:
    """Solve one block; ``weighted`` is false for ``lam = 0``, where the free cells have no weight of their own."""
    X, w, d, inverse = system
    U, r, s, q = iterates
    n = indptr.size - 1
    zero = X.dtype.type(0)
    scratch = np.empty(LANES, X.dtype)
    alpha, beta = np.zeros(LANES, X.dtype), np.zeros(LANES, X.dtype)
    size, rho, squared = np.zeros(LANES), np.zeros(LANES), np.zeros(LANES)
    for i in range(n):
        position = i * LANES
        x = load(X, position)
        store(U, position, x)
        store(q, position, x - keep_where(x, load(d, position)))
    for begin in range(0, n, FLUSH):
        sizes, rhos, squares = splat(zero), splat(zero), splat(zero)
        for i in range(begin, min(begin + FLUSH, n)):
            position = i * LANES
            x, free = load(X, position), load(d, position)
            # U starts at X, so that the fixed cells and the start together are X
            residual = keep_where((gather(indptr, indices, values, X, i) - x) * lam, free)
            right = gather(indptr, indices, values, q, i) * lam
            if weighted:
                right = right + load(w, position) * x
            right = keep_where(right, free)
            z = residual * load(inverse, position)
            store(r, position, residual)
            store(s, position, z)
            sizes = sizes + right * right
            rhos = rhos + residual * z
            squares = squares + residual * residual
        _add_up(sizes, scratch, size)
        _add_up(rhos, scratch, rho)
        _add_up(squares, scratch, squared)
    for c in range(LANES):
        steps[c] = 0
        if size[c] == 0:
            size[c] = squared[c]
    for _ in range(max_iter):
        any_going = False
        for c in range(LANES):
            if squared[c] > tol * tol * size[c]:
                any_going = True
                steps[c] += 1
                beta[c] = 1
            else:
                beta[c] = 0
        if not any_going:
            break
        curvature = np.zeros(LANES)
        for begin in range(0, n, FLUSH):
            sums = splat(zero)
            for i in range(begin, min(begin + FLUSH, n)):
                position = i * LANES
                direction, free = load(s, position), load(d, position)
                image = keep_where(direction * free - gather(indptr, indices, values, s, i) * lam, free)
                store(q, position, image)
                sums = sums + direction * image
            _add_up(sums, scratch, curvature)
        for c in range(LANES):
            alpha[c] = rho[c] / curvature[c] if beta[c] > 0 and curvature[c] > 0 else 0
        ahead = load(alpha, 0)
        after, squared[:] = np.zeros(LANES), 0
        for begin in range(0, n, FLUSH):
            rhos, squares = splat(zero), splat(zero)
            for i in range(begin, min(begin + FLUSH, n)):
                position = i * LANES
                residual = load(r, position) - load(q, position) * ahead
                store(r, position, residual)
                rhos = rhos + residual * (residual * load(inverse, position))
                squares = squares + residual * residual
            _add_up(rhos, scratch, after)
            _add_up(squares, scratch, squared)
        for c in range(LANES):
            beta[c] = after[c] / rho[c] if beta[c] > 0 and rho[c] > 0 else 0
            rho[c] = after[c]
        keep = load(beta, 0)
        for i in range(n):
            position = i * LANES
            direction = load(s, position)
            store(U, position, load(U, position) + direction * ahead)
            store(s, position, load(r, position) * load(inverse, position) + direction * keep)
    for c in range(LANES):
        left[c] = np.sqrt(squared[c] / size[c]) if size[c] > 0 else 0


@jit
def _unpack(
    blocks: Any,
    root: Any,
    center: Any,
    scale: Any,
    order: Any,
    first: Any,
    width: Any,
    result: Any,
) -> None:
    """Back to user units; fixed cells are bit-identical."""
    U, d, known = blocks
    for i in range(order.size):
        for c in range(width):
            at = i * LANES + c
            result[order[i], first + c] = U[at] / root[i] * scale[c] + center[c] if d[at] > 0 else known[at]
