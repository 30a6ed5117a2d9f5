"""What channels propose, and how rewrites and audits are made of tests of texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import wraps
from typing import NamedTuple

from magnet.tables.coded import CodedTable, Texts
from magnet.tables.findings import Finding
from magnet.tables.options import FEW_ROWS, FOUND
from magnet.tables.roles.base import ROLES

UNKNOWN = -1  # the code of "some value that we cannot name"
ODD_FORM = 0.9  # probability that a text of another form is wrong: that no convention of the column explains


class Proposal(NamedTuple):
    """A correction of a distinct text.

    Args:
        observed: code of the text as read.
        candidate: code of the correction, :data:`UNKNOWN` where the text is wrong but its correction is not known.
        likelihood: ``P(observed | candidate, the channel struck)``.
        measure: base measure of a correction that occurs in no row; nan if the experts cover the correction.
    """

    observed: int
    candidate: int
    likelihood: float
    measure: float = math.nan


ColumnTest = Callable[[CodedTable], Iterable[tuple[int, Finding]]]
"""A rewrite or an audit: looks at whole columns and yields ``(column position, finding)``. It reads
``column.read`` (rewrites) or ``column.current`` (audits, the repaired table), and changes nothing."""

WrongText = tuple[int, str | None, float, str]
"""A text that is wrong wherever it stands: its code, the right text if known, the confidence, and why."""


def text_test(
    kind: str, roles: Collection[str] = ROLES, min_rows: int = FEW_ROWS, probability: float = FOUND
) -> Callable[[Callable[[Texts], Iterable[WrongText]]], ColumnTest]:
    """Make a column test of a function that finds the wrong ones among the distinct texts of a column.

    Args:
        kind: of every finding.
        roles: the columns that are looked at (default: all).
        min_rows: filled cells that a column needs (default: ``10``).
        probability: of every finding (default: ``0.95``).
    """

    def decorate(find: Callable[[Texts], Iterable[WrongText]]) -> ColumnTest:
        @wraps(find)
        def test(table: CodedTable) -> Iterator[tuple[int, Finding]]:
            for j, column in table.judged(roles):
                texts = column.texts()
                if texts.total < min_rows:
                    continue
                found = list(find(texts))
                order, starts = column.rows_by_value() if found else (texts.counts, texts.counts)
                for code, text, confidence, why in found:
                    for row in order[starts[code] : starts[code + 1]].tolist():
                        yield j, Finding(row, text, probability, confidence, kind, why)

        return test

    return decorate
