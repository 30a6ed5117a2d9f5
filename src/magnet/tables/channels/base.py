"""Interface of a channel: the probability of an observed text given the true one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Protocol

import numpy as np

from magnet.tables.coded import CodedColumn, CodedTable, Codes, Floats, Texts
from magnet.tables.experts.novelty import Novelty
from magnet.tables.findings import Finding
from magnet.tables.options import TableOptions
from magnet.tables.roles.base import ROLES
from magnet.tables.roles.patterns import number

UNKNOWN = -1  # the code of "some value that we cannot name"


@dataclass(frozen=True, eq=False)
class Proposals:
    """Corrections of distinct texts.

    Args:
        observed: codes of the texts as read, ``[pairs]``.
        candidate: codes of the corrections, :data:`UNKNOWN` where the text is wrong but its correction is not known.
        likelihood: ``P(observed | candidate, the channel struck)``.
        measure: base measure of corrections that occur in no row; nan if the experts cover the correction.
    """

    observed: Codes
    candidate: Codes
    likelihood: Floats
    measure: Floats

    @classmethod
    def of(cls, found: list[tuple[int, int, float, float]]) -> Proposals:
        if not found:
            empty = np.zeros(0)
            return cls(empty.astype(np.int64), empty.astype(np.int64), empty, empty)
        table = np.array(found, dtype=np.float64)
        return cls(table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2], table[:, 3])


@dataclass(eq=False)
class ChannelContext:
    """What a channel looks at: the column, how often each value occurs, and the base measure of its values."""

    column: CodedColumn
    counts: Codes
    read_counts: Codes
    novelty: Novelty
    options: TableOptions

    def suspects(self) -> list[int]:
        """Codes of the texts that were read, without blanks and without the numbers of a column of numbers."""
        values, arithmetic = self.column.values, self.column.role.arithmetic
        read = np.flatnonzero(self.read_counts).tolist()
        return [k for k in read if values[k] and not (arithmetic and number(values[k]) is not None)]


class Channel(Protocol):
    """One kind of damage: ``P(o | v)``, the chance that the right text v comes out as o.

    ``rate`` names the error rate it shares with other channels; ``kind`` is the name shown to the user.
    """

    name: str
    rate: str
    kind: str

    def propose(self, context: ChannelContext) -> Proposals:
        """Corrections of the distinct texts of a column."""
        ...

    def learn(self, pairs: list[tuple[str, str]]) -> None:
        """Take the operation mix from confident (observed, repaired) pairs of the whole table."""
        ...


ColumnTest = Callable[[CodedTable, TableOptions], Iterable[tuple[int, Finding]]]
"""A rewrite or an audit: looks at whole columns and yields ``(column position, finding)``. It reads
``column.read`` (rewrites) or ``column.current`` (audits, the repaired table), and changes nothing."""

WrongText = tuple[int, str | None, float, str]
"""A text that is wrong wherever it stands: its code, the right text if known, the confidence, and why."""


def text_test(
    kind: str, probability: float, roles: Collection[str] = ROLES, min_rows: int | None = None
) -> Callable[[Callable[[Texts, TableOptions], Iterable[WrongText]]], ColumnTest]:
    """Make a column test of a function that finds the wrong ones among the distinct texts of a column.

    Args:
        kind, probability: of every finding.
        roles: the columns that are looked at (default: all).
        min_rows: filled cells that a column needs (default: ``TableOptions.min_rows``).
    """

    def decorate(find: Callable[[Texts, TableOptions], Iterable[WrongText]]) -> ColumnTest:
        @wraps(find)
        def test(table: CodedTable, options: TableOptions) -> Iterator[tuple[int, Finding]]:
            for j, column in table.judged(roles):
                texts = column.texts()
                if texts.total < (min_rows or options.min_rows):
                    continue
                found = list(find(texts, options))
                order, starts = column.rows_by_value() if found else (texts.counts, texts.counts)
                for code, text, confidence, why in found:
                    for row in order[starts[code] : starts[code + 1]].tolist():
                        yield j, Finding(row, text, probability, confidence, kind, why)

        return test

    return decorate
