"""The list of suspicious cells: observed value, suggestion, probability and action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import logit

from magnet.tables.errors import listed, quoted
from magnet.tables.findings import CellFinding
from magnet.tables.options import DEFAULT, MIN_ROWS
from magnet.tables.table import Table
from magnet.tables.values import Change, is_null, plain, texts

Fix = Literal["none", "confident", "all"]
FIXES: tuple[str, ...] = ("none", "confident", "all")
COLUMNS = ["node", "column", "observed", "suggested", "action", "score", "probability", "reason", "row", "kind"]

#: Cells are listed from this probability of being wrong; ``fix="confident"`` writes suggestions from this posterior.
LIST_FROM, CHANGE_FROM = DEFAULT.list_from, DEFAULT.change_from
#: Scores are log odds, bounded so that a probability of 1 stays a number.
LARGEST_SCORE = 30.0


def list_cells(
    table: Table,
    findings: Sequence[CellFinding],
    *,
    fix: Fix = "confident",
    fill: bool = False,
    threshold: float = LIST_FROM,
    max_share: float = 0.5,
) -> pd.DataFrame:
    """One line per suspicious cell, the most probable first.

    Args:
        table: the table that was judged.
        findings: its suspicious cells.
        fix: which cells are changed: ``"none"``, ``"confident"`` (one replacement has a posterior of at least
            :data:`CHANGE_FROM`) or ``"all"`` (every listed cell with a suggestion). (default: ``"confident"``)
        fill: write the suggestions for blanks, too. (default: ``False``)
        threshold: list cells that are wrong with at least this probability; with ``fill`` every blank is listed.
            (default: ``0.5``)
        max_share: correct at most this share of the cells; of more, the least probable are kept. (default: ``0.5``)

    ``action`` is ``corrected``, ``filled`` (there was no value) or ``kept``. ``score`` is the log odds
    of the probability; ``row`` counts data rows from 0.
    """
    observed = {name: table.column(name) for name in {finding.column for finding in findings}}
    lines = []
    for finding in findings:
        blank = not finding.observed.strip()
        if finding.probability < threshold and not (blank and fill and finding.suggested is not None):
            continue
        suggested = _value(table, finding)
        sure = fix == "all" or (fix == "confident" and finding.confidence >= CHANGE_FROM)
        written = suggested is not None and (fill and fix != "none" if blank else sure)
        action = "kept" if not written else "filled" if blank else "corrected"
        value = plain(observed[finding.column].iloc[finding.row])
        cell = table.ids.iloc[finding.row], finding.column, None if is_null(value) else value, suggested, action
        lines.append((*cell, np.nan, finding.probability, finding.reason, finding.row, finding.kind))
    cells = pd.DataFrame(lines, columns=COLUMNS, dtype=object)
    cells = cells.astype({"score": np.float64, "probability": np.float64, "row": np.int64})
    cells["score"] = logit(cells["probability"].to_numpy()).clip(-LARGEST_SCORE, LARGEST_SCORE)
    cells = cells.sort_values(["probability", "row"], ascending=[False, True], kind="stable", ignore_index=True)
    corrected = np.flatnonzero(cells["action"] == "corrected")
    most = int(max_share * len(table.frame) * table.frame.shape[1])
    cells.loc[corrected[most:], "action"] = "kept"
    return cells


def _value(table: Table, finding: CellFinding) -> Any:
    """The suggestion in the type of its column, ``""`` for a blank; None without a suggestion, or if the column cannot
    hold it."""
    if finding.suggested is None:
        return None
    try:
        return table.parse_cell(finding.column, finding.suggested) if finding.suggested else _blank(table, finding)
    except ValueError:
        return None


def _blank(table: Table, finding: CellFinding) -> str:
    """A blank, or a ``ValueError`` if the column cannot hold one."""
    table.parse_cell(finding.column, "")
    return ""


def changes_of(table: Table, cells: pd.DataFrame) -> dict[str, Change]:
    """The cells to write, by column; a blank is the null of its column."""
    done = cells[cells["action"] != "kept"]
    changes: dict[str, Change] = {}
    for name, group in done.groupby("column", sort=False):
        values = [table.parse_cell(str(name), "") if value == "" else value for value in group["suggested"]]
        changes[str(name)] = group["row"].to_numpy(dtype=np.int64), values
    return changes


@dataclass(frozen=True, eq=False)
class CleaningRecord:
    """The content of a report on one cleaned table.

    Args:
        table: the input table.
        cells: the list of suspicious cells.
        roles: role of each column and its reason, by name.
        not_judged: columns that were not judged, with reasons.
        judged_in_part: columns in which only some kinds of errors can be found, and why.
        repeated_rows: groups of rows that are equal in every column.
        repeated_keys: columns of identifiers with the values that several rows have.
    """

    table: Table
    cells: pd.DataFrame
    roles: Mapping[str, tuple[str, str]]
    not_judged: Mapping[str, str]
    judged_in_part: Mapping[str, str] = field(default_factory=dict)
    repeated_rows: Sequence[Sequence[int]] = ()
    repeated_keys: Mapping[str, Mapping[str, Sequence[int]]] = field(default_factory=dict)

    @property
    def judged(self) -> list[str]:
        """The columns whose cells were judged."""
        return [name for name in self.roles if name not in self.not_judged]

    @property
    def counts(self) -> dict[str, int]:
        """Number of cells that were corrected, filled and kept."""
        actions = self.cells["action"].value_counts()
        return {name: int(actions.get(name, 0)) for name in ("corrected", "filled", "kept")}

    def _blanks(self, name: str) -> int:
        """Number of blank cells of a column; 0 if its cells cannot be read."""
        if name in self.table.left_alone:
            return 0
        return sum(1 for text in texts(self.table.column(name)) if not text.strip())

    def limits(self) -> list[str]:
        """Sentences about what was not judged, so that an empty list is not taken for a clean table."""
        table, links = self.table, self.table.links
        lines = []
        index = [name for name in (table.given.index.names if table.given is not None else ()) if name is not None]
        if index:
            lines.append(f"Not judged: the index ({listed(index)}); reset_index() makes columns of it.")
        for how, reasons in (("Not judged", self.not_judged), ("Judged in part", self.judged_in_part)):
            for why, names in _by_value(reasons).items():
                blanks = sum(map(self._blanks, names)) if how == "Not judged" else 0
                left = f"; blank cells: {blanks}" if blanks else ""
                lines.append(f"{how}: column{'s' * (len(names) > 1)} {listed(names)} ({why}{left}).")
        if table.num_nodes < MIN_ROWS:
            lines.append(f"With fewer than {MIN_ROWS} rows ({table.num_nodes} here), most errors cannot be recognized.")
        unknown = int(links.facts.get("edges to unknown ids", 0))
        if unknown:
            share = unknown / max(1, int(links.facts.get("edges read", unknown)))
            example = links.facts.get("an unknown id")
            named = f", such as {quoted(example)}" if example is not None else ""
            lines.append(
                f"{unknown} edges ({share:.1%}) have an id that is not in the table{named}; they were ignored."
            )
        if table.facts.get("rows whose id another row has"):
            lines.append("Some ids occur more than once: their edges were assigned to the first such row.")
        if self.repeated_rows:
            first = listed(self.repeated_rows[0]).replace("'", "")
            groups = f"; {len(self.repeated_rows)} such groups" if len(self.repeated_rows) > 1 else ""
            lines.append(f"Rows {first} are identical (counted from 0{groups}); repeated rows confirm one another.")
        for name, keys in self.repeated_keys.items():
            others = f" ({len(keys) - 1} more values repeat)" if len(keys) > 1 else ""
            lines.append(f"Column {quoted(name)} looks like a key, but {quoted(next(iter(keys)))} repeats{others}.")
        if not len(self.cells):
            lines.append("No suspicious cells were found. This does not prove that the table is clean.")
        return lines


def _by_value(items: Mapping[str, str]) -> dict[str, list[str]]:
    """The keys of every value."""
    groups: dict[str, list[str]] = {}
    for key, value in items.items():
        groups.setdefault(value, []).append(key)
    return groups
