"""Columns are independent: they are solved a range at a time, and every range is written as soon as it is there."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from magnet.recovery.driver import History
from magnet.recovery.io.columns import Columns, read_columns
from magnet.recovery.io.output import Output, Record
from magnet.recovery.result import RecoveryResult


class Job(Protocol):
    """What is done with a range of columns."""

    def solve(self, x: Tensor, trust: Tensor, first: int) -> Sequence[tuple[Tensor, Record]]:
        """The results for columns ``first`` to ``first + x.shape[1]``, one for each output."""


def run_ranges(
    job: Job, x: Columns, trust: Columns, outputs: Sequence[Output], width: int, *, progress: bool | None
) -> list[list[Record]]:
    """Solve all ranges of ``width`` columns that are not in the outputs yet; the records of each output, in order."""
    records: list[list[Record]] = [[] for _ in outputs]
    for first in _shown(range(0, x.shape[1], width), progress):
        found = [output.finished(first) for output in outputs]
        done = [record for record in found if record is not None]
        if len(done) < len(outputs):
            block, weights = read_columns(x, trust, first, min(first + width, x.shape[1]))
            solved = job.solve(block, weights, first)
            done = [record for _, record in solved]
            for output, (values, record) in zip(outputs, solved, strict=True):
                output.write(first, values, record)
        for kept, record in zip(records, done, strict=True):
            kept.append(record)
    return records


def gathered(output: Output, records: Sequence[Record], backend: str) -> RecoveryResult:
    """One result from the records of all ranges."""
    history = History(add_histories([record.sums for record in records]))
    return RecoveryResult(
        x=output.result(),
        objective=history.objective,
        primal=history.primal,
        dual=history.dual,
        column_iterations=np.concatenate([record.iterations for record in records]),
        converged=np.concatenate([record.converged for record in records]),
        backend=backend,
    )


def add_histories(tables: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Sum of tables ``[6, iterations]``; the shorter ones stay at their last values."""
    longest = max(table.shape[1] for table in tables)
    total = np.zeros((6, longest))
    for table in tables:
        if table.shape[1]:
            total += np.concatenate([table, np.repeat(table[:, -1:], longest - table.shape[1], axis=1)], axis=1)
    return total


def _shown(starts: range, progress: bool | None) -> Iterable[int]:
    if not progress:
        return starts
    from rich.console import Console
    from rich.progress import track

    return track(starts, description="recovering columns", console=Console(stderr=True))


def wants_progress(progress: bool | None, to_file: bool) -> bool:
    """What was asked for; else a bar where a file is written from a terminal."""
    return (to_file and sys.stderr.isatty()) if progress is None else progress
