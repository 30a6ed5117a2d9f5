"""A text that cannot be read as what its column holds: ``2/28/217`` among dates, ``1o3`` among numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np

from magnet.tables.coded import CodedTable
from magnet.tables.findings import Finding
from magnet.tables.options import TableOptions
from magnet.tables.roles.dates import parse_moment
from magnet.tables.roles.patterns import UNIT_NUMBER, blank, disguised_blank, number

BOUND = re.compile(
    r"\s*[<>≤≥~≈±=].*|.*\d\s*(?:[-–/+]|to|or)\s*(?:\d.*|more|less|)", re.S
)  # a number said in another way
READ = 0.7  # share of the cells that must be what the column holds; leaves room for a quarter of errors
REPEATS = 3  # rows from which a text is a value of its own
MIN_ROWS = 20
PROBABILITY = 0.9


def _moment(text: str) -> bool:
    return parse_moment(text) is not None or parse_moment(text, True) is not None


READERS: dict[str, Callable[[str], bool]] = {
    "date": _moment,
    "time": _moment,
    "quantity": lambda text: number(text) is not None or UNIT_NUMBER.fullmatch(text) is not None,
    "unit": lambda text: number(text) is not None or UNIT_NUMBER.fullmatch(text) is not None,
}


def audit(table: CodedTable, options: TableOptions) -> Iterator[tuple[int, Finding]]:
    """Cells of columns of dates, times and numbers that are none. Texts that come back are values of their own (a
    grade, a word for none), and so are bounds and ranges of numbers. The right text is not known."""
    for j, column in enumerate(table.columns):
        read = READERS.get(column.role.name)
        if column.name in table.skip or read is None:
            continue
        counts = column.read_counts()
        held = [k for k in np.flatnonzero(counts).tolist() if not blank(column.values[k])]
        alien = [k for k in held if not read(column.values[k])]
        filled = int(counts[held].sum()) if held else 0
        known = filled - (int(counts[alien].sum()) if alien else 0)
        if filled < MIN_ROWS or known < READ * filled:
            continue
        for k in alien:
            text = column.values[k]
            if counts[k] >= REPEATS or disguised_blank(text) or (column.role.arithmetic and BOUND.fullmatch(text)):
                continue
            why = f"{known} of {filled} cells can be read as a {column.role.name}, {text!r} cannot: typo"
            for row in np.flatnonzero(column.read == k).tolist():
                yield j, Finding(row, None, PROBABILITY, 0.0, "typo", why)
