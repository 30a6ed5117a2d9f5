"""Blanks in disguise: texts that say there is no value, and numbers or dates that stand for none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from magnet.tables.coded import CodedColumn, CodedTable
from magnet.tables.findings import Finding
from magnet.tables.options import TableOptions
from magnet.tables.roles.dates import parse_moment
from magnet.tables.roles.patterns import SENTINELS, blank, disguised_blank, number

WORDS = frozenset(("unknown", "unk", "none", "missing", "-", ".", "unspecified", "undefined", "not applicable", "tbd"))
PROBABILITY, CONFIDENCE = (
    0.9,
    0.92,
)  # a text that can mean nothing else; its blank is the right value unless a group knows
UNSURE = 0.85  # a mark (***) in a column with few blanks may also have replaced a value
BLANKS = 0.2  # share of blanks from which a column is optional
REPEATS = 3  # rows from which a number may stand for a blank
MAX_FILL_SHARE = 0.5  # a text that fills half of a column is a value of it


def rewrite(table: CodedTable, options: TableOptions) -> Iterator[tuple[int, Finding]]:
    r"""Disguised blanks become blanks.

    A text of the list (``N/A``, ``***``) is one unless it, or such marks, fill most of the column; a word that may also
    name a category (``unknown``) only in columns of numbers, dates and codes. A number or date of the list (``-999``,
    ``1900-01-01``) is one if it comes back and lies outside the range of all others by half that range, or is the only
    negative one.
    """
    for j, column in enumerate(table.columns):
        if column.name in table.skip or column.role.name == "empty":
            continue
        counts = column.read_counts()
        filled = sum(int(counts[k]) for k in np.flatnonzero(counts) if not blank(column.values[k]))
        marks = sum(int(counts[k]) for k in np.flatnonzero(counts) if not any(c.isalnum() for c in column.values[k]))
        symbols = marks - (len(column.read) - filled) > MAX_FILL_SHARE * filled
        blanks = filled < (1 - BLANKS) * len(column.read)
        for k in np.flatnonzero(counts).tolist():
            text = column.values[k]
            if not (_disguised(text, column) or _sentinel(k, column, counts)):
                continue
            if counts[k] > MAX_FILL_SHARE * filled or (symbols and not any(c.isalnum() for c in text)):
                continue
            confidence = CONFIDENCE if any(c.isalnum() for c in text) or blanks else UNSURE
            reason = f"{text!r} says that there is no value (in {int(counts[k])} cells): missing"
            for row in np.flatnonzero(column.read == k).tolist():
                yield j, Finding(row, "", PROBABILITY, confidence, "missing", reason)


def _disguised(text: str, column: CodedColumn) -> bool:
    if not disguised_blank(text):
        return False
    return text.strip().casefold() not in WORDS or column.role.name in ("quantity", "unit", "date", "time", "phone")


def _sentinel(code: int, column: CodedColumn, counts: np.ndarray) -> bool:
    text = column.values[code].strip()
    if text not in SENTINELS or counts[code] < REPEATS:
        return False
    role = column.role.name
    if role in ("quantity", "unit", "date"):
        measure = _ordinal if role == "date" else number
        own = measure(text)
        others = [x for k in np.flatnonzero(counts) if k != code and (x := measure(column.values[k])) is not None]
        if own is None or len(others) < 10:
            return False
        low, high = min(others), max(others)
        if own < 0 <= low:
            return True
        if role == "date":
            low, high = np.quantile(others, [0.01, 0.99]).tolist()
        return own < low - 0.5 * (high - low) or own > high + 0.5 * (high - low)
    if role in ("code", "identifier", "phone"):
        rest = np.delete(counts, code)
        return len(set(text)) == 1 and len(text) >= 4 and counts[code] >= 5 * max(int(np.quantile(rest, 0.99)), 1)
    return False


def _ordinal(text: str) -> float | None:
    parsed = parse_moment(text)
    if parsed is None or parsed[0].date is None:
        return None
    year, month, day = parsed[0].date
    return 372.0 * year + 31 * month + day
