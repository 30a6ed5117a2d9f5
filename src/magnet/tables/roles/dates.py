"""Dates and times in their many writings: read one, and write it in the style of another."""

from __future__ import annotations

import datetime as dt
import re
from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

CENTURY = 50  # years of two digits below are of this century
FIRST_YEAR, LAST_YEAR = 1000, 2999  # others of four digits are no years
SHORTEST, LONGEST = 4, 40  # characters of a date or time
DATE_SHARE = 0.5  # of the filled cells that must be dates or times; leaves room for many misspelled ones
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ENDINGS = ("uary", "ruary", "ch", "il", "", "e", "y", "ust", "tember", "ober", "ember", "ember")
LONG_MONTHS = tuple(month + ending for month, ending in zip(MONTHS, _ENDINGS, strict=True))
_NAME = rf"(?P<name>(?:{'|'.join(MONTHS)})[a-z]*)\.?"
TIME = re.compile(
    r"(?<![\d:])(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d+)?)?"
    r"(?P<gap>\s?)(?P<half>[ap]\.?\s?m\b\.?|[ap](?=[^a-z]|$|dec|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov))?",
    re.I,
)
MORE = re.compile(r"[+.]?\d+(?:\s*[^\W\d]+)?")  # beside a time: days to add (+1, +1 day), a fraction
ZONE = re.compile(r"\s*(?:\.\d+)?\s*(?:[+-]\d{2}(?::?\d{2})?|Z|UTC|GMT)?", re.I)
DATES = tuple(
    (layout, re.compile(pattern, re.I))
    for layout, pattern in (
        ("ymd", r"(?P<year>\d{4})(?P<sep>[-/.])(?P<month>\d{1,2})(?P=sep)(?P<day>\d{1,2})"),
        ("xxy", r"(?P<first>\d{1,2})(?P<sep>[-/.])(?P<second>\d{1,2})(?P=sep)(?P<year>\d{4}|\d{2})"),
        ("compact", r"(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})"),
        ("bdy", _NAME + r"(?P<sep>[\s-])(?P<day>\d{1,2})(?:st|nd|rd|th)?,?[\s-](?P<year>\d{4})"),
        ("dby", r"(?P<day>\d{1,2})(?P<sep>[\s-])" + _NAME + r"[\s-](?P<year>\d{4}|\d{2})"),
    )
)


@dataclass(frozen=True)
class Style:
    """How a moment is written: the layout of the date, its separator, padding, the name of the month (``JAN``), and
    the writing of the time."""

    layout: str = ""
    separator: str = ""
    padded: bool = False
    long_year: bool = True
    long_month: bool = False
    upper_month: bool = False
    half: str = ""
    gap: str = ""
    seconds: bool = False
    padded_hour: bool = False
    between: str = ""
    tail: str = ""


@dataclass(frozen=True)
class Moment:
    """A date (year, month, day), a time (hour, minute, second), or both."""

    date: tuple[int, int, int] | None
    time: tuple[int, int, int] | None


def _date(match: re.Match[str], layout: str, day_first: bool) -> tuple[tuple[int, int, int], Style] | None:
    parts = match.groupdict()
    year = int(parts["year"])
    if len(parts["year"]) == 2:
        year += 2000 if year < CENTURY else 1900
    separator = parts.get("sep") or ""
    texts: tuple[str, ...]
    if layout == "xxy":
        first, second = int(parts["first"]), int(parts["second"])
        month, day = (second, first) if day_first else (first, second)
        texts = (parts["first"], parts["second"])
        layout = "dmy" if day_first else "mdy"
    elif layout in ("bdy", "dby"):
        month, day = MONTHS.index(parts["name"][:3].lower()) + 1, int(parts["day"])
        texts = (parts["day"],)
    else:
        month, day = int(parts["month"]), int(parts["day"])
        texts = (parts["month"], parts["day"])
        if layout == "ymd" and day <= 12 < month:  # 2019-24-06
            month, day, layout = day, month, "ydm"
    if not (1 <= month <= 12 and FIRST_YEAR <= year <= LAST_YEAR and 1 <= day <= monthrange(year, month)[1]):
        return None
    padded = all(len(t) == 2 for t in texts)
    name = parts.get("name") or ""
    long_month = len(name) > 3 and month != 5
    return (year, month, day), Style(layout, separator, padded, len(parts["year"]) == 4, long_month, name.isupper())


