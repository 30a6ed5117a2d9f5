"""Sequences: a value is predicted from the rows before and after it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta

import numpy as np

from magnet.tables.coded import CodedColumn, Floats
from magnet.tables.experts.base import Expert, FitContext
from magnet.tables.experts.point import Point
from magnet.tables.roles.dates import Moment, Style, parse_moment, write_moment

LAST_NUMBER = re.compile(r"(?P<head>.*?)(?P<digits>\d{1,15})", re.S)
MIN_ROWS = 20
DISTINCT = 0.1  # a column with fewer different values per row does not count
MONTHLY = 0.95  # share of dates on one day of the month from which months are counted and not days
EPOCH = date(1, 1, 1).toordinal()


def fit(context: FitContext) -> list[Expert]:
    r"""Predict row i where its neighbors agree.

    With :math:`x_i` the number behind the text (the last run of digits behind one constant head, a day, or a month)
    and s the commonest step, row i is predicted as :math:`x_{i-1} + s` if that equals :math:`x_{i+1} - s` (two rows
    away where a neighbor cannot be read).
    """
    column = context.table.columns[context.position]
    n = len(column.current)
    if n < MIN_ROWS or len(np.unique(column.current)) < DISTINCT * n:
        return []
    for read in (_moments, _digits):
        found = read(column)
        if found is None:
            continue
        x, write = found
        predicted = _between(x, context.options.sequence_share)
        if predicted is None:
            return []
        codes = np.full(n, -1, dtype=np.int64)
        for i in np.flatnonzero(np.isfinite(predicted)).tolist():
            text = write(int(predicted[i]))
            if text is not None:
                codes[i] = column.code(text)
        return [Point("sequence", column, codes, "the rows before and after count to {value}")]
    return []


def _between(x: Floats, share: float) -> Floats | None:
    steps = np.diff(x)
    steps = steps[np.isfinite(steps)]
    if not len(steps):
        return None
    values, counts = np.unique(steps, return_counts=True)
    step = values[counts.argmax()]
    if counts.max() < share * len(steps) or step == 0:
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
    counts = column.counts()
    heads, widths, zeros = Counter[str](), Counter[int](), False
    parts = {k: LAST_NUMBER.fullmatch(column.values[k]) for k in np.flatnonzero(counts).tolist()}
    for k, m in parts.items():
        if m:
            heads[m["head"]] += int(counts[k])
    total = sum(int(counts[k]) for k in parts if column.values[k])
    if not heads or heads.most_common(1)[0][1] < 0.5 * total:
        return None
    head = heads.most_common(1)[0][0]
    numbers = np.full(len(column.values), np.nan)
    for k, m in parts.items():
        if m and m["head"] == head:
            numbers[k] = int(m["digits"])
            widths[len(m["digits"])] += int(counts[k])
            zeros = zeros or (m["digits"][0] == "0" and len(m["digits"]) > 1)
    width = widths.most_common(1)[0][0] if zeros else 0
    return numbers[column.current], lambda value: f"{head}{value:0{width}d}" if value >= 0 else None


def _moments(column: CodedColumn) -> tuple[Floats, Callable[[int], str | None]] | None:
    if column.role.name != "date":
        return None
    counts = column.counts()
    parsed = {k: p for k in np.flatnonzero(counts).tolist() if (p := parse_moment(column.values[k])) and p[0].date}
    styles, days = Counter[Style](), Counter[int]()
    for k, (moment, style) in parsed.items():
        styles[style] += int(counts[k])
        assert moment.date is not None
        days[moment.date[2]] += int(counts[k])
    held = sum(int(counts[k]) for k in np.flatnonzero(counts) if column.values[k])
    read = sum(styles.values())
    if not styles or read < 0.5 * held:
        return None
    style = styles.most_common(1)[0][0]
    monthly = days.most_common(1)[0][1] >= MONTHLY * read
    day = days.most_common(1)[0][0]
    clock = next(m.time for m, s in parsed.values() if s == style)
    numbers = np.full(len(column.values), np.nan)
    for k, (moment, _) in parsed.items():
        assert moment.date is not None
        y, m, d = moment.date
        numbers[k] = 12 * y + m - 1 if monthly else date(y, m, d).toordinal()

    def write(value: int) -> str | None:
        try:
            when = date(value // 12, value % 12 + 1, day) if monthly else date(1, 1, 1) + timedelta(days=value - EPOCH)
        except (ValueError, OverflowError):
            return None
        return write_moment(Moment((when.year, when.month, when.day), clock), style)

    return numbers[column.current], write
