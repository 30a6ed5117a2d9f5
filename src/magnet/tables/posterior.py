"""Judge a table of texts: wrong cells, their corrections and their probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from magnet.cluster import results_in_order
from magnet.tables.channels import AUDITS, REWRITES
from magnet.tables.channels.typo import Typo
from magnet.tables.coded import CodedTable, Codes, joint
from magnet.tables.errors import listed
from magnet.tables.findings import CellFinding, Finding, TableVerdict
from magnet.tables.mixture import GUESSED, ColumnJudgment, ColumnModel
from magnet.tables.options import DEFAULT, REPEATS, TableOptions
from magnet.tables.roles import Role, infer_role
from magnet.tables.rules import Decision, Rule, broken, read_rules
from magnet.threads import threads_for_rows

__all__ = ["CellFinding", "Decision", "Role", "Rule", "TableVerdict", "infer_roles", "judge_table"]

WEAK_ROLES = {  # of columns in which only some kinds of errors can be found
    "empty": "every cell is blank",
    "identifier": "values hardly repeat: judged by their pattern only",
    "text": "free text: only misspelled words and odd writings can be found",
}
RISING = 1.2  # a column whose rate of errors still grows by this factor is judged again
MIN_RELATIVE_RATE = 0.5  # of the rate of a column to that of the table (not swept)
FRESH_PASSES = 2  # in which the contexts of columns are chosen anew

# by row and column: findings, and the code and probability of the likeliest value of a blank
Cells = dict[tuple[int, int], Finding]
Fillings = dict[tuple[int, int], tuple[int, float]]


def judge_table(
    columns: Mapping[str, Sequence[str]],
    *,
    links: Any | None = None,
    link_by: Sequence[str] = (),
    rules: Sequence[Rule | str] = (),
    trusted: NDArray[np.bool_] | None = None,
    roles: Mapping[str, str] | None = None,
    skip: Mapping[str, str] | Sequence[str] = (),
    fill: bool = False,
    decisions: Sequence[Decision] | None = None,
    seed: int = 0,
    progress: Callable[[str, float], None] | None = None,
    options: TableOptions = DEFAULT,
    cluster: str | None = None,
) -> TableVerdict:
    """Find wrong cells in a table of texts.

    Args:
        columns: texts of every column, exactly as in the file (``""`` is a blank).
        links: sparse matrix of rows that belong together (default: ``None``).
        link_by: columns whose equal values link rows (default: none).
        rules: rules given by the user, such as ``"zip -> city"``, see :func:`~magnet.tables.rules.parse_rule`
            (default: none).
        trusted: bool ``[rows, columns]``, cells that are right (default: ``None``).
        roles: roles of columns by name, as given by the user (default: ``None``).
        skip: columns that are not judged, optionally with a reason for each (default: none).
        fill: suggest a value for every blank (default: ``False``).
        decisions: accepted and rejected cells of earlier runs (default: ``None``).
        seed: of random choices (default: 0).
        progress: called with the current stage and the completed share (default: ``None``).
        options: the constants (default: :data:`~magnet.tables.options.DEFAULT`).
        cluster: judge columns as tasks of this Ray cluster, see :func:`magnet.cluster.connected` (default: none).

    Returns:
        The listed cells with their evidence, the roles, and what was not judged.
    """
    known = read_rules(rules, list(columns))
    absent = next((name for name in link_by if name not in columns), None)
    if absent is not None:
        raise ValueError(f"link_by names {absent!r}; the table has {listed(columns, absent)}")
    table = CodedTable.of(
        columns,
        links=links,
        link_by=tuple(link_by),
        strict=tuple((rule.determined_by, rule.column) for rule in known if rule.determined_by),
        skip=frozenset(skip),
        trusted=trusted,
        seed=seed,
        fill=fill,
        cluster=cluster,
    )
    _set_roles(table, roles)
    cells: Cells = {}
    decided = _Decisions(decisions or ())
    if table.num_rows:
        for rewrite in REWRITES.values():
            _apply(table, cells, rewrite(table), options)
        found, fillings = _passes(table, options, decided, progress)
        _add(cells, found, _both)
        for audit in AUDITS.values():
            _add(cells, audit(table), _stronger)
        _add(cells, broken(table, known), lambda a, b: replace(_stronger(a, b), kind="rule", reason=b.reason))
        _add_fillings(table, cells, fillings)
    weakly_judged = {c.name: WEAK_ROLES[c.role.name] for c in table.columns if c.role.name in WEAK_ROLES}
    return TableVerdict(
        cells=_listed(table, cells, decided, options),
        roles={c.name: c.role for c in table.columns},
        not_judged=dict(skip) if isinstance(skip, Mapping) else dict.fromkeys(skip, "left out by the user"),
        judged_in_part={n: why for n, why in (weakly_judged | table.not_judged).items() if n not in table.skip},
        repeated_rows=_repeated_rows(table),
        repeated_keys=_repeated_keys(table),
    )


class _Decisions:
    """Decisions of a person, as lessons and as cells that are not listed again."""

    def __init__(self, decisions: Sequence[Decision]) -> None:
        self.lessons = [(d.observed, d.suggested) for d in decisions if d.accepted and d.suggested and d.observed]
        self.accepted = Counter(d.column for d in decisions if d.accepted)
        self.rejected = Counter(d.column for d in decisions if not d.accepted)
        self._right = {(d.column, d.observed, d.suggested) for d in decisions if not d.accepted}

    def is_right(self, column: str, observed: str, suggested: str | None) -> bool:
        return (column, observed, suggested) in self._right or (column, observed, None) in self._right


def _listed(table: CodedTable, cells: Cells, decided: _Decisions, options: TableOptions) -> list[CellFinding]:
    """The findings to report, in the texts of the file: probable enough, of columns that are judged, and neither
    trusted nor rejected before."""
    out = []
    rule_of = {name: f"{', '.join(determined_by)} -> {name}" for determined_by, name in reversed(table.strict)}
    misspelled = _misspelled(table, cells, options)
    for (row, j), finding in sorted(cells.items()):
        column = table.columns[j]
        observed = column.values[column.observed[row]]
        asked = table.fill and not observed.strip()
        list_from = options.list_from
        if finding.kind == "typo" and j not in misspelled:
            list_from = options.list_lone_typo_from
            finding = finding if finding.expected else replace(finding, confidence=min(finding.confidence, GUESSED))
        if (finding.probability < list_from and not asked) or column.name in table.skip:
            continue
        if table.trusted is not None and table.trusted[row, j]:
            continue
        if finding.suggested == observed and not asked:
            continue
        observed, reason = column.as_in_file(observed), column.as_in_file(finding.reason)
        suggested = None if finding.suggested is None else column.as_in_file(finding.suggested)
        if decided.is_right(column.name, observed, suggested):
            continue
        kind = finding.kind
        if kind == "disagreement" and column.name in rule_of:
            kind, reason = "rule", f"rule '{rule_of[column.name]}': {reason}"
        out.append(
            CellFinding(row, column.name, observed, suggested, finding.probability, finding.confidence, kind, reason)
        )
    return out


def _misspelled(table: CodedTable, cells: Cells, options: TableOptions) -> set[int]:
    """Columns whose certain corrections, or those of the table, show a process of misspelling; without one a rare
    spelling is more likely right, as in names that sound alike."""
    certain = Counter(j for (_, j), f in cells.items() if f.kind == "typo" and f.confidence >= options.change_from)
    if certain.total() >= max(REPEATS, options.typo_process * table.num_rows * len(table.columns)):
        return set(range(len(table.columns)))
    return {j for j, count in certain.items() if count >= max(REPEATS, options.typo_process_of_column * table.num_rows)}


def _repeated_rows(table: CodedTable) -> list[list[int]]:
    """Groups of rows that are equal in every column."""
    if not table.num_rows:
        return []
    code = table.columns[0].observed
    for column in table.columns[1:]:
        code = joint(code, column.observed)
    return _groups_of_equal(code)


def _repeated_keys(table: CodedTable) -> dict[str, dict[str, list[int]]]:
    """Identifiers that name several rows."""
    out = {}
    for column in table.columns:
        if column.role.name == "identifier":
            groups = _groups_of_equal(column.observed)
            named = {column.values[column.observed[rows[0]]]: rows for rows in groups}
            named = {text: rows for text, rows in named.items() if text.strip()}
            if named:
                out[column.name] = named
    return out


def _groups_of_equal(codes: Codes) -> list[list[int]]:
    order = np.argsort(codes, kind="stable")
    edges = np.flatnonzero(np.r_[True, np.diff(codes[order]) != 0, True])
    groups = [order[a:b].tolist() for a, b in pairwise(edges.tolist()) if b - a > 1]
    return sorted(groups)


def infer_roles(columns: Mapping[str, Sequence[str]], given: Mapping[str, str] | None = None) -> dict[str, Role]:
    """The role of every column; roles given by the user take precedence."""
    table = CodedTable.of(columns)
    _set_roles(table, given)
    return {column.name: column.role for column in table.columns}


def _set_roles(table: CodedTable, given: Mapping[str, str] | None) -> None:
    for column in table.columns:
        name = (given or {}).get(column.name)
        column.role = Role(name, "given") if name else infer_role(column, table)


def _apply(table: CodedTable, cells: Cells, found: Iterable[tuple[int, Finding]], options: TableOptions) -> None:
    """Take over the findings of a rewrite: what follows reads the rewritten texts."""
    for j, finding in found:
        if table.trusted is not None and table.trusted[finding.row, j]:
            continue
        _add(cells, [(j, finding)], _both)
        if finding.suggested is not None and finding.confidence >= options.learn_from:
            table.columns[j].rewrite(finding.row, finding.suggested)


def _add(cells: Cells, found: Iterable[tuple[int, Finding]], merge: Callable[[Finding, Finding], Finding]) -> None:
    """Add findings by column; where a cell has one already, ``merge`` makes one of both."""
    for j, finding in found:
        key = finding.row, j
        cells[key] = merge(cells[key], finding) if key in cells else finding


def _add_fillings(table: CodedTable, cells: Cells, fillings: Fillings) -> None:
    """Suggest the most probable values of blanks for which nothing else is suggested."""
    for (row, j), (code, confidence) in fillings.items():
        found = cells.get((row, j))
        if found is None or found.suggested is None:
            value = table.columns[j].values[code]
            reason = f"blank; the most probable value is {value!r}: missing"
            probability = 0.0 if found is None else found.probability
            cells[row, j] = Finding(row, value, probability, confidence, "missing", reason)


def _both(first: Finding, then: Finding) -> Finding:
    """A cell that was rewritten and then corrected further: wrong if either finding is."""
    probability = 1 - (1 - first.probability) * (1 - then.probability)
    if then.confidence < first.confidence * (1 - then.probability):
        return replace(first, probability=probability, confidence=first.confidence * (1 - then.probability))
    reason = f"{first.reason}; {then.reason}" if then.reason else first.reason
    # what other rows report does not depend on how this one was read
    read = 1.0 if then.kind == "disagreement" else first.confidence
    return replace(then, probability=probability, confidence=read * then.confidence, reason=reason)


def _stronger(first: Finding, then: Finding) -> Finding:
    """The finding with the more certain suggestion, with the larger of the two probabilities."""
    best = max(first, then, key=lambda f: (f.confidence, f.probability))
    return replace(best, probability=max(first.probability, then.probability))


def _passes(
    table: CodedTable, options: TableOptions, decided: _Decisions, progress: Callable[[str, float], None] | None
) -> tuple[list[tuple[int, Finding]], Fillings]:
    """Judge every column several times, each time with contexts and error rates estimated from the table as repaired so
    far. Returns the findings by column and, if requested, the likeliest values of blanks."""
    typo, width = Typo(), len(table.columns)
    rates = [options.typo_rate] * width
    memory: list[dict[str, object]] = [{} for _ in range(width)]
    active = [j for j, c in enumerate(table.columns) if c.name not in table.skip and c.role.name != "empty"]
    judged: dict[int, ColumnJudgment] = {}
    threads = threads_for_rows(table.num_rows)
    rewritten = max(float(((c.read != c.observed) & ~c.blanks(c.read)).mean()) for c in table.columns)
    for step in range(options.passes + options.more_passes):
        worst_rate = max(rewritten, *rates)
        in_pass = _Pass(table, typo, options, worst_rate, step < FRESH_PASSES, step >= options.passes - 1)
        wanted = [(j, rates[j], memory[j]) for j in active]
        results = results_in_order(_judge_column, in_pass, wanted, table.cluster, threads)
        for at, j in enumerate(active):
            if progress:
                share = min((step + at / len(active)) / options.passes, 1.0)
                progress(f"pass {step + 1}, column {j + 1} of {width}", share)
            judged[j], memory[j], added = next(results)
            for text in added:
                table.columns[j].code(text)
            name = table.columns[j].name
            judged[j].misspelled += decided.accepted[name]
            judged[j].identifiable += decided.accepted[name] + options.rejected_rows * decided.rejected[name]
        before = list(rates)
        for j, rate in _typo_rates(judged, options).items():
            rates[j] = rate
        for j in active:
            repaired = table.columns[j].read.copy()
            for row, code in judged[j].repairs.items():
                repaired[row] = code
            table.columns[j].repair(repaired)
        typo.learn(decided.lessons + [pair for result in judged.values() for pair in result.lessons])
        if step >= options.passes - 1:
            active = [j for j in active if rates[j] > RISING * before[j]]
    found = [(j, finding) for j, result in judged.items() for finding in result.findings.values()]
    return found, {(i, j): filling for j, result in judged.items() for i, filling in result.fillings.items()}


def _typo_rates(judged: Mapping[int, ColumnJudgment], options: TableOptions) -> dict[int, float]:
    """Share of misspelled cells of every column, shrunk toward that of the table."""
    rows = sum(result.identifiable for result in judged.values()) + options.rate_cells
    wrong = sum(result.misspelled for result in judged.values()) + options.rate_cells * options.typo_rate
    out = {}
    for j, result in judged.items():
        own = (result.misspelled + options.rate_rows * wrong / rows) / (result.identifiable + options.rate_rows)
        out[j] = min(max(own, MIN_RELATIVE_RATE * wrong / rows, options.rate_floor), options.rate_cap)
    return out


@dataclass(frozen=True, eq=False)
class _Pass:
    """What all columns of one pass share.

    Args:
        table, typo, options, worst_rate: see :class:`~magnet.tables.mixture.ColumnModel`.
        fresh: whether contexts are chosen again.
        last: whether this may be the last pass: findings get reasons and, if asked for, blanks a suggestion.
    """

    table: CodedTable
    typo: Typo
    options: TableOptions
    worst_rate: float
    fresh: bool
    last: bool


def _judge_column(
    pass_: _Pass, position: int, rate: float, memory: dict[str, object]
) -> tuple[ColumnJudgment, dict[str, object], list[str]]:
    """Judge one column; returns its state for the next pass and the texts added to its vocabulary."""
    table = pass_.table
    known = len(table.columns[position].values)
    model = ColumnModel(
        table,
        position,
        memory,
        pass_.fresh,
        options=pass_.options,
        typo=pass_.typo,
        rate=rate,
        worst_rate=pass_.worst_rate,
        explain=pass_.last,
    )
    judged = model.judge()
    if table.fill and pass_.last:
        judged.fillings = model.fillings()
    return judged, memory, model.column.values[known:]
