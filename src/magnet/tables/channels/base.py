"""What every channel gives: the probability of an observed text when another one is right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from magnet.tables.coded import CodedColumn, CodedTable, Codes, Floats
from magnet.tables.experts.novelty import Novelty
from magnet.tables.findings import Finding
from magnet.tables.options import TableOptions
from magnet.tables.roles.base import ROLES
from magnet.tables.roles.patterns import blank

UNKNOWN = -1  # the code of "some value that we cannot name"


@dataclass(frozen=True, eq=False)
class Proposals:
    """Corrections of distinct texts.

    Args:
        observed: codes of the texts as read, ``[pairs]``.
        candidate: codes of the corrections, :data:`UNKNOWN` where the text is wrong but its correction is not known.
        likelihood: ``P(observed | candidate, the channel struck)``.
        measure: base measure of corrections that no row holds; nan where the experts know the correction.
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


class Channel(Protocol):
    """One kind of damage: ``P(o | v)``, the chance that the right text v comes out as o.

    ``rate`` names the error rate it shares with other channels; ``kind`` is what the user reads.
    """

    name: str
    rate: str
    kind: str

    def propose(self, context: ChannelContext) -> Proposals:
        """Corrections of the distinct texts of a column."""
        ...

    def likelihood(self, observed: str, value: str) -> float:
        """The chance of one observed text, 0 if the channel cannot write it."""
        ...

    def learn(self, pairs: list[tuple[str, str]]) -> None:
        """Take the operation mix from confident (observed, repaired) pairs of the whole table."""
        ...


Odd = tuple[int, str | None, float, str]
"""A text that is written wrongly wherever it stands: its code, the right text if known, the confidence, and why."""


def per_value(
    table: CodedTable,
    options: TableOptions,
    find: Callable[[CodedColumn, list[int], Codes, TableOptions], Iterable[Odd]],
    kind: str,
    probability: float,
    roles: Iterable[str] = ROLES,
) -> Iterator[tuple[int, Finding]]:
    """Findings of a test that looks at the distinct texts of a column, for every row that holds one of them.

    Args:
        find: gets the column, the codes of its filled texts, how often each is read, and the constants.
        kind, probability: of every finding.
        roles: the columns that are looked at (default: all).
    """
    for j, column in enumerate(table.columns):
        if column.name in table.skip or column.role.name == "empty" or column.role.name not in roles:
            continue
        counts = column.read_counts()
        held = [k for k in np.flatnonzero(counts).tolist() if not blank(column.values[k])]
        if not held or counts[held].sum() < options.min_rows:
            continue
        found = list(find(column, held, counts, options))
        order, starts = column.rows_by_value() if found else (counts, counts)
        for code, text, confidence, why in found:
            for row in order[starts[code] : starts[code + 1]].tolist():
                yield j, Finding(row, text, probability, confidence, kind, why)


ColumnTest = Callable[[CodedTable, TableOptions], Iterable[tuple[int, Finding]]]
"""A rewrite or an audit: looks at whole columns and yields ``(column position, finding)``. It reads
``column.read`` (rewrites) or ``column.current`` (audits, the repaired table), and changes nothing."""
