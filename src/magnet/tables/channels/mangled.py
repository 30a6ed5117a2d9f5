"""Values that a spreadsheet took for something else: ``Jan-45`` for ``1-45``, ``1.23E+06`` for 1230517."""

from __future__ import annotations

import re
from collections.abc import Iterator

from magnet.tables.channels.base import Odd, per_value
from magnet.tables.coded import CodedColumn, CodedTable, Codes
from magnet.tables.findings import Finding
from magnet.tables.options import TableOptions
from magnet.tables.roles.dates import MONTHS
from magnet.tables.roles.patterns import number

_MONTH = "|".join(MONTHS)
MONTH_FIRST = re.compile(rf"(?P<month>{_MONTH})-(?P<other>\d{{1,4}})", re.I)
MONTH_LAST = re.compile(rf"(?P<other>\d{{1,2}})-(?P<month>{_MONTH})", re.I)
RANGE = re.compile(r"(?P<first>\d{1,6})(?P<mark>\s?[-–/]\s?)(?P<second>\d{1,6})")
EXPONENT = re.compile(r"[-+]?\d(?:\.\d+)?[eE]\+?\d{1,2}")
MONTHS_A_YEAR = 12
RARE = 0.4  # share of a column up to which months or exponents are exceptions
PROBABILITY = 0.95
ROUNDED = 0.5  # confidence in a number whose last digits are lost


def rewrite(table: CodedTable, options: TableOptions) -> Iterator[tuple[int, Finding]]:
    """Months among ranges or numbers, and exponents among numbers that are written out.

    ``Jan-45`` was ``1-45`` or ``45-1``: the ranges of the column tell which is the more frequent. The digits that an
    exponent cut off are lost, so the number is suggested, but not with confidence. Exponents of numbers that are too
    small or too large to be written out are no errors.
    """
    return per_value(table, options, _exceptions, "format", PROBABILITY)


def _exceptions(column: CodedColumn, held: list[int], counts: Codes, options: TableOptions) -> Iterator[Odd]:
    yield from _months(column, held, counts)
    yield from _exponents(column, held, counts)


def _months(column: CodedColumn, held: list[int], counts: Codes) -> Iterator[Odd]:
    values = column.values
    odd = {k: m for k in held if (m := MONTH_FIRST.fullmatch(values[k]) or MONTH_LAST.fullmatch(values[k]))}
    ranges = {k: m for k in held if (m := RANGE.fullmatch(values[k]))}
    plain = sum(int(counts[k]) for k in held if k in ranges or values[k].strip().isdigit())
    hits, total = sum(int(counts[k]) for k in odd), int(counts[held].sum())
    if not odd or hits > RARE * total or plain + hits < (1 - RARE) * total:
        return
    mark = max((m["mark"] for m in ranges.values()), key=[m["mark"] for m in ranges.values()].count, default="-")
    sizes = [(int(m["first"]), int(m["second"]), int(counts[k])) for k, m in ranges.items()]
    for k, m in odd.items():
        month, other = MONTHS.index(m["month"].lower()) + 1, int(m["other"])
        far = other > MONTHS_A_YEAR  # then the other number is no month, and only one reading has it there
        leads = sum(c for a, b, c in sizes if a <= MONTHS_A_YEAR and (b > MONTHS_A_YEAR) == far)
        follows = sum(c for a, b, c in sizes if b <= MONTHS_A_YEAR and (a > MONTHS_A_YEAR) == far)
        first, second = (month, other) if leads >= follows else (other, month)
        share = (max(leads, follows) + 0.5) / (leads + follows + 1)
        why = f"{plain} of {total} cells are numbers or ranges, {values[k]!r} is a month: format"
        yield k, f"{first}{mark}{second}", share, why


def _exponents(column: CodedColumn, held: list[int], counts: Codes) -> Iterator[Odd]:
    values = column.values
    odd = [k for k in held if EXPONENT.fullmatch(values[k].strip())]
    plain = [abs(x) for k in held if k not in odd and (x := number(values[k])) is not None for _ in range(counts[k])]
    hits = int(counts[odd].sum()) if odd else 0
    if not odd or hits > RARE * counts[held].sum() or len(plain) + hits < (1 - RARE) * counts[held].sum():
        return
    largest = max(plain, default=0.0)
    whole = all("." not in values[k] for k in held if k not in odd)
    for k in odd:
        value = number(values[k])
        if value is not None and 1 <= abs(value) <= 10 * largest:
            text = f"{value:.0f}" if whole else format(value, "f").rstrip("0").rstrip(".")
            yield k, text, ROUNDED, f"{len(plain)} numbers are written out, {values[k]!r} is not: format"
