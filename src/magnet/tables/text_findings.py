"""Tables judged as texts, beside the rows of a table that was judged before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from magnet.freed_memory import HEAP_BYTES, return_freed_memory, reuse_freed_memory
from magnet.tables.findings import CellFinding, TableVerdict
from magnet.tables.posterior import Decision, judge_table
from magnet.tables.table import Table
from magnet.tables.values import cell_text

MAX_REFERENCE_ROWS = 50_000  # of a judged table that are kept to judge others by; more would only cost time


@dataclass(frozen=True, eq=False)
class TextJudgment:
    """The verdict of :func:`~magnet.tables.posterior.judge_table` on a table.

    Args:
        findings: the cells that may be wrong.
        verdict: everything else that was found.
        reference: texts of the rows that were found right, to judge other tables by.
    """

    findings: list[CellFinding]
    verdict: TableVerdict
    reference: dict[str, list[str]]


def judge_as_text(
    table: Table,
    *,
    trusted: NDArray[np.bool_] | None = None,
    reference: dict[str, list[str]],
    link_by: Sequence[str] = (),
    rules: Sequence[Any] = (),
    decisions: Sequence[Any] = (),
    fill: bool = False,
    seed: int = 0,
    progress: Callable[[str, float], None] | None = None,
    cluster: str | None = None,
) -> TextJudgment:
    """Judge cells by the noisy-channel engine, and rows by their linked rows.

    Args:
        table: the table.
        trusted: bool ``[n, columns]``, cells known to be right (default: ``None``).
        reference: rows of another table that were found right, by column; they come first and are trusted.
        link_by, rules, decisions, fill, seed, progress, cluster: see :func:`~magnet.tables.posterior.judge_table`.
    """
    own = table.text_columns()
    absent = [name for name in reference if name not in own]
    if absent:
        raise ValueError(f"the table has no column {absent[0]!r}, which the fitted one has")
    before = len(next(iter(reference.values()))) if reference else 0
    columns = own
    if before:
        columns = {name: [*reference.get(name, [""] * before), *texts] for name, texts in own.items()}
    right = np.zeros((before + table.num_nodes, len(own)), dtype=bool) if before or trusted is not None else None
    if right is not None:
        right[:before] = True
        right[before:] = False if trusted is None else trusted[:, [table.frame.columns.get_loc(name) for name in own]]
    links = table.links.matrix(table.num_nodes, before)
    with reuse_freed_memory(8 * (before + table.num_nodes), HEAP_BYTES):
        verdict = judge_table(
            columns,
            links=links,
            link_by=link_by,
            rules=[*table.rules, *rules],
            trusted=right,
            roles=table.roles,
            skip=table.skipped,
            fill=fill,
            decisions=[_decision(d) for d in decisions],
            seed=seed,
            progress=progress,
            cluster=cluster,
        )
    findings = [replace(c, row=c.row - before) for c in verdict.cells if c.row >= before]
    if links is not None:
        from magnet.tables.graph_findings import swapped_rows  # needs torch, which a table without links does not

        return_freed_memory()
        seen = {(c.row, c.column) for c in findings}
        findings += [c for c in swapped_rows(table, seed, cluster) if (c.row, c.column) not in seen]
    if trusted is not None:
        place = {name: k for k, name in enumerate(table.frame.columns)}
        findings = [c for c in findings if not trusted[c.row, place[c.column]]]
    return TextJudgment(findings, verdict, reference or _reference(own, findings))


def _decision(given: Any) -> Decision:
    """A decision as the engine takes it, from one of a decisions file."""
    if isinstance(given, Decision):
        return given
    observed, suggested = (given.get(name) for name in ("observed", "suggested"))
    value = None if suggested is None else cell_text(suggested)
    return Decision(str(given["column"]), cell_text(observed), value, bool(given["accept"]))


def _reference(columns: dict[str, list[str]], findings: Sequence[CellFinding]) -> dict[str, list[str]]:
    """Texts of the rows that were found right, to judge other tables by."""
    wrong = {c.row for c in findings}
    rows = [row for row in range(len(next(iter(columns.values()), []))) if row not in wrong][:MAX_REFERENCE_ROWS]
    return {name: [texts[row] for row in rows] for name, texts in columns.items()}
