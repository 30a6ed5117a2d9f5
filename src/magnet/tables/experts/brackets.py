"""Values that follow from a number, maybe within a group: grades by points, tax rates by state and salary."""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sp

from magnet.arrays import Bools, Floats
from magnet.tables.coded import CodedColumn, CodedTable, Codes, distinct, ordered_pairs, row_counts
from magnet.tables.experts.base import ColumnContext, Expert
from magnet.tables.experts.groups import SMOOTHING
from magnet.tables.experts.links import Links
from magnet.tables.numbers.writing import read_numbers
from magnet.tables.options import FEW_NUMBERS, MIN_ROWS

SIDE = 5  # rows with the next smaller, and next larger, number that vote
WIDE = 4  # times as many rows among which the value of an exception does not occur
MAX_VALUES = 0.1  # different values per row; with more, brackets are too narrow to be seen
MAX_GROUPS = 0.05  # groups per row, so that groups hold several brackets
MIN_AGREEMENT = 0.8  # of rows that are next to each other
TRIED = 5  # groups with the most agreement. Set by run time
SAMPLE = 5000  # rows on which the number and the group are chosen. Set by run time
MIN_GAIN = 0.5  # share of the disagreement within the groups of the best column that being next to each other removes


class Brackets(Links):
    """Votes of the rows of the same group with the nearest numbers.

    Args:
        table: the table.
        position: of the column that is judged.
        number: position of the column of numbers.
        group: position of the column that makes groups, -1 for one group of all rows.
    """

    def __init__(self, table: CodedTable, position: int, number: int, group: int) -> None:
        column, x, codes = table.columns[position], _numbers(table.columns[number]), _groups(table, group)
        super().__init__(column, _voters(x, codes, SIDE), SMOOTHING[1])
        self._wide = Links(column, _voters(x, codes, WIDE * SIDE), SMOOTHING[1])
        also = f" and the same {table.columns[group].name}" if group >= 0 else ""
        self.voters = f"rows with the nearest {table.columns[number].name}{also}"

    def agreement(self) -> tuple[Codes, Floats, float]:
        """As for groups, but rows near others of their own value are no exceptions, and if these are more frequent than
        exceptions, brackets overlap and there are none."""
        voice, votes, spread = super().agreement()
        against = (voice >= 0) & (voice != self._column.read)
        near = self._wide._count(np.arange(len(voice)), self._column.read) > 0
        overlap = (against & near).sum() > (against & ~near).sum()
        return np.where(near | overlap, -1, voice), votes, spread


def fit(context: ColumnContext) -> list[Expert]:
    """One expert for the number and the group in whose order most rows agree with the next one, if the groups of no
    column agree about as well."""
    table, column = context.table, context.column
    n, count = table.num_rows, int(np.count_nonzero(context.counts))
    if n < MIN_ROWS or not 2 <= count <= MAX_VALUES * n or column.role.name in ("identifier", "text"):
        return []
    if context.fresh or "bracket" not in context.memory:
        context.memory["bracket"] = _best(table, context.position)
    found = context.memory["bracket"]
    if found is None:
        return []
    return [Brackets(table, context.position, *found)]  # type: ignore[misc]


def _numbers(column: CodedColumn, rows: Codes | slice = slice(None)) -> Floats:
    codes, places = np.unique(column.current[rows], return_inverse=True)
    return read_numbers([column.values[k] for k in codes.tolist()])[places]


def _groups(table: CodedTable, position: int, rows: Codes | slice = slice(None)) -> Codes:
    if position < 0:
        return np.zeros(table.columns[0].current[rows].shape, dtype=np.int64)
    return distinct(table.columns[position].current[rows])[0]


def _best(table: CodedTable, position: int) -> tuple[int, int] | None:
    """Positions of the number and of the group (-1: none) that predict a column best, None if none does well."""
    n = table.num_rows
    rows = np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64)
    value = table.columns[position].current[rows]
    levels = [c.levels() for c in table.columns]
    numbers = {  # whole numbers of one length are called codes and identifiers, but may be salaries
        k: c.keep("sorted numbers", partial(_sorted_numbers, c, rows))
        for k, c in enumerate(table.columns)
        if k != position and c.role.name in ("quantity", "unit", "code", "identifier") and levels[k] > 2 * FEW_NUMBERS
    }
    groups = [-1, *(k for k in range(len(levels)) if k != position and 2 <= levels[k] <= 0.5 * n)]
    agreement = {group: _agreement(_kept_groups(table, group, rows), value) for group in groups}
    without = max(agreement.values())
    best, chosen = max(MIN_AGREEMENT, 1 - (1 - MIN_GAIN) * (1 - without)), None
    large = [group for group in groups[1:] if levels[group] <= MAX_GROUPS * n]
    for group in (-1, *sorted(large, key=lambda g: -agreement[g])[:TRIED]):
        codes = _kept_groups(table, group, rows)[0].astype(np.uint16)  # sorted faster; there are at most SAMPLE
        for number, (by_size, finite) in numbers.items():
            if number == group:
                continue
            sorted_codes = codes[by_size]
            place = np.argsort(sorted_codes, kind="stable")  # by group, then by number
            held, sorted_codes = value[by_size[place]], sorted_codes[place]
            near = (sorted_codes[1:] == sorted_codes[:-1]) & finite[place[1:]]
            same = float((held[1:] == held[:-1])[near].mean()) if near.sum() > 0.5 * len(rows) else 0.0
            if same > best:
                best, chosen = same, (number, group)
    return chosen


def _sorted_numbers(column: CodedColumn, rows: Codes) -> tuple[Codes, Bools]:
    """The order of some rows by their number, and which of the sorted ones are numbers."""
    x = _numbers(column, rows)
    order = np.argsort(x, kind="stable")
    return order, np.isfinite(x[order])


def _kept_groups(table: CodedTable, position: int, rows: Codes) -> tuple[Codes, int, float]:
    """Codes of the groups of some rows, how many groups there are, and their pairs of rows."""

    def groups() -> tuple[Codes, int, float]:
        codes = _groups(table, position, rows)
        sizes = np.bincount(codes)
        return codes, len(sizes), ordered_pairs(sizes)

    return groups() if position < 0 else table.columns[position].keep("groups of a sample", groups)


def _agreement(groups: tuple[Codes, int, float], value: Codes) -> float:
    """Share of the pairs of rows of a group that hold the same value."""
    codes, count, pairs = groups
    width = int(value.max()) + 1
    return float((row_counts(codes * width + value, count * width) - 1).sum()) / max(pairs, 1.0)


def _voters(x: Floats, codes: Codes, side: int) -> sp.csr_array:
    """For every row the rows of its group with the next smaller and larger numbers."""
    order, n = np.lexsort((x, codes)), len(x)
    pairs = []
    for step in range(1, side + 1):
        a, b = order[:-step], order[step:]
        near = (codes[a] == codes[b]) & np.isfinite(x[a]) & np.isfinite(x[b])
        pairs += [(a[near], b[near]), (b[near], a[near])]
    rows, others = (np.concatenate(part) for part in zip(*pairs, strict=True))
    return sp.csr_array((np.ones(len(rows)), (rows, others)), shape=(n, n))
