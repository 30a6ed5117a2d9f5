"""Dates and times in several writings within one column."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from magnet.tables.channels.base import WrongText, text_test
from magnet.tables.coded import Texts
from magnet.tables.options import FEW_ROWS, REPEATS, SURE, UNSURE
from magnet.tables.roles.dates import Moment, Style, has_more, parse_moment, write_moment

TUKEY = 1.5  # interquartile ranges beyond the quartiles within which dates lie (Tukey 1977)
DIGITS = re.compile(r"\d+")
LEADING = 0.6  # share of the moments that one writing needs to be the column's own
MAX_STYLES = 4  # most frequent writings that are offered for a cell (not swept)
HABIT = 0.02  # share of rows from which another writing is a habit and not a slip
PER_PART = 0.1  # different dates per row up to which dates before times say nothing, as those of one day's flights


@text_test("format", ("date", "time"))
def rewrite(texts: Texts) -> Iterator[WrongText]:
    """Moments in a rarer writing take that of the majority: ``2015-03-04`` among ``3/4/2015``.

    Which of two numbers is the day follows from the values that allow one reading only, and from those of which one
    reading only lies among the other dates. The suggestion is as certain as these agree (rule of succession). It is
    uncertain where it drops a date that differs from row to row, or adds seconds that do. Time zones, fractions of
    seconds and days to add (``05:10+1``) belong to the value and stay as they are.
    """
    order = _Order(texts)
    parsed = [
        (k, text, rows, *both) for k, text, rows in texts if (both := order.parse(text)) and not has_more(both[1])
    ]
    total = sum(rows for _, _, rows, _, _ in parsed)
    if total < FEW_ROWS:
        return
    styles, writings = Counter[Style](), Counter[tuple[str, ...]]()
    for _, _, rows, _, own in parsed:
        styles[own] += rows
        writings[_writing(own)] += rows
    fits = {
        style: sum(rows for _, text, rows, moment, own in parsed if _write(moment, own, style) == text)
        for style, _ in styles.most_common(MAX_STYLES)
    }
    style, share = max(fits.items(), key=lambda item: item[1])
    if share < LEADING * total:
        return
    usual = [each for each in parsed if _write(*each[3:], style) == each[1]]
    seconds = {moment.time[2] for _, _, _, moment, _ in usual if moment.time}
    odd = [each for each in parsed if _write(*each[3:], style) not in (None, each[1])]
    dropped: dict[tuple[str, ...], set[object]] = defaultdict(set)
    for _, _, _, moment, own in odd:
        dropped[_writing(own)].add(_dropped(moment, own, style))
    for k, _, _, moment, own in odd:
        sure = writings[_writing(own)] >= max(REPEATS, HABIT * total) and _writing(own) != _writing(style)
        sure &= len(dropped[_writing(own)]) <= max(2, PER_PART * writings[_writing(own)])
        sure &= own.seconds or not style.seconds or len(seconds) == 1
        confidence = min(SURE, order.certainty(moment, own, style)) if sure else UNSURE
        why = f"{share} of {total} are written like {usual[0][1]!r}, this one is not: format"
        yield k, _write(moment, own, style), confidence, why


def _write(moment: Moment, own: Style, style: Style) -> str | None:
    """A moment in another style, with its own time zone and fraction of a second."""
    return write_moment(moment, replace(style, tail=own.tail))


def _writing(style: Style) -> tuple[str, ...]:
    """What makes a writing a habit and not a slip: padding may be lost by a single keystroke."""
    words = "" if style.layout else DIGITS.sub("0", style.between)
    return style.layout, style.separator, "half" if style.half else "", words


def _dropped(moment: Moment, own: Style, style: Style) -> object:
    """The date, or the words beside a time, that another style does not write; None for none."""
    if style.layout:
        return None
    return moment.date or own.between.strip() or None


def _ordinal(moment: Moment) -> int:
    return dt.date(*moment.date).toordinal() if moment.date else 0


class _Order:
    """Whether the day or the month comes first in dates such as 3/4/2015, by their separator."""

    def __init__(self, texts: Texts) -> None:
        self._votes: dict[str, tuple[int, int]] = {}  # month first, day first
        unclear: list[tuple[str, int, int]] = []
        known: list[int] = []
        for _, text, rows in texts:
            month, day = parse_moment(text), parse_moment(text, True)
            if month and day and month[0].date != day[0].date:
                unclear.append((month[1].separator, _ordinal(month[0]), _ordinal(day[0])))
            elif (one := month or day) and one[0].date:
                known += [_ordinal(one[0])] * rows
                if not (month and day):
                    self._vote(one[1].separator, day is not None)
        if len(known) < FEW_ROWS:
            return
        low, high = np.quantile(known, [0.25, 0.75])
        fence = TUKEY * (high - low)
        for separator, *days in unclear:
            by_month, by_day = (low - fence <= each <= high + fence for each in days)
            if by_month != by_day:
                self._vote(separator, by_day)

    def _vote(self, separator: str, day_first: bool) -> None:
        month, day = self._votes.get(separator, (0, 0))
        self._votes[separator] = month + (not day_first), day + day_first

    def _day_first(self, separator: str) -> bool:
        votes = [self._votes[separator]] if separator in self._votes else self._votes.values()
        return sum(day - month for month, day in votes) > 0

    def parse(self, text: str) -> tuple[Moment, Style] | None:
        """Read a text in the order of its separator, or in the other one if that is the only possible one."""
        found = parse_moment(text) or parse_moment(text, True)
        if not found or found[1].layout not in ("mdy", "dmy"):
            return found
        return parse_moment(text, self._day_first(found[1].separator)) or found

    def certainty(self, moment: Moment, own: Style, style: Style) -> float:
        """Probability that day and month of a moment are not exchanged."""
        clear = moment.date is None or max(moment.date[1:]) > 12 or moment.date[1] == moment.date[2]
        if not style.layout or clear or own.layout not in ("mdy", "dmy"):
            return 1.0
        if own.layout == style.layout and own.separator != ".":
            return 1.0
        votes = self._votes.get(own.separator, (0, 0))
        return (max(votes) + 1) / (sum(votes) + 2)
