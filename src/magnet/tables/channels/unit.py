"""Units and scales written into some cells of a column of numbers, or written in several ways."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from magnet.tables.channels.base import WrongText, text_test
from magnet.tables.coded import Texts
from magnet.tables.options import FEW_ROWS, FORMAT_SHARE, REPEATS, SURE, UNSURE
from magnet.tables.roles.base import roles_but
from magnet.tables.roles.patterns import UNIT_NUMBER, disguised_blank, shortest, without_noise

SCALED = re.compile(r"\s*(?P<number>[-+]?\d+(?:\.\d+)?)\s*(?P<after>/\s?\d{1,4})\s*")
DURATION = re.compile(
    r"\s*(?:(?P<hours>\d{1,3})\s*h(?:(?:ou)?rs?)?\.?,?)\s*(?:and\s)?(?:(?P<minutes>\d{1,3})\s*m(?:in(?:ute)?s?)?\.?)?\s*",
    re.I,
)
MINUTES = re.compile(r"(?P<number>\d{1,4})(?P<after>\s*m(?:in(?:ute)?s?)?\.?)", re.I)
WRITINGS = 12  # more writings of a unit than this are words
ONE_WRITING = 0.95  # share from which a column with units has one writing
APART = re.compile(r"\d\s+[^\W\d_]|[^\w\s.,+-]")  # a unit set apart, or a sign; the letter of 12b names something


@text_test("unit", roles_but("identifier", "phone", "date", "time"))
def rewrite(texts: Texts) -> Iterator[WrongText]:
    """Harmonize numbers with and without a unit in one column.

    If at least half of the numbers are bare, the unit goes. If all have one but its writing varies, the rarer of two
    writings becomes the more frequent; with three or more the unit goes. ``1 hr. 30 min.`` among minutes becomes
    ``90 min``.
    """
    texts = texts.only(lambda text: not disguised_blank(text))
    if texts.total >= FEW_ROWS:
        for test in (_durations, _units):
            for code, text, confidence, why in test(texts):
                yield code, text, confidence, f"{why}: unit"


def _units(texts: Texts) -> Iterator[WrongText]:
    parsed: dict[int, tuple[str, str]] = {}
    units: Counter[str] = Counter()
    for k, match in texts.matching(UNIT_NUMBER, SCALED).items():
        before = (match.groupdict().get("before") or "").strip()
        unit = (before + "|" + (match["after"] or "").strip()).strip("|")
        parsed[k] = match["number"], unit
        units[unit] += int(texts.counts[k])
    total, bare = units.total(), units.pop("", 0)
    if total < FORMAT_SHARE * texts.total or not units or len(units) > WRITINGS:
        return
    leading, most = units.most_common(1)[0]
    if bare >= 0.5 * total:
        for k, (text, unit) in parsed.items():
            sure = units[unit] >= REPEATS
            if unit and (sure or APART.search(texts.column.values[k])):
                why = f"{bare} of {total} numbers have no unit, this one has {unit!r}"
                yield k, without_noise(text), SURE if sure else UNSURE, why
    elif most < ONE_WRITING * units.total():
        common = [u for u, c in units.items() if c >= REPEATS and _stem(u) == _stem(leading)]
        if len(common) >= 3:
            for k, (text, unit) in parsed.items():
                if unit in common:
                    why = f"the unit is spelled in {len(common)} ways, here {unit!r}"
                    yield k, shortest(without_noise(text)), SURE, why
        elif len(common) == 2:
            shapes: Counter[str] = Counter()
            for k, (text, unit) in parsed.items():
                if unit == leading:
                    shapes[texts.column.values[k].replace(text, "\0", 1)] += int(texts.counts[k])
            shape = shapes.most_common(1)[0][0]
            for k, (text, unit) in parsed.items():
                if unit in common and unit != leading:
                    why = f"{most} of {total} cells have {leading!r}, this one {unit!r}"
                    yield k, shape.replace("\0", text), SURE, why


def _stem(unit: str) -> str:
    return unit.strip("|. ").casefold()[:1]


def _durations(texts: Texts) -> Iterator[WrongText]:
    """Hours and minutes among minutes."""
    minutes = Counter[str]()
    for k, match in texts.matching(MINUTES).items():
        minutes[match["after"]] += int(texts.counts[k])
    if minutes.total() < 0.5 * texts.total:
        return
    writing = minutes.most_common(1)[0][0]
    for k, match in texts.matching(DURATION).items():
        total = 60 * int(match["hours"]) + int(match["minutes"] or 0)
        why = f"{minutes.total()} of {texts.total} durations are in minutes, this one is not"
        yield k, f"{total}{writing}", SURE, why
