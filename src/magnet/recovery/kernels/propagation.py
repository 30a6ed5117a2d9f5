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
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.arrays import Floats, Ints
from magnet.graph import Graph
from magnet.recovery.io.columns import FAR_OUT, ORDINARY_BITS
from magnet.recovery.kernels.blocks import FLUSH, aligned, gather, kernel_matrix, run_blocks
from magnet.recovery.kernels.simd import LANES, jit, keep_where, load, splat, store


class _Nodes(NamedTuple):
    """What the kernels know about the nodes, in their order."""

    order: NDArray[Any]
    component: NDArray[Any]
    isolated: NDArray[Any]
    root: NDArray[Any]


class _Block(NamedTuple):
    """The arrays of one thread, ``[n, LANES]`` flat unless noted; see the equations above."""

    known: NDArray[Any]  # the features, with medians where there are none
    w: NDArray[Any]
    X: NDArray[Any]  # the known features as the system takes them
    d: NDArray[Any]
    inverse: NDArray[Any]
    U: NDArray[Any]
    r: NDArray[Any]
    s: NDArray[Any]
    q: NDArray[Any]
    evidence: NDArray[Any]  # [components, LANES], the weight that each component has in each column
    median: NDArray[Any]  # [LANES], as the scale
    scale: NDArray[Any]


def solve(
    graph: Graph,
    x: Tensor,
    trust: Tensor,
    lams: Sequence[float],
    degree: bool,
    max_iter: int,
    tol: float,
    threads: int | None = None,
) -> list[tuple[Tensor, Ints, Floats]] | None:
    """The CPU counterpart of ``propagation._System.cg``: for each lambda the columns, their steps and their residuals.

    ``degree`` asks for degree coordinates. ``None`` if a cell is invalid: the caller then finds the cell and reports
    it.
    """
    n, columns = x.shape
    values = np.ascontiguousarray(x.detach().numpy())
    by_row = columns > 1 and trust.stride(1) == 0
    weights = np.ascontiguousarray((trust[:, :1] if by_row else trust).detach().numpy())
    kind = values.dtype
    order, matrix = kernel_matrix(graph, "normalized")
    matrix = matrix._replace(values=matrix.values.astype(kind))
    root = np.sqrt(graph.degree_weights[order] if degree else np.ones(n)).astype(kind)
    nodes = _Nodes(order, graph.components[order].astype(np.int64), graph.isolated[order], root)
    ordinary = kind.type(2.0 ** ORDINARY_BITS[x.dtype])
    results = [np.empty_like(values) for _ in lams]
    steps, left = np.zeros((len(lams), columns), dtype=np.int64), np.zeros((len(lams), columns))

    def make_space() -> _Block:
        evidence = np.zeros((int(nodes.component.max()) + 1) * LANES, kind)
        blocks = [aligned(n * LANES, kind) for _ in range(9)]
        return _Block(*[*blocks, evidence, np.zeros(LANES, kind), np.ones(LANES, kind)])

    def solve_block(first: int, block: _Block) -> bool:
        """Columns ``first`` to ``first + LANES``; false if a cell is invalid."""
        width = min(LANES, columns - first)
        if not _pack(values, weights, nodes, first, width, block):
            return False
        _fill(nodes, degree, ordinary, block)
        for k, lam in enumerate(lams):
            _diagonal(nodes, lam, block)
            counts, rest = np.zeros(LANES, dtype=np.int64), np.zeros(LANES)
            factor = kind.type(lam if lam > 0 else 1.0)
            _conjugate_gradients(matrix, block, factor, lam > 0, max_iter, tol, counts, rest)
            _unpack(block, nodes, degree, first, width, results[k])
            steps[k, first : first + width], left[k, first : first + width] = counts[:width], rest[:width]
        return True

    cost = x.numel() * min(max_iter, 32) * len(lams)
    fine = run_blocks(columns, make_space, solve_block, threads=threads, cost=cost)
    if not all(fine):
        return None
    return [(torch.from_numpy(results[k]), steps[k], left[k]) for k in range(len(lams))]


@jit
def _pack(x, trust, nodes, first, width, block):
    """Copy columns into blocks, and add up the weight that each component has in each column.

    False if a trust value is outside [0, 1] or a trusted cell is not finite.
    """
    known, w, evidence = block.known, block.w, block.evidence
    evidence[:] = 0
    fine = True
    by_row = trust.shape[1] == 1
    for i in range(nodes.order.size):
        node = nodes.order[i]
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
            evidence[nodes.component[i] * LANES + c] += weight
    return fine


@jit
def _fill(nodes, degree, ordinary, block):
    """Fill in trusted column medians where a cell holds no usable number or its component has no weight.

    See ``fill_missing``, and for the scale by which a column is divided ``column_scales``, in
    :mod:`magnet.recovery.io.columns`.
    """
    known, w, median, scale = block.known, block.w, block.median, block.scale
    component, isolated, root = nodes.component, nodes.isolated, nodes.root
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
            hopeless = block.evidence[component[i] * LANES + c] == 0 and not isolated[i]
            # also true for NaN
            if hopeless or not abs(known[i * LANES + c]) <= limit:
                needed = True
                break
        median[c] = _trusted_median(known, w, c) if needed else 0
        for i in range(n):
            at = i * LANES + c
            hopeless = block.evidence[component[i] * LANES + c] == 0 and not isolated[i]
            far = not abs(known[at]) <= limit and not (isolated[i] and np.isfinite(known[at]))
            if hopeless or far or not np.isfinite(known[at]):
                known[at] = median[c]
            block.X[at] = (root[i] * (known[at] - median[c]) if degree else known[at]) / scale[c]


@jit
def _trusted_median(known, w, c):
    """See :func:`magnet.recovery.io.columns.trusted_median`: the lower of the two middle ones."""
    column = np.empty(known.size // LANES, known.dtype)
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
def _diagonal(nodes, lam, block):
    """``d = w + lam`` on the free cells and 0 on the fixed ones; ``lam = 0`` fixes the cells of positive weight."""
    w, d, inverse = block.w, block.d, block.inverse
    for i in range(nodes.order.size):
        for c in range(LANES):
            at = i * LANES + c
            linked = not nodes.isolated[i] and block.evidence[nodes.component[i] * LANES + c] > 0
            free = linked and (lam > 0 or w[at] == 0)
            d[at] = (w[at] + lam if lam > 0 else 1) if free else 0
            inverse[at] = 1 / d[at] if free else 0


@jit
def _add_up(vector, scratch, totals):
    """Add the lanes of a vector to float64 totals."""
    store(scratch, 0, vector)
    for c in range(LANES):
        totals[c] += scratch[c]


@jit
def _conjugate_gradients(matrix, block, lam, weighted, max_iter, tol, steps, left):
    """Solve one block; ``weighted`` is false for ``lam = 0``, where the free cells have no weight of their own."""
    X, d, inverse, U, r, s, q = block.X, block.d, block.inverse, block.U, block.r, block.s, block.q
    indptr, indices, values = matrix
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
                right = right + load(block.w, position) * x
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
def _unpack(block, nodes, degree, first, width, result):
    """Back to user units; fixed cells are bit-identical."""
    order, root, U, d, scale = nodes.order, nodes.root, block.U, block.d, block.scale
    for i in range(order.size):
        for c in range(width):
            at = i * LANES + c
            center = block.median[c] if degree else block.median.dtype.type(0)
            solved = U[at] / root[i] * scale[c] + center
            result[order[i], first + c] = solved if d[at] > 0 else block.known[at]
