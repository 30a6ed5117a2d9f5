"""Numbers written with or without thousands separators, trailing decimals and leading zeros, or with another decimal
mark, in one column."""

from __future__ import annotations

import re
from collections.abc import Iterator

from magnet.tables.channels.base import WrongText, text_test
from magnet.tables.coded import Texts
from magnet.tables.options import FEW_ROWS, SURE

WHOLE = re.compile(r"[-+]?\d+")
POINT_ZERO = re.compile(r"([-+]?\d+)\.0+")
FRACTION = re.compile(r"[-+]?\d*\.\d*[1-9]\d*")
COMMAS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
POINT = re.compile(r"[-+]?\d[\d,]*\.(?P<decimals>\d+)")
DECIMAL_COMMA = re.compile(r"([-+]?\d{1,3}(?:\.\d{3})+|[-+]?\d+),(?P<decimals>\d+)")
LARGE = re.compile(r"([-+]?\d{4,})(\.\d+)?")
ZIP = re.compile(r"zip|postal|postcode|plz|fips", re.I)
WIDTH = 0.7  # share of one width from which codes have a fixed width
FRACTIONS = 0.02  # per whole number; with more, decimals belong to the column
MAJORITY = 0.8  # share of one writing from which the other is an exception


@text_test("format", ("quantity", "code", "unit", "identifier"))
def rewrite(texts: Texts) -> Iterator[WrongText]:
    """``12,50`` among ``9.75``, ``7000.0`` among whole numbers, ``1234`` among ``1,234``, and codes without their zeros
    take the writing of the majority."""
    for test in (_decimal_marks, _decimals, _separators, _leading_zeros):
        for code, text, why in test(texts):
            yield code, text, SURE, f"{why}: format"


def _decimal_marks(texts: Texts) -> Iterator[tuple[int, str, str]]:
    """Decimal commas among decimal points; ``1,234`` is one only where the others have three decimals too."""
    points, commas = texts.matching(POINT), texts.matching(DECIMAL_COMMA)
    usual = {len(match["decimals"]) for match in points.values()}
    rows = texts.rows(points)
    if rows < max(FEW_ROWS, 0.5 * texts.total):
        return
    for k, match in commas.items():
        if len(match["decimals"]) in usual and (len(match["decimals"]) != 3 or usual == {3}):
            text = f"{match[1].replace('.', '')}.{match['decimals']}"
            yield k, text, f"{rows} numbers have a decimal point, this one a comma"


def _decimals(texts: Texts) -> Iterator[tuple[int, str, str]]:
    zeros = texts.matching(POINT_ZERO)
    whole, fractions = texts.rows(texts.matching(WHOLE)), texts.rows(texts.matching(FRACTION))
    if whole < FEW_ROWS or whole < MAJORITY * (whole + texts.rows(zeros)) or fractions > FRACTIONS * whole:
        return
    for k, match in zeros.items():
        yield k, match[1], f"{whole} integers are written without decimals, this one is not"


def _separators(texts: Texts) -> Iterator[tuple[int, str, str]]:
    comma, large = texts.matching(COMMAS), texts.matching(LARGE)
    commas, plain = texts.rows(comma), texts.rows(large)
    if commas + plain < FEW_ROWS:
        return
    if commas >= MAJORITY * (commas + plain):
        for k, match in large.items():
            yield (
                k,
                f"{int(match[1]):,}{match[2] or ''}",
                f"{commas} numbers have thousands separators, this one has none",
            )
    elif plain >= MAJORITY * (commas + plain):
        for k, match in comma.items():
            yield k, match[0].replace(",", ""), f"{plain} numbers have no thousands separators"


def _leading_zeros(texts: Texts) -> Iterator[tuple[int, str, str]]:
    """Codes of a fixed width that lost their leading zeros; other values of the column must have kept theirs."""
    column, digits = texts.column, texts.only(str.isdigit)
    if column.role.name not in ("code", "identifier") or not digits.codes:
        return
    width, usual = max(digits.tally(len).items(), key=lambda item: (item[1], -item[0]))
    if usual < max(FEW_ROWS, WIDTH * digits.total) or width < 3:
        return
    zeros = any(len(text) == width and text[0] == "0" for _, text, _ in digits)
    padded = {k: text.zfill(width) for k, text, _ in digits if len(text) < width}
    known = {k for k, text in padded.items() if text in column.index}
    named = ZIP.search(column.name) is not None
    for k, text in padded.items():
        if k in known or (zeros and (named or len(known) >= 0.5 * len(padded))):
            yield k, text, f"{usual} codes have {width} digits, this one has no leading zero"
