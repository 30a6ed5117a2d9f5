"""The layout of a text table: which line is its header, what separates its fields, and the names of its columns."""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from magnet.tables.errors import BadTable

DELIMITERS = ",;\t|"
MAX_BLANK = 10_000  # lines in front of the header
SAMPLE = 100  # lines by which the layout is found
MIN_AGREEING = 0.8  # share of the sampled rows with one number of fields, from which a shorter line may be a title
MAX_TITLE = 0.5  # of the fields of a row that a title may have; a header with more is a damaged header
MAX_FILLED = 1 / 3  # of the fields of a title that has as many as a row: spreadsheets add delimiters
_SEPARATOR = re.compile(r"sep=([,;\t|])", re.I)


class Layout(NamedTuple):
    """The layout of a file.

    Args:
        start: line of the header.
        delimiter: what separates fields.
        names: a name for every field of a row, ``""`` where the header has none.
        fits: most of the first rows have that many fields.
        declared: the file names its delimiter in the first line.
    """

    start: int
    delimiter: str
    names: list[str]
    fits: bool = True
    declared: bool = False


def find_layout(path: Path, lines: Sequence[str]) -> Layout:
    """Of the layouts that fit the rows, the one with the fewest lines in front of the header, then the most fields."""
    filled = (k for k, line in enumerate(itertools.islice(lines, MAX_BLANK)) if line.strip("\r\n\ufeff \t"))
    start, then = next(filled, None), next(filled, None)
    if start is None:
        raise BadTable(f"{path} is empty; a header line and at least one row are needed")
    declared = _SEPARATOR.fullmatch(lines[start].strip('\r\n\ufeff "'))
    if declared and then is not None:  # Excel's own line about what separates the fields
        return _layout(lines, then, declared[1])._replace(declared=True)
    marks = "\t" if path.suffix.lower() in (".tsv", ".tab") else DELIMITERS
    found = (_layout(lines, start, mark) for mark in marks)
    return min(found, key=lambda it: (len(it.names) < 2, not it.fits, it.start, -len(it.names)))


def _layout(lines: Sequence[str], start: int, delimiter: str) -> Layout:
    """The layout if fields are separated by a given mark."""
    sample = [lines[start].removeprefix("\ufeff"), *lines[start + 1 : start + SAMPLE]]
    reader, line = csv.reader(sample, delimiter=delimiter), start
    records: list[tuple[int, list[str]]] = []
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                records.append((line, fields))
            line = start + reader.line_num
    except csv.Error:  # reported when the file is read
        pass
    if not records:
        return Layout(start, delimiter, [""])
    widths = [len(fields) for _, fields in records]
    usual, count = Counter(widths).most_common(1)[0]
    if count < MIN_AGREEING * len(widths[widths.index(usual) :]):
        usual = widths[0]
    header = next((k for k, (_, fields) in enumerate(records) if not _is_title(fields, usual)), 0)
    line, names = records[header]
    rows = [fields for _, fields in records[header + 1 :]]
    names = _named(names, rows)
    fits = sum(1 for fields in rows if len(fields) == len(names)) >= MIN_AGREEING * len(rows)
    return Layout(line, delimiter, names, fits)


def _is_title(fields: list[str], usual: int) -> bool:
    """Whether a line in front of rows with ``usual`` fields is a title or a comment."""
    if len(fields) < usual and fields[0].lstrip().startswith("#"):
        return True
    short = len(fields) <= MAX_TITLE * usual and len(fields) < usual - 1
    return short or sum(1 for field in fields if field.strip()) < MAX_FILLED * usual


def _named(names: list[str], rows: list[list[str]]) -> list[str]:
    """With a name for what all rows have more than the header: a delimiter at the end, or the names of rows (R)."""
    if len(rows) < 2 or len(names) < 2 or any(len(row) != len(names) + 1 for row in rows):
        return names
    if not any(row[-1].strip() for row in rows):
        return [*names, ""]
    return ["", *names] if len({row[0] for row in rows}) == len(rows) else names
