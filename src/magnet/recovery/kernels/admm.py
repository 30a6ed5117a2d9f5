"""The ADMM on the CPU: the fused kernels of :mod:`magnet.recovery.kernels.cpu` over blocks of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from magnet.recovery.driver import History, Solution
from magnet.recovery.kernels import HARD, KEEP, QUADRATIC, TABLE, cpu
from magnet.recovery.kernels.blocks import aligned, kernel_matrix, run_blocks
from magnet.recovery.kernels.maps import fidelity_map, penalty_map
from magnet.recovery.kernels.simd import LANES, jit
from magnet.recovery.problem import Problem


def solve(problem: Problem, start: torch.Tensor, *, history: bool, threads: int | None = None) -> Solution:
    """The CPU counterpart of :func:`magnet.recovery.driver.solve`, elementwise penalty only."""
    settings = problem.settings
    columns = problem.X.shape[1]
    tracked = history or settings.tol > 0 or not problem.low_pass_is_implicit
    run = _Run(problem, start, tracked)
    cost = problem.X.numel() * settings.max_iter
    tables = run_blocks(columns, lambda: _Workspace(run), run.block, threads=threads, cost=cost)
    rounds = int(run.iterations.max())
    sums = np.sum(tables, axis=0)[:, :rounds] if history else np.zeros((6, 0))
    return Solution(torch.from_numpy(run.result), run.iterations, run.converged, History(sums))


class _Workspace:
    """The arrays of one thread, used again for every block it takes."""

    def __init__(self, run: _Run) -> None:
        def block() -> NDArray[Any]:
            return aligned(run.n * LANES, run.dtype)

        def band_blocks() -> tuple[NDArray[Any], ...]:
            return tuple(block() for _ in range(run.bands))

        inertial = run.settings.inertia > 0
        self.X, self.weight, self.U, self.source, self.target = (block() for _ in range(5))
        self.bands = [band_blocks() for _ in range(5 if run.tracked else 1 + inertial)]
        if run.tracked:
            self.out = block()
        else:
            self.bands += [] if inertial else [self.bands[0]]  # never touched then
            self.U_before = block() if inertial else self.source


class _Run:
    """Everything the blocks of one solve share, as arrays the kernels take."""

    def __init__(self, problem: Problem, start: torch.Tensor, tracked: bool) -> None:
        settings, graph = problem.settings, problem.transform.graph
        self.settings = settings
        self.tracked = tracked
        self.x, self.trust, self.start = (
            np.ascontiguousarray(t.detach().numpy()) for t in (problem.X, problem.M, start)
        )
        self.dtype = self.x.dtype
        self.n, columns = self.x.shape
        self.order, indptr, indices, values = kernel_matrix(graph, "shifted")
        self.sparse = (indptr, indices, (2 * values).astype(self.dtype))
        first = 0 if tracked else 1
        self.bands = problem.transform.num_bands - first
        self.coefficients = problem.transform.coefficients[first:].T.astype(self.dtype).ravel()
        self.d = problem.d.detach().numpy().ravel()[self.order].astype(self.dtype)
        self.gamma = np.broadcast_to(problem.gamma.detach().numpy().astype(np.float64), (columns,))
        nu = problem.nu.detach().numpy()[first:].astype(np.float64)
        self.penalty = np.broadcast_to(nu, (nu.shape[0], columns)) / self.gamma
        p, q = float(settings.p), float(settings.q)
        simple = p == 1 and q == 2
        self.prox_p, self.prox_q = penalty_map(p, self.dtype, simple), fidelity_map(q, self.dtype, simple)
        self.threshold, multiplier = self.penalty, self.d
        if self.prox_p[0] == HARD and settings.hard == "exact":
            self.threshold, multiplier = np.sqrt(2 * self.penalty), np.sqrt(self.d)
        elif self.prox_p[0] == TABLE:
            with np.errstate(divide="ignore"):  # a weight of 0 leaves everything as it is
                self.threshold, multiplier = self.penalty ** (-1 / (2 - p)), self.d ** (-1 / (2 - p))
        self.spread = np.stack([multiplier, self.d])
        self.released = settings.variant == "released" and settings.q == 1
        self.result = np.empty_like(self.x)
        self.iterations = np.full(columns, settings.max_iter, dtype=np.int64)
        self.converged = np.zeros(columns, dtype=bool)

    def block(self, first: int, space: _Workspace) -> NDArray[np.float64]:
        """Solve columns ``first`` to ``first + LANES``; returns their history ``[6, max_iter]``."""
        settings, kind = self.settings, self.dtype.type
        width = min(LANES, self.x.shape[1] - first)
        columns = slice(first, first + width)
        gamma = _padded(self.gamma[columns], 1.0)
        _pack(
            self.x,
            self.trust,
            self.start,
            self.order,
            self.d,
            gamma,
            first,
            width,
            (space.X, space.weight, space.U),
            (settings.q, self.prox_q[0], settings.keep_trusted, self.released),
        )
        for bands in space.bands:
            for band in bands:
                band[:] = 0
        threshold = _lanes(self.threshold[:, columns], self.dtype)
        maps = (self.prox_p, self.prox_q)
        if not self.tracked:
            cpu.solve_fast(
                *self.sparse,
                self.coefficients,
                self.spread[0],
                threshold,
                space.X,
                space.weight,
                space.U,
                space.source,
                space.target,
                *space.bands,
                space.U_before,
                settings.max_iter,
                kind(settings.inertia),
                *maps,
            )
            _unpack(space.U, self.order, first, width, self.result)
            return np.zeros((6, 0))
        measured = np.zeros((settings.max_iter, 6, LANES))
        stopped = np.zeros(LANES, dtype=np.int64)
        cpu.solve_tracked(
            *self.sparse,
            self.coefficients,
            self.spread,
            _lanes(self.penalty[:, columns], self.dtype),
            threshold,
            space.X,
            space.weight,
            space.U,
            space.source,
            space.target,
            *space.bands,
            space.out,
            measured,
            stopped,
            settings.tol,
            kind(settings.inertia),
            *maps,
        )
        _unpack(space.out, self.order, first, width, self.result)
        self.converged[columns] = stopped[:width] > 0
        self.iterations[columns] = np.where(stopped > 0, stopped, settings.max_iter)[:width]
        if (stopped > 0).all():
            measured[stopped.max() :] = measured[stopped.max() - 1]
        measured[:, 0] *= gamma
        measured[:, [2, 5]] *= gamma**2
        return measured[:, :, :width].sum(axis=2).T


def _padded(values: NDArray[np.float64], fill: float) -> NDArray[np.float64]:
    return np.concatenate([values, np.full(LANES - values.size, fill)])


def _lanes(values: NDArray[np.float64], dtype: Any) -> NDArray[Any]:
    """``[bands, width]`` padded with zeros to ``[bands, LANES]`` and flattened."""
    padded = np.zeros((values.shape[0], LANES), dtype)
    padded[:, : values.shape[1]] = values
    return padded.ravel()


@jit
def _pack(
    x: Any,
    trust: Any,
    start: Any,
    order: Any,
    d: Any,
    gamma: Any,
    first: Any,
    width: Any,
    blocks: Any,
    options: Any,
) -> None:
    """Copy columns into blocks ``[n, LANES]`` and turn the trust into the weights of the U-step."""
    X, weight, U = blocks
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
def _unpack(block: Any, order: Any, first: Any, width: Any, result: Any) -> None:
    for i in range(order.size):
        for c in range(width):
            result[order[i], first + c] = block[i * LANES + c]
