"""Dates and times in several writings within one column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from magnet.tables.channels.base import WrongText, text_test
from magnet.tables.coded import Texts
from magnet.tables.options import FEW_ROWS, REPEATS, SURE, UNSURE
from magnet.tables.roles.dates import Style, parse_moment, write_moment

LEADING = 0.6  # share of the moments that one writing needs to be the column's own
MAX_STYLES = 4  # most frequent writings that are offered for a cell (not swept)
HABIT = 0.02  # share of rows from which another writing is a habit and not a slip


@text_test("format", ("date", "time"))
def rewrite(texts: Texts) -> Iterator[WrongText]:
    """Moments in a rarer writing take that of the majority: ``2015-03-04`` among ``3/4/2015``.

    Which of two numbers is the day follows from the values that allow one reading only. Where the writing itself does
    not say, the suggestion is uncertain.
    """
    day_first = _day_first([text for _, text, _ in texts])
    found = [(k, s, n, parse_moment(s, day_first) or parse_moment(s, not day_first)) for k, s, n in texts]
    parsed = [(k, s, n, *both) for k, s, n, both in found if both]
    total = sum(n for _, _, n, _, _ in parsed)
    if total < FEW_ROWS:
        return
    styles, writings = Counter[Style](), Counter[tuple[str, str, bool]]()
    for _, _, rows, _, own in parsed:
        styles[own] += rows
        writings[_writing(own)] += rows
    fits = {
        style: sum(rows for _, text, rows, moment, _ in parsed if write_moment(moment, style) == text)
        for style, _ in styles.most_common(MAX_STYLES)
    }
    style, share = max(fits.items(), key=lambda item: item[1])
    if share < LEADING * total:
        return
    example = next(text for _, text, _, moment, _ in parsed if write_moment(moment, style) == text)
    for k, observed, _, moment, own in parsed:
        text = write_moment(moment, style)
        if text is None or text == observed:
            continue
        small = moment.date is not None and max(moment.date[1:]) <= 12
        # day and month may be exchanged, or a character may be lost
        unsure = small and own.layout in ("mdy", "dmy") and (own.layout != style.layout or own.separator == ".")
        unsure = unsure or writings[_writing(own)] < max(REPEATS, HABIT * total) or _writing(own) == _writing(style)
        why = f"{share} of {total} are written like {example!r}, this one is not: format"
        yield k, text, UNSURE if unsure else SURE, why


def _writing(style: Style) -> tuple[str, str, bool]:
    """What makes a writing a habit and not a slip: padding may be lost by a single keystroke."""
    return style.layout, style.separator, bool(style.half)


def _day_first(texts: list[str]) -> bool:
    """Whether more texts are dates with the day first only than with the month first only."""
    month = sum(parse_moment(t) is not None and parse_moment(t, True) is None for t in texts)
    day = sum(parse_moment(t, True) is not None and parse_moment(t) is None for t in texts)
    return day > month
