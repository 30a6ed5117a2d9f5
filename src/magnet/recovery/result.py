"""What recovery returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from magnet.recovery.admm import State


@dataclass(frozen=True)
class RecoveryResult:
    """What :func:`recover` and :func:`propagate` return.

    Args:
        x: the recovered features ``[n, d]``, of the kind and dtype of the input.
        objective: the objective after each iteration, summed over columns.
        primal: relative primal residual after each iteration, over all columns.
        dual: relative dual residual, likewise.
        column_iterations: how many iterations each column took; ``iterations`` is the largest of them.
        converged: whether each column met ``tol``.
        backend: which implementation ran.
        state: the final iterates (``keep_state=True``), for a warm start.
    """

    x: Any
    objective: NDArray[np.float64]
    primal: NDArray[np.float64]
    dual: NDArray[np.float64]
    column_iterations: NDArray[np.int64]
    converged: NDArray[np.bool_]
    backend: str
    state: State | None = field(default=None, repr=False)

    @property
    def iterations(self) -> int:
        return int(self.column_iterations.max())

    def __repr__(self) -> str:
        done = int(self.converged.sum())
        return (
            f"RecoveryResult(x={list(self.x.shape)}, iterations={self.iterations}, "
            f"converged={done}/{self.converged.size} columns, backend={self.backend!r})"
        )
