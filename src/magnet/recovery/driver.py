"""The torch driver: repeats the ADMM step, stops each column by itself, and keeps the history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.recovery import admm
from magnet.recovery.problem import Problem

#: Residual balancing looks every so many iterations, and no more after the last of them: with gamma
#: fixed from then on the convergence proof applies again.
BALANCE_EVERY, BALANCE_UNTIL, BALANCE_RATIO, BALANCE_FACTOR = 5, 50, 5.0, 2.0

Callback = Callable[[admm.State], None]


@dataclass
class History:
    """Sums over columns after each iteration. A column that has stopped keeps its last values.

    ``sums`` is ``[6, iterations]``: objective and the squared norms of primal, dual, WU, Z, Y.
    """

    sums: NDArray[np.float64]

    @property
    def objective(self) -> NDArray[np.float64]:
        return self.sums[0]

    @property
    def primal(self) -> NDArray[np.float64]:
        return relative(self.sums[1], np.maximum(self.sums[3], self.sums[4]))

    @property
    def dual(self) -> NDArray[np.float64]:
        return relative(self.sums[2], self.sums[5])


def relative(residual: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """``sqrt(residual / scale)`` of squared norms; a residual of 0 is 0 whatever the scale."""
    safe = np.where(scale > 0, scale, np.finfo(np.float64).tiny)
    return np.sqrt(np.minimum(residual / safe, np.finfo(np.float64).max))


@dataclass
class Solution:
    """What a backend returns: the minimizer and how it got there."""

    U: Tensor
    iterations: NDArray[np.int64]
    converged: NDArray[np.bool_]
    history: History
    state: admm.State | None = None


def solve(
    problem: Problem,
    start: admm.State,
    *,
    history: bool = True,
    callback: Callback | None = None,
) -> Solution:
    """Iterate from ``start`` until every column's residuals are below ``tol``, or ``max_iter``.

    The group penalty couples the columns, so they stop together.
    """
    settings = problem.settings
    columns = problem.X.shape[1]
    track = history or settings.tol > 0 or settings.balance
    active = np.ones(columns, dtype=bool)
    iterations = np.zeros(columns, dtype=np.int64)
    measured = np.zeros((6, columns))
    sums: list[NDArray[np.float64]] = []
    state, U = start, start.U
    for k in range(settings.max_iter):
        inertia = settings.inertia if state.k > 0 else 0.0
        after = admm.step(problem, state, inertia)
        iterations[active] += 1
        # a column that has stopped keeps the U it stopped with
        U = after.U if active.all() else torch.where(_mask(active, U), after.U, U)
        if track:
            fresh = _measure(problem, state, after, inertia)
            measured[:, active] = fresh[:, active]
            sums.append(measured.sum(axis=1))
            active &= ~_small(measured, settings.tol, settings.penalty == "group")
        state = after
        if callback is not None:
            callback(after)
        if not active.any():
            break
        if settings.balance and (k + 1) % BALANCE_EVERY == 0 and k + 1 <= BALANCE_UNTIL:
            problem = _balanced(problem, measured)
            # V belongs to the old gamma: restart the inertia
            state = replace(state, k=0)
    table = np.array(sums).T if sums else np.zeros((6, 0))
    return Solution(U, iterations, ~active, History(table), replace(state, U=U, k=start.k + int(iterations.max())))


def _mask(active: NDArray[np.bool_], like: Tensor) -> Tensor:
    return torch.as_tensor(active, device=like.device)


def _measure(problem: Problem, before: admm.State, after: admm.State, inertia: float) -> NDArray[np.float64]:
    with torch.no_grad():
        found = admm.residuals(problem, before, after, inertia)
        rows = [admm.objective(problem, after).double(), found.primal, found.dual, found.WU, found.Z, found.Y]
        return torch.stack(rows).cpu().numpy()


def _small(measured: NDArray[np.float64], tol: float, together: bool) -> NDArray[np.bool_]:
    if tol == 0:
        return np.zeros(measured.shape[1], dtype=bool)
    if together:
        measured = np.repeat(measured.sum(axis=1, keepdims=True), measured.shape[1], axis=1)
    primal = relative(measured[1], np.maximum(measured[3], measured[4]))
    return (primal <= tol) & (relative(measured[2], measured[5]) <= tol)


def _balanced(problem: Problem, measured: NDArray[np.float64]) -> Problem:
    """Double gamma where the primal residual lags, halve it where the dual one does (Boyd et al. 2011)."""
    if problem.settings.penalty == "group":
        measured = measured.sum(axis=1, keepdims=True)
    primal = relative(measured[1], np.maximum(measured[3], measured[4]))
    dual = relative(measured[2], measured[5])
    factor = np.where(primal > BALANCE_RATIO * dual, BALANCE_FACTOR, 1.0)
    factor = np.where(dual > BALANCE_RATIO * primal, 1 / BALANCE_FACTOR, factor)
    scale = torch.as_tensor(factor, dtype=problem.gamma.dtype, device=problem.gamma.device)
    return replace(problem, gamma=problem.gamma * scale)
