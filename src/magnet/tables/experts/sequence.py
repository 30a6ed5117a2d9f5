"""Sequences: a value is predicted from the rows before and after it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from datetime import date

import numpy as np

from magnet.arrays import Floats
from magnet.tables.coded import CodedColumn
from magnet.tables.experts.base import ColumnContext, Expert, Point
from magnet.tables.options import MIN_ROWS
from magnet.tables.roles.dates import Moment, Style, has_day_first, parse_moment, write_moment

LAST_NUMBER = re.compile(r"(?P<head>.*?)(?P<digits>\d{1,15})", re.S)
EQUAL_STEPS = 0.5  # share from which a column counts as a sequence
DISTINCT = 0.1  # a column with fewer different values per row does not count
MONTHLY = 0.95  # share of dates on one day of the month, or at one time, from which months, or days, are counted


def fit(context: ColumnContext) -> list[Expert]:
    r"""Predict row i where its neighbors agree.

    With :math:`x_i` the number behind the text (the last run of digits behind one constant head, a day, or a month)
    and s the commonest step, row i is predicted as :math:`x_{i-1} + s` if that equals :math:`x_{i+1} - s` (two rows
    away where a neighbor cannot be read).
    """
    column = context.column
    n = len(column.current)
    if n < MIN_ROWS or len(np.unique(column.current)) < DISTINCT * n:
        return []
    for read in (_moments, _digits):
        found = read(column)
        if found is None:
            continue
        x, write = found
        predicted = _between(x)
        if predicted is None:
            return []
        codes = np.full(n, -1, dtype=np.int64)
        for i in np.flatnonzero(np.isfinite(predicted)).tolist():
            text = write(int(predicted[i]))
            if text is not None:
                codes[i] = column.code(text)
        return [Point(column, codes, "the rows before and after count to {value}")]
    return []


def _between(x: Floats) -> Floats | None:
    steps = np.diff(x)
    steps = steps[np.isfinite(steps)]
    if not len(steps):
        return None
    values, counts = np.unique(steps, return_counts=True)
    step = values[counts.argmax()]
    if counts.max() < EQUAL_STEPS * len(steps) or step == 0:
        return None
    n = len(x)

    def shifted(by: int) -> Floats:
        out = np.full(n, np.nan)
        if by > 0:
            out[by:] = x[:-by] + by * step
        else:
            out[:by] = x[-by:] + by * step
        return out

    before, after = shifted(1), shifted(-1)
    before = np.where(np.isfinite(before), before, shifted(2))
    after = np.where(np.isfinite(after), after, shifted(-2))
    return np.where(before == after, before, np.nan)


def _digits(column: CodedColumn) -> tuple[Floats, Callable[[int], str | None]] | None:
    """The last number of every text behind one constant head."""
    texts = column.texts(repaired=True)
    parts = texts.matching(LAST_NUMBER)
    heads = texts.tally_codes({k: match["head"] for k, match in parts.items()})
    head, rows = heads.most_common(1)[0] if heads else ("", 0)
    if not rows or rows < 0.5 * texts.total:
        return None
    digits = {k: match["digits"] for k, match in parts.items() if match["head"] == head}
    numbers = np.full(len(column.values), np.nan)
    numbers[list(digits)] = [int(run) for run in digits.values()]
    zeros = any(run[0] == "0" and len(run) > 1 for run in digits.values())
    width = texts.tally_codes({k: len(run) for k, run in digits.items()}).most_common(1)[0][0] if zeros else 0
    return numbers[column.current], lambda value: f"{head}{value:0{width}d}" if value >= 0 else None


def _moments(column: CodedColumn) -> tuple[Floats, Callable[[int], str | None]] | None:
    """The months of dates that name one day of the month, the days of others; none with several times of day."""
    if column.role.name != "date":
        return None
    texts = column.texts(repaired=True)
    styles, days = Counter[Style](), Counter[int]()
    numbers = np.full((2, len(column.values)), np.nan)  # months, days
    clocks = Counter[tuple[int, int, int] | None]()
    order = has_day_first(text for _, text, _ in texts)
    for k, text, rows in texts:
        parsed = parse_moment(text, order)
        if parsed and parsed[0].date:
            (year, month, day), style = parsed[0].date, parsed[1]
            styles[style] += rows
            days[day] += rows
            clocks[parsed[0].time] += rows
            numbers[:, k] = 12 * year + month - 1, date(year, month, day).toordinal()
    if styles.total() < 0.5 * texts.total or not styles:
        return None
    style = styles.most_common(1)[0][0]
    clock, rows = clocks.most_common(1)[0]
    if rows < MONTHLY * clocks.total():
        return None
    usual, rows = days.most_common(1)[0]
    monthly = rows >= MONTHLY * days.total()

    def write(value: int) -> str | None:
        try:
            when = date(value // 12, value % 12 + 1, usual) if monthly else date.fromordinal(value)
        except (ValueError, OverflowError):
            return None
        return write_moment(Moment((when.year, when.month, when.day), clock), style)

    return numbers[0 if monthly else 1][column.current], write
