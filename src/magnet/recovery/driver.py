"""The torch driver: repeats the ADMM step, stops each column separately, and keeps the history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from magnet.arrays import Floats
from magnet.recovery import admm
from magnet.recovery.problem import Problem
from magnet.recovery.result import SUMS, Record, relative_residuals

#: Residual balancing adapts gamma every BALANCE_EVERY iterations up to BALANCE_UNTIL. It is fixed from then on, so that
#: the convergence proof applies again.
BALANCE_EVERY, BALANCE_UNTIL, BALANCE_RATIO, BALANCE_FACTOR = 5, 50, 5.0, 2.0

Callback = Callable[[admm.State], None]


def solve(
    problem: Problem, start: admm.State, *, history: bool = True, callback: Callback | None = None
) -> tuple[admm.State, Record]:
    """Iterate from ``start`` until every column's residuals are below ``tol``, or ``max_iter``.

    The group penalty couples the columns, so they stop together.
    """
    settings = problem.settings
    columns = problem.X.shape[1]
    track = history or settings.tol > 0 or settings.balance
    active = np.ones(columns, dtype=bool)
    iterations = np.zeros(columns, dtype=np.int64)
    measured = np.zeros((SUMS, columns))
    sums: list[Floats] = []
    state, U = start, start.U
    for k in range(settings.max_iter):
        inertia = settings.inertia if state.k > 0 else 0.0
        after = admm.step(problem, state, inertia)
        iterations[active] += 1
        # a column that has stopped keeps the U it stopped with
        U = after.U if active.all() else torch.where(torch.as_tensor(active, device=U.device), after.U, U)
        if track:
            measured[:, active] = admm.measure(problem, state, after, inertia).cpu().numpy()[:, active]
            sums.append(measured.sum(axis=1))
            primal, dual = _residuals(problem, measured)
            active &= ~((settings.tol > 0) & (primal <= settings.tol) & (dual <= settings.tol))
        state = after
        if callback is not None:
            callback(after)
        if not active.any():
            break
        if settings.balance and (k + 1) % BALANCE_EVERY == 0 and k + 1 <= BALANCE_UNTIL:
            problem = _balanced(problem, measured)
            # V belongs to the old gamma: restart the inertia
            state = replace(state, k=0)
    table = np.array(sums).T if sums else np.zeros((SUMS, 0))
    last = replace(state, U=U, k=start.k + int(iterations.max()))
    return last, Record(iterations, ~active, table)


def _residuals(problem: Problem, measured: Floats) -> tuple[Floats, Floats]:
    """Relative residuals of each column, or of all together (``[1]``) for the group penalty."""
    if problem.settings.penalty == "group":
        measured = measured.sum(axis=1, keepdims=True)
    return relative_residuals(measured)


def _balanced(problem: Problem, measured: Floats) -> Problem:
    """Double gamma where the primal residual lags, halve it where the dual one does (Boyd et al. 2011)."""
    primal, dual = _residuals(problem, measured)
    factor = np.where(primal > BALANCE_RATIO * dual, BALANCE_FACTOR, 1.0)
    factor = np.where(dual > BALANCE_RATIO * primal, 1 / BALANCE_FACTOR, factor)
    scale = torch.as_tensor(factor, dtype=problem.gamma.dtype, device=problem.gamma.device)
    return replace(problem, gamma=problem.gamma * scale)
