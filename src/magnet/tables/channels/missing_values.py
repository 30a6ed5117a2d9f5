"""Blanks that should hold a value: their group has it, or they are missing completely at random (Rubin 1976)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from magnet.arrays import Bools, Floats
from magnet.tables.coded import CodedColumn, CodedTable, Codes, distinct
from magnet.tables.experts.groups import UNEVEN, dispersion
from magnet.tables.findings import Finding
from magnet.tables.located import located
from magnet.tables.options import FEW_ROWS

DETERMINED = 0.95  # share of filled cells that agree with the leading value of their group, each cell left out
MAX_BLANK = 0.25  # share of the cells, as of any error (``rate_cap``); an emptier column is optional (not swept)
CHANCE = 0.85  # a scattered blank in a determined column
OTHERS = 2  # filled rows that a group must have besides the blank
CLEAR = 0.8  # share of a group's filled cells that must agree
UNEXPLAINED = 0.3  # of the cells off the commonest value that the groups may leave unexplained
MAX_BLANKS, MIN_BLANKS = 0.2, 5  # highest share and lowest number of blanks whose place can be tested
COLUMNS = 3  # columns with blanks of one rate that show a process which loses values
LOST = 0.7  # chance that a blank of such a process lost a value


def audit(table: CodedTable) -> Iterator[tuple[int, Finding]]:
    """Blanks of columns that another column determines.

    If whole groups are blank, blanks belong to the entity and are right; if blanks fall on groups as independent draws
    would (dispersion near 1), they are missing values. The suggestion is the leading value of the group. Where several
    columns, and all that have scattered blanks, have them at one rate, and no other column explains in which rows,
    values were lost: optional values are missing for a reason and at a different rate.
    """
    lost: dict[int, Codes] = {}
    known: set[int] = set()
    for j, column in table.judged():
        empty = column.blanks(column.current)
        if not 0 < empty.mean() <= MAX_BLANK or (~empty).sum() < FEW_ROWS:
            continue
        others = ((other, _determines(other, column, empty)) for other in table.columns if other is not column)
        found = [(result[0], other, result[1]) for other, result in others if result is not None]
        if not found:
            if MIN_BLANKS <= empty.sum() <= MAX_BLANKS * len(empty) and not located(table, j, empty):
                lost[j] = np.flatnonzero(empty)
            continue
        lost[j] = np.flatnonzero(empty)
        known.add(j)
        share, key, leader = max(found, key=lambda each: each[0])
        for row in np.flatnonzero(empty & (leader >= 0)).tolist():
            value = column.values[leader[row]]
            why = f"the rows with {key.name} {key.values[key.current[row]]!r} have {value!r}, but blank: missing"
            yield j, Finding(row, value, CHANCE, CHANCE * share, "missing", why)
    sizes = np.array([len(rows) for rows in lost.values()])
    one_rate = len(lost) >= COLUMNS and dispersion(sizes, np.full(len(sizes), table.num_rows)) <= UNEVEN
    for j in sorted(lost.keys() - known) if one_rate else ():
        why = f"{len(lost)} columns have blanks at the same rate, unrelated to other columns: missing"
        for row in lost[j].tolist():
            yield j, Finding(row, None, LOST, 0.0, "missing", why)


def _determines(other: CodedColumn, column: CodedColumn, empty: Bools) -> tuple[float, Codes] | None:
    """Agreement within the groups of another column, and the leading value of each row's group (-1: unknown)."""
    n, full = len(empty), ~empty
    if not 2 <= other.levels() <= 0.5 * n:
        return None
    group, groups = other.keep("groups", partial(distinct, other.current))
    width = len(column.values)
    keys, held = np.unique(group[full] * width + column.current[full], return_counts=True)
    leading = np.zeros(groups, dtype=np.int64)
    np.maximum.at(leading, keys // width, held)
    value = np.full(groups, -1, dtype=np.int64)
    top = held == leading[keys // width]
    value[(keys // width)[top]] = (keys % width)[top]
    size = np.bincount(group[full], minlength=groups)
    large = size > OTHERS
    if large.sum() < 2 or size[large].sum() < 0.5 * full.sum():
        return None
    others = np.maximum(size[large] - 1, 1).sum()
    share = float((leading[large] - 1).sum() / others)
    chance: Floats = np.bincount(column.current[full], minlength=width) / full.sum()
    if chance.max() == 1:
        return None  # one value or none is a flag, which nothing determines
    if share < DETERMINED or share < 1 - UNEXPLAINED * (1 - float(chance.max())):
        return None
    if dispersion(np.bincount(group[empty], minlength=groups), np.bincount(group, minlength=groups)) > UNEVEN:
        return None
    known = (size > OTHERS) & (leading >= CLEAR * size)
    return share, np.where(known, value, -1)[group]
