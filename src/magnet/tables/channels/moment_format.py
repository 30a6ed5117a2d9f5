"""Dates and times in several writings within one column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from magnet.tables.channels.base import Odd, per_value
from magnet.tables.coded import CodedColumn, CodedTable, Codes
from magnet.tables.findings import Finding
from magnet.tables.options import TableOptions
from magnet.tables.roles.dates import Moment, Style, parse_moment, write_moment

LEADING = 0.6  # share of the moments that one writing needs to be the column's own
PROBABILITY, CONFIDENCE = 0.95, 0.94
REPEATS, HABIT = 3, 0.02  # rows, and share of rows, from which another writing is a habit and not a slip
AMBIGUOUS = 0.5  # confidence where day and month may be exchanged or a character may be lost


def rewrite(table: CodedTable, options: TableOptions) -> Iterator[tuple[int, Finding]]:
    """Moments in a rarer writing take that of the majority: ``2015-03-04`` among ``3/4/2015``.

    Which of two numbers is the day follows from the values that allow one reading only. Where the writing itself does
    not say, the suggestion is uncertain.
    """
    return per_value(table, options, _exceptions, "format", PROBABILITY, ("date", "time"))


def _exceptions(column: CodedColumn, held: list[int], counts: Codes, options: TableOptions) -> Iterator[Odd]:
    day_first = _day_first([column.values[k] for k in held])
    parsed: dict[int, tuple[Moment, Style]] = {}
    for k in held:
        found = parse_moment(column.values[k], day_first) or parse_moment(column.values[k], not day_first)
        if found:
            parsed[k] = found
    total = sum(int(counts[k]) for k in parsed)
    if total < options.min_rows:
        return
    styles = Counter[Style]()
    for k, (_, style) in parsed.items():
        styles[style] += int(counts[k])
    fits = {
        style: sum(int(counts[k]) for k, (m, _) in parsed.items() if write_moment(m, style) == column.values[k])
        for style, _ in styles.most_common(4)
    }
    style, share = max(fits.items(), key=lambda item: item[1])
    if share < LEADING * total:
        return
    writings = Counter[tuple[str, str, bool]]()
    for seen_style, count in styles.items():
        writings[_writing(seen_style)] += count
    example = next(column.values[k] for k, (m, _) in parsed.items() if write_moment(m, style) == column.values[k])
    for k, (moment, own) in parsed.items():
        text = write_moment(moment, style)
        if text is None or text == column.values[k]:
            continue
        small = moment.date is not None and max(moment.date[1:]) <= 12
        unsure = small and own.layout in ("mdy", "dmy") and (own.layout != style.layout or own.separator == ".")
        unsure = unsure or writings[_writing(own)] < max(REPEATS, HABIT * total) or _writing(own) == _writing(style)
        why = f"{share} of {total} are written like {example!r}, this is not: format"
        yield k, text, AMBIGUOUS if unsure else CONFIDENCE, why


def _writing(style: Style) -> tuple[str, str, bool]:
    """What makes a writing a habit and not a slip: padding may be lost by a single keystroke."""
    return style.layout, style.separator, bool(style.half)


def _day_first(texts: list[str]) -> bool:
    """Whether more texts are dates with the day first only than with the month first only."""
    month = sum(parse_moment(t) is not None and parse_moment(t, True) is None for t in texts)
    day = sum(parse_moment(t, True) is not None and parse_moment(t) is None for t in texts)
    return day > month
