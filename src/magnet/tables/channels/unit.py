"""Units and scales written into some cells of a column of numbers, or written in several ways."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

import numpy as np

from magnet.tables.channels.base import WrongText, text_test
from magnet.tables.coded import Texts
from magnet.tables.numbers.writing import NumberStyle, read_numbers
from magnet.tables.options import FEW_ROWS, FORMAT_SHARE, REPEATS, SURE, UNSURE
from magnet.tables.roles.base import roles_but
from magnet.tables.roles.patterns import UNIT_NUMBER, disguised_blank, number, shortest, without_noise

SCALED = re.compile(r"\s*(?P<number>[-+]?\d+(?:\.\d+)?)\s*(?P<after>/\s?\d{1,4})\s*")
DURATION = re.compile(
    r"\s*(?:(?P<hours>\d{1,3})\s*h(?:(?:ou)?rs?)?\.?,?)\s*(?:and\s)?(?:(?P<minutes>\d{1,3})\s*m(?:in(?:ute)?s?)?\.?)?\s*",
    re.I,
)
MINUTES = re.compile(r"(?P<number>\d{1,4})(?P<after>\s*m(?:in(?:ute)?s?)?\.?)", re.I)
MINUTES_AN_HOUR = 60
WRITINGS = 12  # more writings of a unit than this are words
ONE_WRITING = 0.95  # share from which a column with units has one writing
LEADING = 0.6  # share of one writing from which it is the column's own
RARE = 0.1  # numbers without a unit per number with one; more are another kind of number
OTHER_SIZE = 3.0  # standard errors of the mean rank from which numbers with a unit are larger or smaller than others
WORD = re.compile(r"[^\W\d_]+")
APART = re.compile(r"\d\s+[^\W\d_]|[^\w\s.,+-]")  # a unit set apart, or a sign; the letter of 12b names something
NAMES = {
    name: symbol
    for symbol, names in {
        "oz": ("ounce",), "lb": ("pound",), "g": ("gram",), "kg": ("kilogram", "kilo"), "m": ("meter", "metre"),
        "km": ("kilometer", "kilometre"), "ft": ("foot", "feet"), "mi": ("mile",), "l": ("liter", "litre"),
        "h": ("hour", "hr"), "min": ("minute",),
        "s": ("second", "sec"), "d": ("day",), "%": ("percent", "pct"), "eur": ("euro", "€"), "usd": ("dollar", "$"),
        "gbp": ("£",), "p": ("page", "pg"), "pc": ("piece",),
    }.items()
    for name in names
}  # fmt: skip
SYMBOLS = {*NAMES.values(), "mg", "ml", "cl", "cm", "mm", "w", "kw", "kwh", "v", "k"}  # may be next to the number


@text_test("unit", roles_but("identifier", "phone", "date", "time"))
def rewrite(texts: Texts) -> Iterator[WrongText]:
    """Harmonize numbers with and without a unit in one column.

    If at least half of the numbers are bare, the unit goes. If most have one, other writings of it and numbers without
    it take the most frequent writing; with three or more frequent writings the unit goes. Different units are never
    exchanged (``mg``, ``mcg``). ``1 hr. 30 min.`` among minutes becomes ``90 min``.
    """
    texts = texts.only(lambda text: not disguised_blank(text))
    if texts.total >= FEW_ROWS:
        for test in (_durations, _units):
            for code, text, confidence, why in test(texts):
                yield code, text, confidence, f"{why}: unit"


def _units(texts: Texts) -> Iterator[WrongText]:
    parsed = {k: _split(match) for k, match in texts.matching(UNIT_NUMBER, SCALED).items()}
    scales = {unit for _, unit in parsed.values() if unit.startswith("/")}
    if len(scales) > 1:  # 07/2023, 2012/13 and 3/4 are no numbers with a unit
        parsed = {k: each for k, each in parsed.items() if each[1] not in scales}
    units = texts.tally_codes({k: unit for k, (_, unit) in parsed.items()})
    total, bare = units.total(), units.pop("", 0)
    if total < FORMAT_SHARE * texts.total or not units or len(units) > WRITINGS:
        return
    test = _superfluous if bare >= 0.5 * total else _rewritten
    yield from test(texts, parsed, units, bare)


def _split(match: re.Match[str]) -> tuple[str, str]:
    before, after = match.groupdict().get("before") or "", match["after"] or ""
    return match["number"], f"{before.strip()}|{after.strip()}".strip("|")


def _superfluous(
    texts: Texts, parsed: dict[int, tuple[str, str]], units: Counter[str], bare: int
) -> Iterator[WrongText]:
    """Units among bare numbers go. Numbers of another size than the bare ones, or with another unit than the header
    names, are in another unit than these, and are not written without theirs."""
    values = texts.column.values
    bare_numbers = [text for text, unit in parsed.values() if not unit]
    plain = np.sort(read_numbers(bare_numbers))
    names = {unit: _canonical(unit) for unit in units}
    glued = {names[unit] for k, (_, unit) in parsed.items() if unit and not APART.search(values[k])}
    labels = set() if len(glued) == 1 and glued <= SYMBOLS else glued  # 12a and 12b name something
    for name in set(names.values()) - labels:
        own = {k: text for k, (text, unit) in parsed.items() if unit and names[unit] == name}
        rows = texts.rows(own)
        ranks = np.searchsorted(plain, read_numbers(list(own.values()))) / len(plain) - 0.5
        same_size = abs(float(ranks.mean())) * np.sqrt(12 * len(own)) < OTHER_SIZE  # uniform ranks vary by 1 / 12
        for k, text in own.items():
            why = f"{bare} of {bare + units.total()} numbers have no unit, this one has {parsed[k][1]!r}"
            phrase = len(own) == 1 and set(own.values()).isdisjoint(bare_numbers)  # 12 pieces, always
            sure = rows >= REPEATS and same_size and not phrase and not _names_another(texts.column.name, name)
            yield k, without_noise(text), SURE if sure else UNSURE, why


def _rewritten(texts: Texts, parsed: dict[int, tuple[str, str]], units: Counter[str], bare: int) -> Iterator[WrongText]:
    """Numbers with the column's unit in another writing, or without it, take the leading writing; where three writings
    are frequent, none of them is the column's own and the unit goes."""
    values, leading = texts.column.values, units.most_common(1)[0][0]
    alike = {unit for unit in units if _canonical(unit) == _canonical(leading)}
    common = [unit for unit in alike if units[unit] >= REPEATS]
    if len(common) >= 3 and units[leading] < ONE_WRITING * units.total():
        for k, (text, unit) in parsed.items():
            if unit in common:
                why = f"the unit is spelled in {len(common)} ways, here {unit!r}"
                yield k, shortest(without_noise(text)), SURE, why
        return
    shapes = {k: values[k].replace(text, "\0", 1) for k, (text, unit) in parsed.items() if unit == leading}
    shape, most = texts.tally_codes(shapes).most_common(1)[0]
    if most < LEADING * (units.total() + bare):
        return
    own = [text for text, unit in parsed.values() if unit == leading]
    clear = APART.search(shape.replace("\0", "0")) is not None or _canonical(leading) in SYMBOLS
    sizes, style = [number(text) or 0.0 for text in own], NumberStyle.of(own)
    odd = {k: shape.replace("\0", text) for k, (text, unit) in parsed.items() if unit in alike}
    for k, (text, unit) in parsed.items():
        if (
            not unit
            and not (text[0] == "0" and text[1:2].isdigit())
            and clear
            and bare <= RARE * units.total()
            and min(sizes) <= (number(text) or 0.0) <= max(sizes)
        ):
            odd[k] = shape.replace("\0", style.write(Decimal(text.replace(",", "")), exact=True))
    odd = {k: text for k, text in odd.items() if text != values[k]}
    confidence = SURE if texts.rows(odd) >= REPEATS else UNSURE
    for k, text in odd.items():
        example = shape.replace("\0", own[0])
        yield k, text, confidence, f"{most} of {units.total() + bare} numbers are written like {example!r}"


