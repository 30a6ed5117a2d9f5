"""A column of numbers that should hold one value everywhere, with scattered exceptions."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr

from magnet.arrays import Bools, Floats
from magnet.tables.coded import CodedTable
from magnet.tables.findings import Finding
from magnet.tables.located import located
from magnet.tables.numbers import read_numbers
from magnet.tables.numbers.tails import MIN_SCALE
from magnet.tables.options import FEW_NUMBERS, FOUND, SURE, UNSURE
from magnet.tables.roles.base import roles_but

MIN_ROWS = 30  # with fewer there are at most nine exceptions, too few for their distribution
# of the rows, up to one standard error: where a third differed, values that others had left at a default of 50 were
# taken for errors and overwritten (injected errors in *autism-prevalence*); real ones take up to 28 % of 90 rows
MAX_EXCEPTIONS = 0.25
SECOND_SHARE = 0.12  # of the constant's count; a second value that frequent is another state
SIDE_SHARE = 0.15  # of the exceptions on each side: a constant at the edge is a floor or a ceiling
COLLISIONS = 3.0  # times as many equal pairs of exceptions as a normal distribution of them would give
RELATED, P_VALUE = 0.5, 0.01  # rank correlation of the exceptions with another number, and its significance
NUMERIC = 0.95  # share of the cells that are numbers
MIN_PAIRS = 8  # exceptions beside numbers of another column that a correlation needs (not swept)
MAX_GRID = 100_000  # values that the exceptions could have been rounded to; bounds memory


def rewrite(table: CodedTable) -> Iterator[tuple[int, Finding]]:
    """Columns with one value in most rows, and exceptions that nothing explains.

    Errors are scattered: their values differ, lie on both sides of the constant and hardly repeat, and nothing else in
    the row explains where they are or how large. If any of this fails, the exceptions are genuine variation. Fewer
    exceptions than show whether another number explains them are listed, but not overwritten.
    """
    n = table.num_rows
    if n < MIN_ROWS:
        return
    for j, column in table.judged(roles_but("constant", "identifier", "phone")):
        counts = column.read_counts()
        mode = int(counts.argmax())
        limit = MAX_EXCEPTIONS * n + math.sqrt(MAX_EXCEPTIONS * (1 - MAX_EXCEPTIONS) * n)
        if n - counts[mode] > limit:
            continue
        values = read_numbers(column.values)
        x = values[column.read]
        constant = float(values[mode])
        exceptions = np.isfinite(x) & (x != constant)
        if not np.isfinite(constant) or constant == 0 or np.isfinite(x).sum() < NUMERIC * n:
            continue
        if _scattered(x[exceptions], constant, int(counts[mode])) and not _predictable(table, j, exceptions, x):
            confidence = SURE if exceptions.sum() >= MIN_PAIRS else UNSURE
            usual = f"{int(counts[mode])} of {n} rows have {column.values[mode]!r}"
            for row in np.flatnonzero(exceptions).tolist():
                why = (
                    f"{usual} and no column explains the others, observed {column.values[column.read[row]]!r}: outlier"
                )
                yield j, Finding(row, column.values[mode], FOUND, confidence, "outlier", why)


def _scattered(others: Floats, constant: float, count: int) -> bool:
    """Whether exceptions are as different as errors would be."""
    values, repeats = np.unique(others, return_counts=True)
    if values.size < 3 or repeats.max() > max(2, SECOND_SHARE * count):
        return False
    below = int((others < constant).sum())
    if min(below, others.size - below) < max(1, SIDE_SHARE * others.size):
        return False
    # equal pairs, against those of normal values rounded to the resolution of the column
    step = float(np.diff(values).min())
    spread = float(np.std(others))
    grid = values[0] + step * np.arange(min(int((values[-1] - values[0]) / step) + 2, MAX_GRID))
    mass = np.diff(ndtr((np.append(grid - step / 2, grid[-1] + step / 2) - others.mean()) / max(spread, MIN_SCALE)))
    pairs = others.size * (others.size - 1) / 2
    expected = pairs * float((mass * mass).sum())
    return bool((repeats * (repeats - 1) / 2).sum() <= COLLISIONS * expected + 2)


def _predictable(table: CodedTable, position: int, exceptions: Bools, x: Floats) -> bool:
    """Whether another column, or the previous row, explains where the exceptions are or how large they are."""
    from scipy.stats import spearmanr  # a second of imports for the rare column that needs it

    for k, other in enumerate(table.columns):
        numbers = read_numbers(other.values)[other.read]
        both = exceptions & np.isfinite(numbers)
        if (
            k != position
            and both.sum() >= MIN_PAIRS
            and np.unique(numbers[both]).size > 2
            and len(other.values) > FEW_NUMBERS
        ):
            correlation = spearmanr(numbers[both], x[both])
            if abs(correlation.statistic) > RELATED and correlation.pvalue < P_VALUE:
                return True
    return located(table, position, exceptions)
