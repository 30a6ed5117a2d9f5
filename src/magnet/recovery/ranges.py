"""Columns are independent: they are solved a range at a time, and every range is written as soon as it is there."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.cluster import run_tasks
from magnet.recovery.driver import History
from magnet.recovery.io.columns import Columns, read_columns
from magnet.recovery.io.output import Output, Record
from magnet.recovery.result import RecoveryResult

Solved: TypeAlias = Sequence[tuple[Tensor, Record]]


class Job(Protocol):
    """The computation for a range of columns."""

    def solve(self, x: Tensor, trust: Tensor, first: int) -> Solved:
        """The results for columns ``first`` to ``first + x.shape[1]``, one for each output."""

    def for_workers(self) -> Job:
        """The same for processes that use one core each, with shared values precomputed."""


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


def solve_on_cluster(
    job: Job, x: Columns, trust: Columns, starts: Sequence[int], width: int, address: str
) -> Iterator[tuple[int, Solved]]:
    """The graph and the settings go into the object store once, a task gets the columns of its range."""

    def pieces() -> Iterator[tuple[int, tuple[Any, ...]]]:
        for first in starts:
            block, weights = read_columns(x, trust, first, min(first + width, x.shape[1]))
            same = weights.shape[1] > 1 and weights.stride(1) == 0  # one trust for the whole row
            yield first, (_array(block), _array(weights[:, :1] if same else weights), first)

    for first, solved in run_tasks(_solve_range, job.for_workers(), pieces(), address):
        # arrays in the object store cannot be written to, and torch wants to be able to
        yield first, [(torch.from_numpy(values.copy()), record) for values, record in solved]


def _solve_range(job: Job, x: NDArray[Any], trust: NDArray[Any], first: int) -> list[tuple[NDArray[Any], Record]]:
    block, weights = torch.from_numpy(x.copy()), torch.from_numpy(trust.copy())
    return [(_array(values), record) for values, record in job.solve(block, weights.expand_as(block), first)]


def _array(values: Tensor) -> NDArray[Any]:
    return np.ascontiguousarray(values.detach().numpy())


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
    """The requested value; by default a bar if a file is written from a terminal."""
    return (to_file and sys.stderr.isatty()) if progress is None else progress