def _canonical(unit: str) -> str:
    """The symbol of a unit, however it is written: ``oz`` for ``OZ.``, ``ounces`` and ``oz. Can``."""
    words = unit.casefold().split()
    word = words[0].strip(".") if words else ""
    return NAMES.get(word.rstrip("s"), word.rstrip("s") or word)


def _names_another(header: str, unit: str) -> bool:
    """Whether a header names units (``height_m``), and not this one (``ft``)."""
    named = {_canonical(word) for word in WORD.findall(header)} & SYMBOLS
    return bool(named) and not named.issuperset(unit.split("/"))


def _durations(texts: Texts) -> Iterator[WrongText]:
    """Hours and minutes among minutes."""
    written = texts.matching(MINUTES)
    minutes = texts.tally_codes({k: match["after"] for k, match in written.items()})
    if minutes.total() < 0.5 * texts.total or max(int(match["number"]) for match in written.values()) < MINUTES_AN_HOUR:
        return  # 45 min and 1 h 15 min are one way to write durations
    writing = minutes.most_common(1)[0][0]
    for k, match in texts.matching(DURATION).items():
        total = MINUTES_AN_HOUR * int(match["hours"]) + int(match["minutes"] or 0)
        why = f"{minutes.total()} of {texts.total} durations are in minutes, this one is not"
        yield k, f"{total}{writing}", SURE, why
