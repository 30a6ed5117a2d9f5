"""Values that a spreadsheet took for something else: ``Jan-45`` for ``1-45``, ``1.23E+06`` for 1230517."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from magnet.tables.channels.base import WrongText, text_test
from magnet.tables.coded import Texts
from magnet.tables.options import UNSURE
from magnet.tables.roles.dates import MONTHS
from magnet.tables.roles.patterns import number

_MONTH = "|".join(MONTHS)
MONTH_FIRST = re.compile(rf"(?P<month>{_MONTH})-(?P<other>\d{{1,4}})", re.I)
MONTH_LAST = re.compile(rf"(?P<other>\d{{1,2}})-(?P<month>{_MONTH})", re.I)
RANGE = re.compile(r"(?P<first>\d{1,6})(?P<mark>\s?[-–/]\s?)(?P<second>\d{1,6})")
EXPONENT = re.compile(r"[-+]?\d(?:\.\d+)?[eE]\+?\d{1,2}")
MONTHS_A_YEAR = 12
RARE = 0.4  # share of a column up to which months or exponents are exceptions
MAX_RATIO = 10  # of a number with an exponent to the largest other one; more is none of this column (not swept)


@text_test("format")
def rewrite(texts: Texts) -> Iterator[WrongText]:
    """Months among ranges or numbers, and exponents among numbers that are written out.

    ``Jan-45`` was ``1-45`` or ``45-1``: the ranges of the column show which is more frequent. The digits that an
    exponent cut off are lost, so the number is suggested, but not with confidence. Exponents of numbers that are too
    small or too large to be written out are not errors.
    """
    yield from _months(texts)
    yield from _exponents(texts)


def _months(texts: Texts) -> Iterator[WrongText]:
    values, total = texts.column.values, texts.total
    odd, ranges = texts.matching(MONTH_FIRST, MONTH_LAST), texts.matching(RANGE)
    plain = texts.rows(ranges) + texts.only(lambda t: t.strip().isdigit()).total
    hits = texts.rows(odd)
    if not odd or hits > RARE * total or plain + hits < (1 - RARE) * total:
        return
    mark = Counter(m["mark"] for m in ranges.values()).most_common(1)[0][0] if ranges else "-"
    sizes = [(int(m["first"]), int(m["second"]), int(texts.counts[k])) for k, m in ranges.items()]
    for k, m in odd.items():
        month, other = MONTHS.index(m["month"].lower()) + 1, int(m["other"])
        far = other > MONTHS_A_YEAR  # then the other number is not a month, and only one reading is possible
        leads = sum(c for a, b, c in sizes if a <= MONTHS_A_YEAR and (b > MONTHS_A_YEAR) == far)
        follows = sum(c for a, b, c in sizes if b <= MONTHS_A_YEAR and (a > MONTHS_A_YEAR) == far)
        first, second = (month, other) if leads >= follows else (other, month)
        share = (max(leads, follows) + 0.5) / (leads + follows + 1)
        why = f"{plain} of {total} cells are numbers or ranges, {values[k]!r} is a month: format"
        yield k, f"{first}{mark}{second}", share, why


def _exponents(texts: Texts) -> Iterator[WrongText]:
    odd = texts.matching(EXPONENT)
    if not odd or texts.rows(odd) > RARE * texts.total:
        return
    others = [(text, rows, number(text)) for k, text, rows in texts if "e" not in text.lower()]
    plain = sum(rows for _, rows, value in others if value is not None)
    if plain + texts.rows(odd) < (1 - RARE) * texts.total:
        return
    largest = max((abs(value) for *_, value in others if value is not None), default=0.0)
    for k, match in odd.items():
        value = number(match.string)
        if value is not None and 1 <= abs(value) <= MAX_RATIO * largest:
            text = format(value, "f").rstrip("0").rstrip(".")
            yield k, text, UNSURE, f"{plain} numbers are in plain notation, {match.string!r} is not: format"
