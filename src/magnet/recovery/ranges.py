"""Columns are independent: they are solved a range at a time, and every range is written as soon as it is solved."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.cluster import run_tasks
from magnet.recovery.io.columns import Columns, is_path, range_width, read_columns
from magnet.recovery.io.output import fingerprint, output_for
from magnet.recovery.result import Record, RecoveryResult

Solved: TypeAlias = Sequence[tuple[Tensor, Record]]


class RangeSolver(Protocol):
    """The computation for a range of columns."""

    @property
    def backend(self) -> str: ...

    def solve(self, x: Tensor, trust: Tensor, first: int) -> Solved:
        """The columns ``first`` to ``first + x.shape[1]`` of every result."""

    def for_workers(self) -> RangeSolver:
        """The same for processes that use one core each, with shared values precomputed."""


def run_ranges(
    job: RangeSolver,
    x: Columns,
    trust: Columns,
    width: int | None,
    *,
    identity: Sequence[Any],
    results: int = 1,
    out: Any = None,
    progress: bool | None = None,
    cluster: str | None = None,
) -> list[RecoveryResult]:
    """Solve all ranges of columns that are not in the output yet.

    Args:
        job: solves a range.
        x, trust: the columns.
        width: columns of a range; ``None`` for as many as :func:`~magnet.recovery.io.columns.range_width` says.
        identity: what decides the result: an interrupted run resumes only if this is the same.
        results: how many results the job has. (default: ``1``)
        out, progress, cluster: see :func:`magnet.recover`.
    """
    width = range_width(x, job.backend, out is not None, width, cluster is not None)
    key = fingerprint(*identity, width) if is_path(out) else ""
    outputs = [output_for(out, x, key) for _ in range(results)]
    starts = range(0, x.shape[1], width)
    pending = [first for first in starts if any(first not in output.records for output in outputs)]
    if cluster is None:
        solved: Iterable[tuple[int, Solved]] = (
            (first, job.solve(*read_columns(x, trust, first, width), first)) for first in pending
        )
    else:
        solved = solve_on_cluster(job, x, trust, pending, width, cluster)
    if out is not None and sys.stderr.isatty() if progress is None else progress:
        from rich.console import Console
        from rich.progress import track

        solved = track(solved, total=len(pending), description="recovering columns", console=Console(stderr=True))
    for first, parts in solved:
        for output, (values, record) in zip(outputs, parts, strict=True):
            output.write(first, values, record)
    return [
        RecoveryResult.gathered(output.result(), [output.records[first] for first in starts], job.backend)
        for output in outputs
    ]


def solve_on_cluster(
    job: RangeSolver, x: Columns, trust: Columns, starts: Sequence[int], width: int, address: str
) -> Iterator[tuple[int, Solved]]:
    """The graph and the settings go into the object store once, a task gets the columns of its range."""

    def pieces() -> Iterator[tuple[int, tuple[Any, ...]]]:
        for first in starts:
            block, weights = read_columns(x, trust, first, width)
            same = weights.shape[1] > 1 and weights.stride(1) == 0  # one trust for the whole row
            yield first, (_array(block), _array(weights[:, :1] if same else weights), first)

    for first, solved in run_tasks(_solve_range, job.for_workers(), pieces(), address):
        # arrays in the object store cannot be written to, and torch wants to be able to
        yield first, [(torch.from_numpy(values.copy()), record) for values, record in solved]


def _solve_range(
    job: RangeSolver, x: NDArray[Any], trust: NDArray[Any], first: int
) -> list[tuple[NDArray[Any], Record]]:
    block, weights = torch.from_numpy(x.copy()), torch.from_numpy(trust.copy())
    return [(_array(values), record) for values, record in job.solve(block, weights.expand_as(block), first)]


def _array(values: Tensor) -> NDArray[Any]:
    return np.ascontiguousarray(values.detach().numpy())
