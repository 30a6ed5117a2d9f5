"""Columns are independent: they are solved a range at a time, and every range is written as soon as it is there."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from magnet.recovery.cluster import Solved, solve_on_cluster
from magnet.recovery.driver import History
from magnet.recovery.io.columns import Columns, read_columns
from magnet.recovery.io.output import Output, Record
from magnet.recovery.result import RecoveryResult


class Job(Protocol):
    """What is done with a range of columns."""

    def solve(self, x: Tensor, trust: Tensor, first: int) -> Solved:
        """The results for columns ``first`` to ``first + x.shape[1]``, one for each output."""

    def for_workers(self) -> Job:
        """The same for processes that use one core each, with what they share computed."""


def run_ranges(
    job: Job,
    x: Columns,
    trust: Columns,
    outputs: Sequence[Output],
    width: int,
    *,
    progress: bool,
    cluster: str | None = None,
) -> list[list[Record]]:
    """Solve all ranges of ``width`` columns that are not in the outputs yet; the records of each output, in order."""
    starts = range(0, x.shape[1], width)
    found = {first: [output.finished(first) for output in outputs] for first in starts}
    pending = [first for first in starts if any(record is None for record in found[first])]
    if cluster is None:
        solved = _solve_here(job, x, trust, pending, width)
    else:
        solved = solve_on_cluster(job, x, trust, pending, width, cluster)
    for first, results in _shown(solved, len(pending), progress):
        found[first] = [record for _, record in results]
        for output, (values, record) in zip(outputs, results, strict=True):
            output.write(first, values, record)
    return [[done for first in starts if (done := found[first][k]) is not None] for k in range(len(outputs))]


def _solve_here(
    job: Job, x: Columns, trust: Columns, starts: Sequence[int], width: int
) -> Iterator[tuple[int, Solved]]:
    for first in starts:
        yield first, job.solve(*read_columns(x, trust, first, min(first + width, x.shape[1])), first)


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


def _shown(solved: Iterable[tuple[int, Solved]], count: int, progress: bool) -> Iterable[tuple[int, Solved]]:
    if not progress:
        return solved
    from rich.console import Console
    from rich.progress import track

    return track(solved, total=count, description="recovering columns", console=Console(stderr=True))


def wants_progress(progress: bool | None, to_file: bool) -> bool:
    """What was asked for; else a bar where a file is written from a terminal."""
    return (to_file and sys.stderr.isatty()) if progress is None else progress