@lru_cache(maxsize=500_000)
def parse_moment(text: str, day_first: bool = False) -> tuple[Moment, Style] | None:
    """Read a date, a time or both, and how they are written; None if the text is neither.

    Args:
        text: the text.
        day_first: 3/4/2020 is the third of April (default: ``False``).

    Example:
        >>> parse_moment("12/02/2011 7:10 a.m.")[0]
        Moment(date=(2011, 12, 2), time=(7, 10, 0))
        >>> parse_moment("2011-02-30") is None
        True
    """
    bare = text.strip()
    if not SHORTEST <= len(bare) <= LONGEST or not any(c.isdigit() for c in bare):
        return None
    if bare.count(".") == 1 and bare.replace(".", "").lstrip("-").isdigit():
        return None  # a decimal number, as most texts of a table of numbers are
    clock = TIME.search(bare)
    time: tuple[int, int, int] | None = None
    rest, clock_style = bare, dict[str, Any]()
    if clock:
        hour, minute, second = int(clock["hour"]), int(clock["minute"]), int(clock["second"] or 0)
        half = clock["half"] or ""
        if hour > 23 or minute > 59 or second > 59 or (half and not 1 <= hour <= 12):
            return None
        if half:
            hour = hour % 12 + (12 if half[0] in "pP" else 0)
        time = (hour, minute, second)
        clock_style = {"half": half, "gap": clock["gap"] if half else ""}
        clock_style |= {
            "seconds": clock["second"] is not None,
            "padded_hour": len(clock["hour"]) == 2 and clock["hour"][0] == "0",
        }
        before = bare[: clock.start()]
        tail = bare[clock.end() :] if half else bare[clock.end() - len(clock["gap"]) :]
        rest = before.strip(" -,Tt") if before.strip(" -,Tt") else tail.strip(" -,()")
    if not rest:
        return Moment(None, time), Style(**clock_style)
    for layout, pattern in DATES:
        match = pattern.fullmatch(rest)
        found = _date(match, layout, day_first) if match else None
        if found and (clock is None or ZONE.fullmatch(tail) or bare.endswith(rest)):
            date, written = found
            if clock is None:
                return Moment(date, None), written
            between = bare[len(rest) : clock.start()] if bare.startswith(rest) else ""
            return Moment(date, time), replace(written, **clock_style, between=between or " ", tail=tail)
    if clock is None or (not day_first and (other := parse_moment(text, True)) and other[0].date):
        return None  # 28/2/2021 7:10 is no time behind some words
    return Moment(None, time), Style(**clock_style, between=rest)


def is_moment(text: str) -> bool:
    """Whether a text is a date or a time, with the day or the month first."""
    return parse_moment(text) is not None or parse_moment(text, True) is not None


def belongs_to_time(beside: str) -> bool:
    """Whether what stands beside a time is part of it: a zone, days to add, a fraction.

    Example:
        >>> [belongs_to_time(text) for text in ("UTC", "+1 day", ".4", "Dec 1", "Estimated", "")]
        [True, True, True, False, False, False]
    """
    return bool(beside and (MORE.fullmatch(beside) or ZONE.fullmatch(beside)))


def has_more(style: Style) -> bool:
    """Whether a time without a date has such a part, which its moment does not hold."""
    return not style.layout and belongs_to_time(style.between)


def impossible_date(text: str) -> bool:
    """Whether a text is written like a date whose month or day does not exist; zeros stand for unknown parts.

    Example:
        >>> [impossible_date(t) for t in ("2022-13-45", "30/2/2021 7:10", "2022-05-00", "9999-12-31", "2022-12-31")]
        [True, True, False, False, False]
    """
    bare = text.strip()
    for layout, pattern in DATES:
        match = pattern.fullmatch(bare) or pattern.fullmatch(re.split("[ T]", bare)[0])
        if match:
            parts = match.groupdict()
            known = len(parts["year"]) == 2 or FIRST_YEAR <= int(parts["year"]) <= LAST_YEAR
            known &= all(int(parts.get(name) or 1) for name in ("first", "second", "month", "day"))
            return known and not (_date(match, layout, False) or _date(match, layout, True))
    return False


def has_day_first(texts: Iterable[str]) -> bool:
    """Whether most of the dates that can be read in one order of day and month only have the day first.

    Example:
        >>> has_day_first(["3/4/2020", "28/2/2021"]), has_day_first(["3/4/2020", "2/28/2021"])
        (True, False)
    """
    votes = 0
    for text in texts:
        month, day = parse_moment(text), parse_moment(text, True)
        votes += (month is None) - (day is None)
    return votes > 0


def day_number(text: str, day_first: bool = False) -> int | None:
    """The day that a text names, counted from the year 1; None if it is not a date."""
    parsed = parse_moment(text, day_first) or parse_moment(text, True)
    return dt.date(*parsed[0].date).toordinal() if parsed and parsed[0].date else None


def write_moment(moment: Moment, style: Style) -> str | None:
    """Write a moment in a style; None if the moment lacks what the style needs.

    Example:
        >>> moment, _ = parse_moment("12/02/2011 7:10 a.m.")
        >>> write_moment(moment, parse_moment("11:05 p.m.")[1])
        '7:10 a.m.'
    """
    out = ""
    if style.layout:
        if moment.date is None:
            return None
        year, month, day = moment.date
        pad = "02d" if style.padded or style.layout == "compact" else "d"
        y = f"{year:04d}" if style.long_year else f"{year % 100:02d}"
        name = (LONG_MONTHS if style.long_month else MONTHS)[month - 1]
        name = name.upper() if style.upper_month else name.capitalize()
        m, d, s = format(month, pad), format(day, pad), style.separator
        out = {
            "ymd": f"{y}{s}{m}{s}{d}",
            "ydm": f"{y}{s}{d}{s}{m}",
            "mdy": f"{m}{s}{d}{s}{y}",
            "dmy": f"{d}{s}{m}{s}{y}",
            "compact": f"{y}{m}{d}",
            "bdy": f"{name} {d}, {y}",
            "dby": f"{d}{s}{name}{s}{y}",
        }[style.layout]
    if style.half or style.seconds or not style.layout or style.between:
        if moment.time is None:
            return None
        hour, minute, second = moment.time
        shown = hour % 12 or 12 if style.half else hour
        clock = f"{shown:02d}" if style.padded_hour else f"{shown}"
        clock += f":{minute:02d}" + (f":{second:02d}" if style.seconds else "")
        if style.half:
            letter = "a" if hour < 12 else "p"
            clock += style.gap + (letter.upper() if style.half[0].isupper() else letter) + style.half[1:]
        out = f"{out}{style.between}{clock}{style.tail}" if style.layout else clock
    return out
