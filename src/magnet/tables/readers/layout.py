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
        width: number of fields of most of the first rows; 0 if they do not agree.
        declared: the file names its delimiter in the first line.
    """

    start: int
    delimiter: str
    names: list[str]
    width: int
    declared: bool = False


def find_layout(path: Path, lines: Sequence[str]) -> Layout:
    """Of the layouts that fit the rows, the one with the fewest lines in front of the header, then the most fields. (A
    header of one field above rows of several is none that fits; reading the file reports it.)"""
    filled = (k for k, line in enumerate(itertools.islice(lines, MAX_BLANK)) if line.strip("\r\n\ufeff \t"))
    start, then = next(filled, None), next(filled, None)
    if start is None:
        raise BadTable(f"{path} is empty; a header line and at least one row are needed")
    declared = _SEPARATOR.fullmatch(lines[start].strip('\r\n\ufeff "'))
    if declared and then is not None:  # Excel's own line about what separates the fields
        return _layout(lines, then, declared[1])._replace(declared=True)
    marks = "\t" if path.suffix.lower() in (".tsv", ".tab") else DELIMITERS
    found = (_layout(lines, start, mark) for mark in marks)
    return min(found, key=_preference)


def _preference(layout: Layout) -> tuple[int, ...]:
    names, width = len(layout.names), layout.width
    return width < 2 or width != names, width < 2, names < 2, width != names, layout.start, -names


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
        return Layout(start, delimiter, [""], 1)
    widths = [len(fields) for _, fields in records]
    usual = Counter(widths[len(widths) // 2 :]).most_common(1)[0][0]  # the first half may be titles
    rows = widths[widths.index(usual) :]
    agree = rows.count(usual) >= MIN_AGREEING * len(rows)
    usual = usual if agree else widths[0]
    header = next((k for k in range(len(records)) if not _is_title(records, k, usual)), 0)
    line, names = records[header]
    names = _named(names, [fields for _, fields in records[header + 1 :]])
    return Layout(line, delimiter, names, usual if agree else 0)


def _is_title(records: list[tuple[int, list[str]]], k: int, usual: int) -> bool:
    """Whether record ``k``, below titles only, is a title or a comment; rows have ``usual`` fields."""
    line, fields = records[k]
    if len(fields) < usual and fields[0].lstrip().startswith("#"):
        return True
    if sum(1 for field in fields if field.strip()) < MAX_FILLED * usual:
        return True
    # a header that lacks the name of the row names stands alone, directly above the rows
    below, following = records[k + 1] if k + 1 < len(records) else (line + 1, [""] * usual)
    apart = k > 0 or below > line + 1 or len(following) < usual
    return len(fields) <= MAX_TITLE * usual and (len(fields) < usual - 1 or apart)


def _named(names: list[str], rows: list[list[str]]) -> list[str]:
    """With a name for what all rows have more than the header: a delimiter at the end, or the names of rows (R)."""
    if len(rows) < 2 or len(names) < 2 or any(len(row) != len(names) + 1 for row in rows):
        return names
    if not any(row[-1].strip() for row in rows):
        return [*names, ""]
    return ["", *names] if len({row[0] for row in rows}) == len(rows) else names
