"""Units and scales written into some cells of a column of numbers, or written in several ways."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from magnet.tables.channels.base import Odd, per_value
from magnet.tables.coded import CodedColumn, CodedTable, Codes
from magnet.tables.findings import Finding
from magnet.tables.options import TableOptions
from magnet.tables.roles.base import ROLES
from magnet.tables.roles.patterns import UNIT_NUMBER, disguised_blank, shortest, without_noise

SCALED = re.compile(r"\s*(?P<number>[-+]?\d+(?:\.\d+)?)\s*(?P<after>/\s?\d{1,4})\s*")
DURATION = re.compile(
    r"\s*(?:(?P<hours>\d{1,3})\s*h(?:(?:ou)?rs?)?\.?,?)\s*(?:and\s)?(?:(?P<minutes>\d{1,3})\s*m(?:in(?:ute)?s?)?\.?)?\s*",
    re.I,
)
MINUTES = re.compile(r"(?P<number>\d{1,4})(?P<after>\s*m(?:in(?:ute)?s?)?\.?)", re.I)
REPEATS = 3  # cells from which a way of writing is one
WRITINGS = 12  # more writings of a unit than this are words
ONE_WRITING = 0.95  # share from which a column with units has one writing
PROBABILITY, CONFIDENCE = 0.97, 0.95


def rewrite(table: CodedTable, options: TableOptions) -> Iterator[tuple[int, Finding]]:
    """Numbers with and without a unit in one column become alike.

    If at least half of the numbers are bare, the unit goes. If all have one but its writing varies, the rarer of two
    writings becomes the more frequent; with three or more the unit goes. ``1 hr. 30 min.`` among minutes becomes
    ``90 min``.
    """
    roles = [role for role in ROLES if role not in ("identifier", "phone", "date", "time")]
    return per_value(table, options, _exceptions, "unit", PROBABILITY, roles)


def _exceptions(column: CodedColumn, held: list[int], counts: Codes, options: TableOptions) -> Iterator[Odd]:
    live = [k for k in held if not disguised_blank(column.values[k])]
    filled = int(counts[live].sum()) if live else 0
    if filled >= options.min_rows:
        for code, text, why in _writings(column, live, counts, filled, options):
            yield code, text, CONFIDENCE, why


def _writings(
    column: CodedColumn, live: list[int], counts: Codes, filled: int, options: TableOptions
) -> Iterator[tuple[int, str, str]]:
    yield from _durations(column, live, counts, filled)
    parsed: dict[int, tuple[str, str]] = {}
    for k in live:
        match = UNIT_NUMBER.fullmatch(column.values[k]) or SCALED.fullmatch(column.values[k])
        if match:
            before = (match.groupdict().get("before") or "").strip()
            parsed[k] = match["number"], (before + "|" + (match["after"] or "").strip()).strip("|")
    if sum(int(counts[k]) for k in parsed) < options.format_share * filled:
        return
    bare = sum(int(counts[k]) for k, (_, unit) in parsed.items() if not unit)
    units: Counter[str] = Counter()
    for k, (_, unit) in parsed.items():
        if unit:
            units[unit] += int(counts[k])
    if not units or len(units) > WRITINGS:
        return
    leading, most = units.most_common(1)[0]
    total = bare + sum(units.values())
    if bare >= 0.5 * total:
        for k, (text, unit) in parsed.items():
            if unit and units[unit] >= REPEATS:
                yield k, without_noise(text), f"{bare} of {total} numbers have no unit, this has {unit!r}: unit"
    elif most < ONE_WRITING * sum(units.values()):
        common = [u for u, c in units.items() if c >= REPEATS and _stem(u) == _stem(leading)]
        if len(common) >= 3:
            for k, (text, unit) in parsed.items():
                if unit in common:
                    yield (
                        k,
                        shortest(without_noise(text)),
                        f"the unit is written in {len(common)} ways, here {unit!r}: unit",
                    )
        elif len(common) == 2:
            pattern = Counter(
                {column.values[k].replace(t, "\0", 1): int(counts[k]) for k, (t, u) in parsed.items() if u == leading}
            )
            shape = pattern.most_common(1)[0][0]
            for k, (text, unit) in parsed.items():
                if unit in common and unit != leading:
                    yield (
                        k,
                        shape.replace("\0", text),
                        f"{most} of {total} cells write {leading!r}, this {unit!r}: unit",
                    )


def _stem(unit: str) -> str:
    return unit.strip("|. ").casefold()[:1]


def _durations(column: CodedColumn, live: list[int], counts: Codes, filled: int) -> Iterator[tuple[int, str, str]]:
    """Hours and minutes among minutes."""
    minutes = Counter[str]()
    for k in live:
        match = MINUTES.fullmatch(column.values[k].strip())
        if match:
            minutes[match["after"]] += int(counts[k])
    if sum(minutes.values()) < 0.5 * filled:
        return
    writing = minutes.most_common(1)[0][0]
    for k in live:
        match = DURATION.fullmatch(column.values[k])
        if match:
            total = 60 * int(match["hours"]) + int(match["minutes"] or 0)
            yield (
                k,
                f"{total}{writing}",
                f"{sum(minutes.values())} of {filled} durations are in minutes, this is not: unit",
            )
