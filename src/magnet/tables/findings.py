"""The result of judging a table: suspicious cells with evidence, and what was not judged."""

from __future__ import annotations

from dataclasses import dataclass, field

from magnet.tables.roles.base import Role


@dataclass(frozen=True)
class CellFinding:
    """A cell that is probably wrong.

    Args:
        row: data row from 0.
        column: header.
        observed: the text in the file.
        suggested: the right text as far as known.
        probability: P(wrong); for a blank P(it should hold a value).
        confidence: posterior of ``suggested`` being the right text.
        kind: typo, unit, format, disagreement, outlier, missing, moved, swapped, encoding, rule.
        reason: the evidence in plain words.
    """

    row: int
    column: str
    observed: str
    suggested: str | None
    probability: float
    confidence: float
    kind: str
    reason: str


@dataclass(frozen=True)
class TableVerdict:
    """The judgement of a table.

    Args:
        cells: every cell with a probability of at least .5, and every blank if values were asked for.
        roles: role of each column.
        not_judged: columns that were not judged, with reasons.
        judged_in_part: columns in which only some kinds of errors can be found, and why.
        repeated_rows: groups of rows that are equal in every column.
        repeated_keys: per identifier column, values that name several rows.
    """

    cells: list[CellFinding]
    roles: dict[str, Role]
    not_judged: dict[str, str]
    judged_in_part: dict[str, str] = field(default_factory=dict)
    repeated_rows: list[list[int]] = field(default_factory=list)
    repeated_keys: dict[str, dict[str, list[int]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """One wrong cell as a channel or a column test sees it, before texts and reasons are put together.

    Args:
        row: the row.
        suggested: the right text, or None if only known to be wrong.
        probability, confidence, kind, reason: as in :class:`CellFinding`.
        expected: whether the rest of the row makes the right text likely, however the cell is written.
    """

    row: int
    suggested: str | None
    probability: float
    confidence: float
    kind: str
    reason: str
    expected: bool = False
