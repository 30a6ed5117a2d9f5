"""What recovery returns, and the records of which it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from magnet.arrays import Bools, Floats, Ints
from magnet.recovery.admm import State

#: Quantities whose history is kept: the rows of ``Record.sums``.
SUMS = 6


@dataclass(frozen=True)
class Record:
    """How some columns were solved. ``sums`` are ``[6, iterations]``, added over the columns after each iteration:
    objective and the squared norms of primal, dual, WU, Z, Y. A column that has stopped keeps its last values."""

    iterations: Ints  # of each column, as the next
    converged: Bools
    sums: Floats = field(default_factory=lambda: np.zeros((SUMS, 0)))
    residual: Floats = field(default_factory=lambda: np.zeros(0))  # final and relative, without a history


@dataclass(frozen=True)
class RecoveryResult:
    """What :func:`recover` and :func:`propagate` return.

    Args:
        x: the recovered features ``[n, d]``, of the kind and dtype of the input.
        objective: the objective after each iteration, summed over columns.
        primal: relative primal residual after each iteration, over all columns; of :func:`propagate` the largest final
            residual of a column.
        dual: relative dual residual, likewise.
        column_iterations: how many iterations each column took; ``iterations`` is the largest of them.
        converged: whether each column met ``tol``.
        backend: which implementation ran.
        state: the final iterates (``keep_state=True``), for a warm start.
    """

    x: Any
    objective: Floats
    primal: Floats
    dual: Floats
    column_iterations: Ints
    converged: Bools
    backend: str
    state: State | None = field(default=None, repr=False)

    @classmethod
    def gathered(cls, x: Any, records: Sequence[Record], backend: str) -> RecoveryResult:
        """One result from the records of all ranges of columns."""
        sums = add_histories([record.sums for record in records])
        primal, dual = relative_residuals(sums)
        left = np.concatenate([record.residual for record in records])
        if left.size:
            primal = left.max(keepdims=True)
        iterations = np.concatenate([record.iterations for record in records])
        converged = np.concatenate([record.converged for record in records])
        return cls(x, sums[0], primal, dual, iterations, converged, backend)

    @property
    def iterations(self) -> int:
        return int(self.column_iterations.max())

    def __repr__(self) -> str:
        converged = int(self.converged.sum())
        return (
            f"RecoveryResult(x={list(self.x.shape)}, iterations={self.iterations}, "
            f"converged={converged}/{self.converged.size} columns, backend={self.backend!r})"
        )


def relative_residuals(sums: Floats) -> tuple[Floats, Floats]:
    """Primal and dual residual from rows such as those of :class:`Record`, relative to WU or Z and to Y."""
    return _relative(sums[1], np.maximum(sums[3], sums[4])), _relative(sums[2], sums[5])


def _relative(residual: Floats, scale: Floats) -> Floats:
    """``sqrt(residual / scale)`` of squared norms; a residual of 0 is 0 whatever the scale."""
    safe = np.where(scale > 0, scale, np.finfo(np.float64).tiny)
    return np.sqrt(np.minimum(residual / safe, np.finfo(np.float64).max))


def add_histories(tables: Sequence[Floats]) -> Floats:
    """Sum of tables ``[6, iterations]``; the shorter ones stay at their last values."""
    longest = max(table.shape[1] for table in tables)
    total = np.zeros((SUMS, longest))
    for table in tables:
        if table.shape[1]:
            total += np.concatenate([table, np.repeat(table[:, -1:], longest - table.shape[1], axis=1)], axis=1)
    return total
