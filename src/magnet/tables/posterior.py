"""Judge a table of texts: which cells are wrong, what they should say, and how sure we are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from magnet.tables.channels import AUDITS, REWRITES, make_channels
from magnet.tables.coded import CodedTable
from magnet.tables.findings import CellFinding, Finding, TableVerdict
from magnet.tables.mixture import ColumnJudgement, ColumnModel, Rates
from magnet.tables.options import DEFAULT, TableOptions
from magnet.tables.roles import Role, infer_role

__all__ = ["CellFinding", "TableVerdict", "judge_table"]

Cells = dict[tuple[int, int], Finding]


def judge_table(
    columns: Mapping[str, Sequence[str]],
    *,
    links: Any | None = None,
    link_by: Sequence[str] = (),
    rules: Sequence[Any] = (),
    trusted: NDArray[np.bool_] | None = None,
    roles: Mapping[str, str] | None = None,
    skip: Sequence[str] = (),
    fill: bool = False,
    decisions: Sequence[Any] | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    options: TableOptions = DEFAULT,
) -> TableVerdict:
    """Find wrong cells in a table of texts.

    Args:
        columns: texts of every column, exactly as in the file (``""`` is a blank).
        links: sparse matrix of rows that belong together (default: ``None``).
        link_by: columns whose equal values link rows (default: none).
        rules: what the user knows (default: none).
        trusted: bool ``[rows, columns]``, cells that are right (default: ``None``).
        roles: roles of columns by name, where the user knows them (default: ``None``).
        skip: columns that are not judged (default: none).
        fill: suggest a value for every blank (default: ``False``).
        decisions: accepted and rejected cells of earlier runs (default: ``None``).
        seed: of random choices (default: 0).
        progress: called with a sentence as the work goes on (default: ``None``).
        options: the constants (default: :data:`~magnet.tables.options.DEFAULT`).

    Returns:
        The listed cells with their evidence, the roles, and what was not judged.
    """
    table = CodedTable.of(columns)
    table.links, table.link_by = links, tuple(link_by)
    given = dict(roles or {})
    for column in table.columns:
        name = given.get(column.name)
        column.role = Role(name, "given") if name else infer_role(column, table)
    cells: Cells = {}
    if table.num_rows:
        table.skip = frozenset(skip)
        for rewrite in REWRITES.values():
            _apply(table, cells, rewrite(table, options), options)
        for key, finding in _passes(table, options, progress).items():
            cells[key] = _both(cells[key], finding) if key in cells else finding
        for audit in AUDITS.values():
            for j, finding in audit(table, options):
                key = finding.row, j
                cells[key] = _stronger(cells[key], finding) if key in cells else finding
    listed = [
        CellFinding(
            row,
            table.columns[j].name,
            table.columns[j].values[table.columns[j].observed[row]],
            finding.suggested,
            finding.probability,
            finding.confidence,
            finding.kind,
            finding.reason,
        )
        for (row, j), finding in sorted(cells.items())
        if finding.probability >= options.list_from and table.columns[j].name not in table.skip
    ]
    not_judged = table.not_judged | dict.fromkeys(skip, "left out by the user")
    return TableVerdict(listed, {c.name: c.role for c in table.columns}, not_judged)


def _apply(table: CodedTable, cells: Cells, found: Iterable[tuple[int, Finding]], options: TableOptions) -> None:
    """Take over the findings of a rewrite: what follows reads the rewritten texts."""
    for j, finding in found:
        cells[finding.row, j] = _both(cells[finding.row, j], finding) if (finding.row, j) in cells else finding
        if finding.suggested is not None and finding.confidence >= options.learn_from:
            column = table.columns[j]
            column.read[finding.row] = column.current[finding.row] = column.code(finding.suggested)


def _both(first: Finding, then: Finding) -> Finding:
    """A cell that was rewritten and then corrected further: wrong if either says so."""
    probability = 1 - (1 - first.probability) * (1 - then.probability)
    if then.confidence < first.confidence * (1 - then.probability):
        return replace(first, probability=probability, confidence=first.confidence * (1 - then.probability))
    reason = f"{first.reason}; {then.reason}" if then.reason else first.reason
    return replace(then, probability=probability, confidence=first.confidence * then.confidence, reason=reason)


def _stronger(first: Finding, then: Finding) -> Finding:
    best = max(first, then, key=lambda f: (f.confidence, f.probability))
    return replace(best, probability=max(first.probability, then.probability))


def _passes(table: CodedTable, options: TableOptions, progress: Callable[[str], None] | None) -> Cells:
    channels = make_channels(options)
    width = len(table.columns)
    rates = [_first_rates(table, j, options) for j in range(width)]
    memory: list[dict[str, object]] = [{} for _ in range(width)]
    found: Cells = {}
    for step in range(options.passes):
        if progress:
            progress(f"pass {step + 1} of {options.passes}")
        judged: list[ColumnJudgement | None] = []
        shared: dict[str, object] = {}
        for j, column in enumerate(table.columns):
            if column.name in table.skip or column.role.name == "empty":
                judged.append(None)
                continue
            model = ColumnModel(table, j, channels, rates[j], options, memory[j], step < 2, shared)
            judged.append(model.judge())
        found = {(i, j): f for j, result in enumerate(judged) if result for i, f in result.findings.items()}
        lessons = [pair for result in judged if result for pair in result.lessons]
        for name in ("typo", "affix"):
            hits = [result.mass[name] for result in judged if result]
            given = options.rate_cells * getattr(options, f"{name}_rate")
            seen = sum(result.identifiable for result in judged if result)
            mean = (sum(hits) + given) / (seen + options.rate_cells)
            for rate, result in zip(rates, judged, strict=True):
                if result:
                    own = (result.mass[name] + options.rate_rows * mean) / (result.identifiable + options.rate_rows)
                    setattr(rate, name, min(max(own, 0.5 * mean, options.rate_floor), options.rate_cap))
        for column, result in zip(table.columns, judged, strict=True):
            if result:
                column.current = column.read.copy()
                for row, code in result.repairs.items():
                    column.current[row] = code
        for channel in channels:
            channel.learn(lessons)
    return found


def _first_rates(table: CodedTable, position: int, options: TableOptions) -> Rates:
    column = table.columns[position]
    blanks = float((column.read == column.blank).mean()) if table.num_rows else 0.0
    missing = min(max(blanks, options.missing_rate), options.blank_cap)
    return Rates(options.typo_rate, options.disagreement_rate, missing, options.affix_rate)
