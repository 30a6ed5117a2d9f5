"""The ADMM on the CPU: the fused kernels of :mod:`magnet.recovery.kernels.cpu` over blocks of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.arrays import Floats
from magnet.recovery.kernels import HARD, KEEP, QUADRATIC, TABLE
from magnet.recovery.kernels.blocks import aligned, kernel_matrix, run_blocks
from magnet.recovery.kernels.cpu import Block, Limits, solve_fast, solve_tracked
from magnet.recovery.kernels.simd import LANES, jit
from magnet.recovery.kernels.tables import scalar_maps
from magnet.recovery.problem import Problem
from magnet.recovery.result import Record

#: The arrays of one thread: a block, and those that there are for each band.
Space = tuple[Block, list[tuple[NDArray[Any], ...]]]


def solve(problem: Problem, start: Tensor, *, history: bool, threads: int | None) -> tuple[Tensor, Record]:
    """The CPU counterpart of :func:`magnet.recovery.driver.solve`, elementwise penalty only."""
    settings = problem.settings
    run = _Run(problem, start, history or settings.tol > 0 or not problem.low_pass_is_implicit)
    cost = problem.X.numel() * settings.max_iter
    tables = run_blocks(problem.X.shape[1], run.make_space, run.block, threads=threads, cost=cost)
    rounds = int(run.iterations.max())
    sums = np.sum(tables, axis=0)[:, :rounds] if history else np.zeros((6, 0))
    return torch.from_numpy(run.result), Record(run.iterations, run.converged, sums)


class _Run:
    """Everything the blocks of one solve share, as arrays the kernels take."""

    def __init__(self, problem: Problem, start: Tensor, tracked: bool) -> None:
        settings = self.settings = problem.settings
        self.tracked = tracked
        self.x, self.trust, self.start = (
            np.ascontiguousarray(t.detach().numpy()) for t in (problem.X, problem.M, start)
        )
        dtype, (self.n, columns) = self.x.dtype, self.x.shape
        self.order, matrix = kernel_matrix(problem.transform.graph, "shifted")
        self.matrix = matrix._replace(values=(2 * matrix.values).astype(dtype))
        first = 0 if tracked else 1  # the low-pass band is implicit
        self.bands = problem.transform.num_bands - first
        self.coefficients = problem.transform.coefficients[first:].T.astype(dtype).ravel()
        self.d = problem.d.detach().numpy().ravel()[self.order].astype(dtype)
        self.gamma = np.broadcast_to(problem.gamma.detach().numpy().astype(np.float64), (columns,))
        nu = problem.nu.detach().numpy()[first:].astype(np.float64)
        self.cost = np.broadcast_to(nu, (nu.shape[0], columns)) / self.gamma
        self.maps = scalar_maps(settings.p, settings.q, dtype)
        self.threshold, self.multiplier = self.cost, self.d
        if self.maps[0].how == HARD and settings.hard == "exact":
            self.threshold, self.multiplier = np.sqrt(2 * self.cost), np.sqrt(self.d)
        elif self.maps[0].how == TABLE:
            exponent = -1 / (2 - float(settings.p))
            with np.errstate(divide="ignore"):  # a weight of 0 leaves everything as it is
                self.threshold, self.multiplier = self.cost**exponent, self.d**exponent
        self.result = np.empty_like(self.x)
        self.iterations = np.full(columns, settings.max_iter, dtype=np.int64)
        self.converged = np.zeros(columns, dtype=bool)

    def make_space(self) -> Space:
        def block() -> NDArray[Any]:
            return aligned(self.n * LANES, self.x.dtype)

        states = 5 if self.tracked else 2 if self.settings.inertia > 0 else 1
        bands = [tuple(block() for _ in range(self.bands)) for _ in range(states)]
        # without inertia the second state and the spare block are never touched
        spare = block() if states > 1 else bands[0][0]
        return Block(*[*(block() for _ in range(5)), spare]), bands

    def block(self, first: int, space: Space) -> Floats:
        """Solve columns ``first`` to ``first + LANES``; returns their history ``[6, max_iter]``."""
        settings, (block, bands) = self.settings, space
        width = min(LANES, self.x.shape[1] - first)
        columns = slice(first, first + width)
        gamma = np.ones(LANES)
        gamma[:width] = self.gamma[columns]
        released = settings.variant == "released" and settings.q == 1
        options = (float(settings.q), self.maps[1].how, settings.keep_trusted, released)
        _pack((self.x, self.trust, self.start), self.order, self.d, gamma, first, width, block, options)
        for band in (array for arrays in bands for array in arrays):
            band[:] = 0
        threshold, cost = self._lanes(self.threshold[:, columns]), self._lanes(self.cost[:, columns])
        shared = (self.matrix, self.coefficients, Limits(self.multiplier, threshold, self.d, cost), block)
        inertia = self.x.dtype.type(settings.inertia)
        if not self.tracked:
            solve_fast(*shared, bands[0], bands[-1], settings.max_iter, inertia, self.maps)
            _unpack(block.U, self.order, first, width, self.result)
            return np.zeros((6, 0))
        measured, stopped = np.zeros((settings.max_iter, 6, LANES)), np.zeros(LANES, dtype=np.int64)
        solve_tracked(*shared, tuple(bands), measured, stopped, settings.tol, inertia, self.maps)
        _unpack(block.spare, self.order, first, width, self.result)
        self.converged[columns] = stopped[:width] > 0
        self.iterations[columns] = np.where(stopped > 0, stopped, settings.max_iter)[:width]
        if (stopped > 0).all():
            measured[stopped.max() :] = measured[stopped.max() - 1]
        measured[:, 0] *= gamma
        measured[:, [2, 5]] *= gamma**2
        return measured[:, :, :width].sum(axis=2).T

    def _lanes(self, values: Floats) -> NDArray[Any]:
        """``[bands, width]`` padded with zeros to ``[bands, LANES]`` and flattened."""
        padded = np.zeros((values.shape[0], LANES), self.x.dtype)
        padded[:, : values.shape[1]] = values
        return padded.ravel()


@jit
def _pack(given, order, d, gamma, first, width, block, options):
    """Copy columns into a block and turn the trust into the weights of the U-step."""
    x, trust, start = given
    X, weight, U = block.X, block.weight, block.U
    q, how, keep, released = options
    for i in range(x.shape[0]):
        node = order[i]
        for c in range(LANES):
            at = i * LANES + c
            if c >= width:
                X[at] = 0
                U[at] = 0
                weight[at] = 0
                continue
            m = trust[node, first + c]
            X[at] = x[node, first + c]
            U[at] = start[node, first + c]
            power = m * m if how == QUADRATIC else (m if q == 1 else m**q)
            omega = d[i] * power / gamma[c]
            if released:
                omega *= gamma[c] ** 2
            kept = keep and m == 1
            if how == QUADRATIC:
                weight[at] = 0 if kept else 1 / (1 + omega)
            elif how == TABLE:
                weight[at] = 0 if kept else (q * omega / 2) ** (-1 / (2 - q))
            else:
                weight[at] = KEEP if kept else omega / 2


@jit
def _unpack(block, order, first, width, result):
    for i in range(order.size):
        for c in range(width):
            result[order[i], first + c] = block[i * LANES + c]
