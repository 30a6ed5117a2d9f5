"""Two values of a row exchanged between columns, or one copied over another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from magnet.arrays import Floats
from magnet.tables.coded import CodedColumn, CodedTable, Codes
from magnet.tables.findings import Finding
from magnet.tables.options import FEW_ROWS, LIST_FROM, REPEATS, SURE

RATE = 1e-3  # rows exchanged, before looking
PRIOR_ROWS, STEPS = 1000, 20  # rows at that rate that are assumed, and of EM (not swept)
ROLES = ("category", "text", "code", "constant", "phone", "date", "time")


def rewrite(table: CodedTable) -> Iterator[tuple[int, Finding]]:
    r"""Rows whose two values are each frequent in the other column.

    .. math::
        \frac{\mathrm{P(swapped)}}{\mathrm{P(right)}}
        = r \, \frac{F_a(x_b) \, F_b(x_a)}{F_a^{-i}(x_a) \, F_b^{-i}(x_b)}

    with r the rate of exchanged rows and half a row added to the counts below, which leave out other exchanged
    rows; both by EM, so that several exchanged rows show more of them.
    """
    n = table.num_rows
    if n < FEW_ROWS:
        return
    for (a, first), (b, second) in combinations(table.judged(ROLES), 2):
        home_first, away_first = _homes(first, second)
        home_second, away_second = _homes(second, first)
        candidates = np.flatnonzero((away_first[first.read] >= REPEATS) & (away_second[second.read] >= REPEATS))
        x, y = first.read[candidates], second.read[candidates]
        chance, rate = np.zeros(len(candidates)), RATE
        for _ in range(STEPS):
            home = (home_first[x] - _others(x, chance) - 0.5) * (home_second[y] - _others(y, chance) - 0.5)
            odds = rate * away_first[x] * away_second[y] / home
            chance = odds / (1 + odds)
            rate = (RATE * PRIOR_ROWS + float(chance.sum())) / (PRIOR_ROWS + n)
        for row, swapped in zip(candidates.tolist(), chance.tolist(), strict=True):
            one, two = first.values[first.read[row]], second.values[second.read[row]]
            if swapped < LIST_FROM or one == two or not one or not two:
                continue
            why = f"{one!r} belongs to {second.name} and {two!r} to {first.name}: swapped"
            yield a, Finding(row, two, swapped, SURE * swapped, "swapped", why)
            yield b, Finding(row, one, swapped, SURE * swapped, "swapped", why)


def _others(codes: Codes, chance: Floats) -> Floats:
    """How many other rows with the same value are exchanged, as expected."""
    return np.bincount(codes, weights=chance)[codes] - chance if len(codes) else chance


def _homes(column: CodedColumn, other: CodedColumn) -> tuple[Floats, Codes]:
    """How often each value of a column occurs in it, and in another column."""
    counts, elsewhere = column.read_counts(), other.read_counts()
    away = np.array([elsewhere[k] if (k := other.index.get(v, -1)) >= 0 else 0 for v in column.values])
    return counts.astype(np.float64), away
