"""The steps of APPNP, AirGNN and ElasticGNN and their gradients on a CPU, where the array operations of a step, about
five for APPNP and twenty for ElasticGNN, take most of the time of a training. Here a step is a pass over the edges, and
the values of one model stay in cache. The ``propagate`` methods of the models are the obvious versions."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.nn.sparse import Sparse
from magnet.recovery.kernels.simd import LANES, jit, load, splat, store, total

Floats = NDArray[np.float32]
Csr = tuple[NDArray[np.int64], NDArray[np.int64], Floats]


@jit
def _product(matrix: Any, x: Any, width: Any, out: Any) -> None:
    """``out = matrix @ x``, a row at a time."""
    starts, columns, values = matrix
    for i in range(starts.size - 1):
        for b in range(0, width, LANES):
            sums = splat(x.dtype.type(0))
            for e in range(starts[i], starts[i + 1]):
                sums = sums + load(x, columns[e] * width + b) * values[e]
            store(out, i * width + b, sums)


@jit
def _appnp(h: Any, smooth: Any, delta: Any, width: Any, numbers: Any, steps: Any, kept: Any, z: Any) -> None:
    """``z`` gets Z after some steps."""
    alpha, rest = numbers[0], np.float32(1) - numbers[0]
    pulled = np.empty_like(h)
    z[:] = h
    for _ in range(steps):
        _product(smooth, z, width, pulled)
        for at in range(0, h.size, LANES):
            store(z, at, load(pulled, at) * rest + load(h, at) * alpha)


@jit
def _air(h: Any, smooth: Any, delta: Any, width: Any, numbers: Any, steps: Any, kept: Any, f: Any) -> None:
    """``f`` gets F after some steps; ``kept`` gets each move Y - H."""
    reach = numbers[0]
    y = np.empty_like(h)
    f[:] = h
    for k in range(steps):
        _product(smooth, f, width, y)
        for i in range(0, h.size, width):
            squares = splat(h.dtype.type(0))
            for at in range(i, i + width, LANES):
                move = load(y, at) - load(h, at)
                squares = squares + move * move
                store(y, at, move)
                if kept.shape[0]:
                    store(kept[k], at, move)
            square = total(squares)
            beta = np.float32(1) - reach / np.float32(math.sqrt(square)) if square > reach * reach else np.float32(0)
            for at in range(i, i + width, LANES):
                store(f, at, load(h, at) + load(y, at) * beta)


@jit
def _air_gradient(
    gradient: Any, smooth: Any, delta: Any, width: Any, numbers: Any, steps: Any, kept: Any, found: Any
) -> None:
    r"""With m = Y - H and G the gradient for :math:`F_{k+1} = H + \beta m`, that for m is
    :math:`\beta G + \gamma\lambda \|m\|^{-3} (m \cdot G)\, m`, and 0 where m is too short to move."""
    reach = numbers[0]
    for_f, for_move = gradient.copy(), np.empty_like(gradient)
    found[:] = 0
    for k in range(steps - 1, -1, -1):
        moves = kept[k]
        for i in range(0, gradient.size, width):
            squares, products = splat(gradient.dtype.type(0)), splat(gradient.dtype.type(0))
            for at in range(i, i + width, LANES):
                squares = squares + load(moves, at) * load(moves, at)
                products = products + load(moves, at) * load(for_f, at)
            square, beta, along = total(squares), np.float32(0), np.float32(0)
            if square > reach * reach:
                part = reach / np.float32(math.sqrt(square))
                beta, along = np.float32(1) - part, part / square * total(products)
            for at in range(i, i + width, LANES):
                of_move = load(for_f, at) * beta + load(moves, at) * along
                store(for_move, at, of_move)
                store(found, at, load(found, at) + (load(for_f, at) - of_move))
        _product(smooth, for_move, width, for_f)
    for at in range(0, gradient.size, LANES):
        store(found, at, load(found, at) + load(for_f, at))


@jit
def _dual_step(delta: Any, u: Any, width: Any, beta: Any, radius: Any, z: Any, kept: Any, pulled: Any) -> None:
    r"""``z`` after its step, and its products with :math:`\tilde\Delta^\top` added to ``pulled``, edge by edge: an edge
    has two nodes, so that its row of :math:`\tilde\Delta` is used while it is at hand. ``kept``, unless it is empty,
    gets z before the projection."""
    columns, values = delta[1], delta[2]
    for e in range(delta[0].size - 1):
        i, j, at_i, at_j = columns[2 * e] * width, columns[2 * e + 1] * width, values[2 * e], values[2 * e + 1]
        squares = splat(u.dtype.type(0))
        for b in range(0, width, LANES):
            at = e * width + b
            before = load(z, at) + (load(u, i + b) * at_i + load(u, j + b) * at_j) * beta
            squares = squares + before * before
            store(z, at, before)
            if kept.size:
                store(kept, at, before)
        square = total(squares)
        shrink = radius / np.float32(math.sqrt(square)) if square > radius * radius else np.float32(1)
        for b in range(0, width, LANES):
            dual = load(z, e * width + b) * shrink
            store(z, e * width + b, dual)
            store(pulled, i + b, load(pulled, i + b) + dual * at_i)
            store(pulled, j + b, load(pulled, j + b) + dual * at_j)


@jit
def _elastic(h: Any, smooth: Any, delta: Any, width: Any, numbers: Any, steps: Any, kept: Any, f: Any) -> None:
    """``f`` gets F after some steps; ``kept`` gets each Z before its projection."""
    gamma, radius = numbers[0], numbers[1]
    beta, rest = np.float32(1) / (np.float32(2) * gamma), np.float32(1) - gamma
    u, pulled, z = np.empty_like(h), np.zeros_like(h), np.zeros((delta[0].size - 1) * width, h.dtype)
    f[:] = h
    for k in range(steps):
        _product(smooth, f, width, u)
        for at in range(0, h.size, LANES):
            y = load(h, at) * gamma + load(u, at) * rest
            store(f, at, y)
            store(u, at, y - load(pulled, at) * gamma)
        pulled[:] = 0
        _dual_step(delta, u, width, beta, radius, z, kept[k] if kept.shape[0] else kept.ravel(), pulled)
        for at in range(0, h.size, LANES):
            store(f, at, load(f, at) - load(pulled, at) * gamma)


@jit
def _dual_gradient(delta: Any, for_pulled: Any, width: Any, radius: Any, before: Any, for_z: Any, moved: Any) -> None:
    """The gradient of :func:`_dual_step`."""
    columns, values = delta[1], delta[2]
    for e in range(delta[0].size - 1):
        i, j, at_i, at_j = columns[2 * e] * width, columns[2 * e + 1] * width, values[2 * e], values[2 * e + 1]
        squares, products = splat(before.dtype.type(0)), splat(before.dtype.type(0))
        for b in range(0, width, LANES):
            at = e * width + b
            gradient = load(for_z, at) + (load(for_pulled, i + b) * at_i + load(for_pulled, j + b) * at_j)
            store(for_z, at, gradient)
            squares = squares + load(before, at) * load(before, at)
            products = products + load(before, at) * gradient
        square = total(squares)
        shrink, along = np.float32(1), np.float32(0)
        if square > radius * radius:  # the projection's derivative: no change along Z
            shrink, along = radius / np.float32(math.sqrt(square)), total(products) / square
        for b in range(0, width, LANES):
            at = e * width + b
            gradient = (load(for_z, at) - load(before, at) * along) * shrink
            store(for_z, at, gradient)
            store(moved, i + b, load(moved, i + b) + gradient * at_i)
            store(moved, j + b, load(moved, j + b) + gradient * at_j)


@jit
def _elastic_gradient(
    gradient: Any, smooth: Any, delta: Any, width: Any, numbers: Any, steps: Any, kept: Any, found: Any
) -> None:
    """The gradient for H from that for F, with what :func:`_elastic` kept."""
    gamma, radius = numbers[0], numbers[1]
    beta, rest = np.float32(1) / (np.float32(2) * gamma), np.float32(1) - gamma
    for_f, for_u, moved = gradient.copy(), np.empty_like(gradient), np.zeros_like(gradient)
    for_z = np.zeros_like(kept[0])
    found[:] = 0
    for k in range(steps - 1, -1, -1):
        for at in range(0, gradient.size, LANES):
            store(for_u, at, (load(moved, at) * beta + load(for_f, at)) * -gamma)
        moved[:] = 0
        _dual_gradient(delta, for_u, width, radius, kept[k], for_z, moved)
        for at in range(0, gradient.size, LANES):
            for_y = load(for_f, at) + load(moved, at) * beta
            store(for_u, at, for_y)
            store(found, at, load(found, at) + for_y * gamma)
        _product(smooth, for_u, width, for_f)
        for at in range(0, gradient.size, LANES):
            store(for_f, at, load(for_f, at) * rest)
    for at in range(0, gradient.size, LANES):
        store(found, at, load(found, at) + load(for_f, at))


class Kernel(NamedTuple):
    """The steps of one model and their gradient. Values are flat, ``[n * width]``.

    Both are called with H (or the gradient), the operator (or its transpose), the incidence matrix, the width, the
    numbers of the model, how many steps there are, the array ``[steps or 0, kept]`` for what the gradient needs, and
    the array for the result (or the gradient for H).
    """

    forward: Callable[..., None]
    backward: Callable[..., None]


APPNP_STEPS = Kernel(_appnp, _appnp)  # linear: the gradient is the same steps with the transposed operator
AIR_STEPS = Kernel(_air, _air_gradient)
ELASTIC_STEPS = Kernel(_elastic, _elastic_gradient)


class Steps(torch.autograd.Function):
    """See :func:`run`."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, kernel: Kernel, operator: Sparse, delta: Sparse | None, numbers: Tensor, steps: int
    ) -> Tensor:
        nodes, models, classes = h.shape
        rows = {APPNP_STEPS: 0, AIR_STEPS: nodes, ELASTIC_STEPS: delta.shape[0] if delta else 0}[kernel]
        kept = np.empty((models, steps if ctx.needs_input_grad[0] else 0, rows * _width(classes)), np.float32)
        edges, given = _csr((delta or operator).matrix), (numbers.numpy(), steps, kept)
        ctx.kernel, ctx.given = kernel.backward, (_csr(operator.transposed), edges, *given)
        return _each_model(kernel.forward, h, _csr(operator.matrix), edges, *given)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        return _each_model(ctx.kernel, grads[0], *ctx.given), None, None, None, None, None


