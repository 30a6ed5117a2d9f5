"""The steps of ElasticGNN and their gradient on a CPU, where about twenty array operations a step take most of the time
of a small graph. :meth:`magnet.nn.ElasticGNN.propagate` is the obvious version."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.nn.sparse import Sparse

Floats = NDArray[np.float32]
#: Classes are padded with zeros to a multiple of this, so that the innermost loops have a fixed length.
LANES = 8

Csr = tuple[NDArray[np.int64], NDArray[np.int64], Floats]


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"}, error_model="numpy")
def _product(starts: Any, columns: Any, values: Any, x: Floats, out: Floats) -> None:
    """``out = matrix @ x``, a row at a time."""
    for i in range(out.shape[0]):
        for b in range(0, out.shape[1], LANES):
            for c in range(LANES):
                out[i, b + c] = 0
            for e in range(starts[i], starts[i + 1]):
                j, weight = columns[e], values[e]
                for c in range(LANES):
                    out[i, b + c] += weight * x[j, b + c]


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"}, error_model="numpy")
def forward(
    h: Floats, smooth: Csr, delta: Csr, pull: Csr, gamma: Floats, radius: Floats, steps: int, kept: Floats
) -> Floats:
    """F after some steps, ``[S, n, classes]``; ``kept`` ``[S, steps or 1, edges, classes]`` gets each Z before its
    projection."""
    found = np.empty_like(h)
    nodes, classes, edges = h.shape[1], h.shape[2], kept.shape[2]
    at_nodes, at_edges = np.empty((3, nodes, classes), np.float32), np.empty((2, edges, classes), np.float32)
    y, u, pulled, z, difference = at_nodes[0], at_nodes[1], at_nodes[2], at_edges[0], at_edges[1]
    for s in range(h.shape[0]):
        g, beta, limit, f = gamma[s], 1 / (2 * gamma[s]), radius[s], found[s]
        f[:] = h[s]
        pulled[:], z[:] = 0, 0
        for k in range(steps):
            _product(smooth[0], smooth[1], smooth[2], f, y)
            for i in range(nodes):
                for c in range(classes):
                    y[i, c] = g * h[s, i, c] + (1 - g) * y[i, c]
                    u[i, c] = y[i, c] - pulled[i, c]
            _product(delta[0], delta[1], delta[2], u, difference)
            before = kept[s, min(k, kept.shape[1] - 1)]
            for e in range(edges):
                square = np.float32(0)
                for c in range(classes):
                    before[e, c] = z[e, c] + beta * difference[e, c]
                    square += before[e, c] * before[e, c]
                shrink = np.float32(1) if square <= limit * limit else limit / np.float32(math.sqrt(square))
                for c in range(classes):
                    z[e, c] = shrink * before[e, c]
            _product(pull[0], pull[1], pull[2], z, pulled)
            for i in range(nodes):
                for c in range(classes):
                    pulled[i, c] *= g
                    f[i, c] = y[i, c] - pulled[i, c]
    return found


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"}, error_model="numpy")
def backward(
    gradient: Floats, smooth: Csr, delta: Csr, pull: Csr, gamma: Floats, radius: Floats, kept: Floats
) -> Floats:
    """The gradient for H from that for F, with what :func:`forward` kept; ``smooth`` is transposed."""
    found = np.zeros_like(gradient)
    nodes, classes, edges = gradient.shape[1], gradient.shape[2], kept.shape[2]
    at_nodes, at_edges = np.empty((4, nodes, classes), np.float32), np.empty((2, edges, classes), np.float32)
    for_f, for_y, for_pulled, moved = at_nodes[0], at_nodes[1], at_nodes[2], at_nodes[3]
    for_z, back = at_edges[0], at_edges[1]
    for s in range(gradient.shape[0]):
        g, beta, limit = gamma[s], 1 / (2 * gamma[s]), radius[s]
        for_f[:] = gradient[s]
        for_pulled[:], for_z[:] = 0, 0
        for k in range(kept.shape[1] - 1, -1, -1):
            for i in range(nodes):
                for c in range(classes):
                    for_pulled[i, c] = g * (for_pulled[i, c] - for_f[i, c])
            _product(delta[0], delta[1], delta[2], for_pulled, back)
            before = kept[s, k]
            for e in range(edges):
                square, along = np.float32(0), np.float32(0)
                for c in range(classes):
                    for_z[e, c] += back[e, c]
                    square += before[e, c] * before[e, c]
                    along += before[e, c] * for_z[e, c]
                if square > limit * limit:  # the projection's derivative: no change along Z
                    shrink, along = limit / np.float32(math.sqrt(square)), along / square
                    for c in range(classes):
                        for_z[e, c] = shrink * (for_z[e, c] - along * before[e, c])
            _product(pull[0], pull[1], pull[2], for_z, moved)
            for i in range(nodes):
                for c in range(classes):
                    moved[i, c] *= beta
                    for_y[i, c] = for_f[i, c] + moved[i, c]
                    for_pulled[i, c] = -moved[i, c]
                    found[s, i, c] += g * for_y[i, c]
            _product(smooth[0], smooth[1], smooth[2], for_y, for_f)
            for i in range(nodes):
                for c in range(classes):
                    for_f[i, c] *= 1 - g
        for i in range(nodes):
            for c in range(classes):
                found[s, i, c] += for_f[i, c]
    return found


class Steps(torch.autograd.Function):
    """K steps on ``h`` ``[n, S, classes]``."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, operator: Sparse, delta: Sparse, gamma: Tensor, radius: Tensor, steps: int
    ) -> Tensor:
        models = _padded(h)
        depth = steps if ctx.needs_input_grad[0] else 1
        kept = np.empty((h.shape[1], depth, delta.shape[0], models.shape[2]), np.float32)
        ctx.given = _csr(operator.transposed), _csr(delta.matrix), _csr(delta.transposed), gamma.numpy(), radius.numpy()
        ctx.kept = kept
        found = forward(models, _csr(operator.matrix), *ctx.given[1:], steps, kept)
        return torch.from_numpy(found[:, :, : h.shape[2]]).transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        found = backward(_padded(grads[0]), *ctx.given, ctx.kept)
        gradient = torch.from_numpy(found[:, :, : grads[0].shape[2]]).transpose(0, 1)
        return gradient, None, None, None, None, None


def _csr(matrix: Tensor) -> Csr:
    return matrix.crow_indices().numpy(), matrix.col_indices().numpy(), matrix.values().numpy()


def _padded(h: Tensor) -> Floats:
    """``[n, S, classes]`` as ``[S, n, classes and zeros]``."""
    nodes, models, classes = h.shape
    padded = np.zeros((models, nodes, -(-classes // LANES) * LANES), np.float32)
    padded[:, :, :classes] = h.detach().numpy().transpose(1, 0, 2)
    return padded
