"""Numbers written with or without thousands separators and trailing decimals, in one column."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from magnet.tables.channels.base import Odd, per_value
from magnet.tables.coded import CodedColumn, CodedTable, Codes
from magnet.tables.findings import Finding
from magnet.tables.options import TableOptions

WHOLE = re.compile(r"[-+]?\d+")
POINT_ZERO = re.compile(r"[-+]?\d+\.0+")
COMMAS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
LARGE = re.compile(r"[-+]?\d{4,}(?:\.\d+)?")
ZIP = re.compile(r"zip|postal|postcode|plz|fips", re.I)
WIDTH = 0.7  # share of one width from which codes have a fixed width
MAJORITY = 0.8  # share of one writing from which the other is an exception
PROBABILITY, CONFIDENCE = 0.95, 0.94


def rewrite(table: CodedTable, options: TableOptions) -> Iterator[tuple[int, Finding]]:
    """``7000.0`` among whole numbers, and ``1234`` among ``1,234``, take the writing of the majority."""
    return per_value(table, options, _exceptions, "format", PROBABILITY, ("quantity", "code", "unit", "identifier"))


def _exceptions(column: CodedColumn, held: list[int], counts: Codes, options: TableOptions) -> Iterator[Odd]:
    for test in (_decimals, _separators, _leading_zeros):
        for code, text, why in test(column, options):
            yield code, text, CONFIDENCE, why


def _share(column: CodedColumn, pattern: re.Pattern[str]) -> tuple[list[int], int]:
    counts = column.read_counts()
    hit = [k for k in np.flatnonzero(counts).tolist() if pattern.fullmatch(column.values[k].strip())]
    return hit, int(counts[hit].sum()) if hit else 0


def _decimals(column: CodedColumn, options: TableOptions) -> Iterator[tuple[int, str, str]]:
    (_, whole), (zero, zeros) = _share(column, WHOLE), _share(column, POINT_ZERO)
    fractions = _share(column, re.compile(r"[-+]?\d*\.\d*[1-9]\d*"))[1]
    if whole < options.min_rows or whole < MAJORITY * (whole + zeros) or fractions > 0.02 * whole:
        return
    for k in zero:
        text = column.values[k].strip().split(".")[0]
        yield k, text, f"{whole} whole numbers are written without decimals, this is not: format"


def _separators(column: CodedColumn, options: TableOptions) -> Iterator[tuple[int, str, str]]:
    (comma, commas), (large, plain) = _share(column, COMMAS), _share(column, LARGE)
    if commas + plain < options.min_rows:
        return
    if commas >= MAJORITY * (commas + plain):
        for k in large:
            head, _, tail = column.values[k].strip().partition(".")
            text = f"{int(head):,}" + (f".{tail}" if tail else "")
            yield k, text, f"{commas} numbers have thousands separators, this has none: format"
    elif plain >= MAJORITY * (commas + plain):
        for k in comma:
            yield k, column.values[k].strip().replace(",", ""), f"{plain} numbers have no thousands separators: format"


def _leading_zeros(column: CodedColumn, options: TableOptions) -> Iterator[tuple[int, str, str]]:
    """Codes of a fixed width that lost their leading zeros; other values of the column must have kept theirs."""
    if column.role.name not in ("code", "identifier"):
        return
    counts = column.read_counts()
    digits = [k for k in np.flatnonzero(counts).tolist() if column.values[k].isdigit()]
    widths = np.bincount([len(column.values[k]) for k in digits], weights=counts[digits]) if digits else np.zeros(1)
    width = int(widths.argmax())
    if widths[width] < max(options.min_rows, WIDTH * widths.sum()) or width < 3:
        return
    zeros = [k for k in digits if len(column.values[k]) == width and column.values[k][0] == "0"]
    padded = {k: column.values[k].zfill(width) for k in digits if len(column.values[k]) < width}
    known = {k: t for k, t in padded.items() if column.index.get(t, -1) >= 0}
    named = ZIP.search(column.name) is not None
    for k, text in padded.items():
        if k in known or (zeros and (named or len(known) >= 0.5 * len(padded))):
            yield k, text, f"{int(widths[width])} codes have {width} digits, this lost its leading zero: format"