def run(
    h: Tensor, kernel: Kernel, operator: Sparse, numbers: Tensor, steps: int, delta: Sparse | None = None
) -> Tensor:
    """K steps on ``h`` ``[n, S, classes]``, differentiable in it; every model has its own numbers ``[S, k]``."""
    found: Tensor = Steps.apply(h, kernel, operator, delta, numbers, steps)  # type: ignore[no-untyped-call]
    return found


def _each_model(
    work: Callable[..., None], h: Tensor, smooth: Csr, edges: Csr, numbers: Floats, steps: int, kept: Floats
) -> Tensor:
    """A kernel on ``h`` ``[n, S, classes]``, the classes padded with zeros to whole vectors: several models at a time,
    each on one thread, where torch would use several."""
    nodes, models, classes = h.shape
    width = _width(classes)
    padded = np.zeros((models, nodes, width), np.float32)
    padded[:, :, :classes] = h.detach().numpy().transpose(1, 0, 2)
    found = np.empty((models, nodes * width), np.float32)

    def one(s: int) -> None:
        work(padded[s].ravel(), smooth, edges, width, numbers[s], steps, kept[s], found[s])

    threads = min(torch.get_num_threads(), models)
    if threads == 1:
        list(map(one, range(models)))
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(one, range(models)))
    return torch.from_numpy(found.reshape(models, nodes, width)[:, :, :classes]).transpose(0, 1)


def _width(classes: int) -> int:
    return -(-classes // LANES) * LANES


def _csr(matrix: Tensor) -> Csr:
    return matrix.crow_indices().numpy(), matrix.col_indices().numpy(), matrix.values().numpy()
