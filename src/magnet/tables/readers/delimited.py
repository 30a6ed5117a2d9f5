"""CSV and TSV files; unchanged parts are written back byte for byte."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from magnet.tables.errors import BadTable, TableWarning, listed, quoted
from magnet.tables.readers.layout import Layout, find_layout
from magnet.tables.readers.text import Text, read_text
from magnet.tables.roles.patterns import number
from magnet.tables.values import Change, cell_text, unique_names

ROWS_AT_A_TIME = 50_000


@dataclass(frozen=True, eq=False)
class Delimited:
    """A delimited file: its columns as text, and the lines they came from.

    Args:
        path: the file.
        frame: one row of strings per record.
        lines: the lines of the file with their ends, in order.
        first: where the lines ``[first, last)`` of each row begin.
        last: where they end.
        delimiter: what separates cells.
        encoding: of the characters.
    """

    path: Path
    frame: pd.DataFrame
    lines: list[str]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    delimiter: str
    encoding: str

    @property
    def suffix(self) -> str:
        return self.path.suffix.lower() or ".csv"

    def checked(self, text: str) -> str:
        """A text that this file can hold."""
        try:
            text.encode(self.encoding)
        except UnicodeEncodeError:
            raise ValueError(f"{quoted(text)} cannot be written to {self.path}, which is {self.encoding}") from None
        if "\0" in text:
            raise ValueError(f"{quoted(text)} holds a NUL, which no text table can hold")
        return text

    def parser(self, column: str) -> Callable[[str], str]:
        """What makes a cell of a column of a text."""
        return self.checked

    def write(self, target: Path, changes: Mapping[str, Change]) -> None:
        """The file again, with other text in some cells and every other byte as it was."""
        rows: dict[int, dict[int, str]] = {}
        for name, (where, values) in changes.items():
            column = self.frame.columns.get_loc(name)
            for row, value in zip(where.tolist(), values, strict=True):
                rows.setdefault(row, {})[column] = self.checked(cell_text(value))
        lines = list(self.lines)
        for row, cells in rows.items():
            first, last = int(self.first[row]), int(self.last[row])
            lines[first] = _replaced("".join(self.lines[first:last]), cells, self.delimiter)
            lines[first + 1 : last] = [""] * (last - first - 1)
        with target.open("wb") as file:
            for k in range(0, len(lines), ROWS_AT_A_TIME):
                file.write("".join(lines[k : k + ROWS_AT_A_TIME]).encode(self.encoding))


def read_delimited(path: Path, encoding: str | None = None) -> Delimited:
    """Read a CSV or TSV file with a header line; every cell stays text."""
    text = read_text(path, encoding)
    lines = list(io.StringIO(text.characters, newline=""))
    return _parse(path, text, lines, find_layout(path, lines))


def _parse(path: Path, text: Text, lines: list[str], layout: Layout) -> Delimited:
    start, delimiter, header = layout.start, layout.delimiter, _names(path, layout.names)
    reader = csv.reader([lines[start].removeprefix("\ufeff"), *lines[start + 1 :]], delimiter=delimiter)
    rows: list[list[str]] = []
    blocks: list[list[tuple[str, ...]]] = []
    first, last = [], []
    line = start
    try:
        for fields in reader:
            begin, line = line, start + reader.line_num
            if begin == start or not fields or (len(fields) == 1 < len(header) and not fields[0].strip()):
                continue  # a blank line; it stays where it is
            if len(fields) != len(header):
                count = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
                raise BadTable(
                    f"{path} line {begin + 1}: {count}; the header has {len(header)} (is a {delimiter!r} missing, or "
                    "is a text that contains one not quoted?)"
                )
            rows.append(fields)
            first.append(begin)
            last.append(line)
            if len(rows) == ROWS_AT_A_TIME:
                blocks.append(list(zip(*rows, strict=True)))
                rows = []
    except csv.Error as error:
        raise BadTable(f"{path} line {line + 1}: {error}; is a quote opened and never closed?") from None
    if last:
        _check_closed(path, lines[first[-1] : last[-1]], first[-1], delimiter)
    if rows or not blocks:
        blocks.append(list(zip(*rows, strict=True)) if rows else [()] * len(header))
    columns = {
        name: pd.concat([pd.Series(list(block[k]), dtype="str") for block in blocks], ignore_index=True)
        for k, name in enumerate(header)
    }
    frame = pd.DataFrame(columns)
    _check_header(path, frame, "" if layout.declared else "".join(lines[:start]), start)
    places = (np.array(first, dtype=np.int64), np.array(last, dtype=np.int64))
    return Delimited(path, frame, lines, *places, delimiter, text.encoding)


def _names(path: Path, fields: list[str]) -> list[str]:
    return unique_names(
        (field.strip().lstrip("\ufeff") or f"column {k + 1}" for k, field in enumerate(fields)), str(path)
    )


def _check_header(path: Path, frame: pd.DataFrame, skipped: str, line: int) -> None:
    """Warn of lines that were skipped as titles, of a header that looks like a row, and of one that is repeated."""
    names = frame.columns
    if skipped.strip("\ufeff\r\n \t"):
        _warn(f"{path}: line {line + 1} is taken for the header; what stands above it is kept as it is")
    found = [name for name in names if (frame[name] == name).any()]
    if 2 * len(found) > len(names) > 1 and (frame == names).all(axis=1).any():
        _warn(f"{path}: the header is repeated in row {int((frame == names).all(axis=1).argmax())}, counted from 0")
    elif 2 * len(found) > len(names) > 1 or (
        all(number(name) is not None for name in names) and names.tolist() != [str(k) for k in range(len(names))]
    ):
        _warn(f"{path}: the columns are named {listed(names)}; is the header missing?")


def _warn(message: str) -> None:
    warnings.warn(message, TableWarning, stacklevel=5)


def _check_closed(path: Path, record: list[str], line: int, delimiter: str) -> None:
    """The csv module takes the end of the file for the end of a quote; that would swallow rows in silence."""
    try:
        list(csv.reader(record, delimiter=delimiter, strict=True))
    except csv.Error as error:
        if "end of data" in str(error):
            raise BadTable(f"{path} line {line + 1}: a quote is opened and never closed") from None


def split_record(record: str, delimiter: str) -> tuple[list[str], str]:
    """The fields of a record as they stand, quotes included, and its line end.

    Example:
        >>> split_record('a,"b, c",d\\r\\n', ",")
        (['a', '"b, c"', 'd'], '\\r\\n')
    """
    body, mark = record.rstrip("\r\n"), re.escape(delimiter)
    fields = re.findall(rf'(?:^|{mark})("(?:[^"]|"")*"[^{mark}]*|[^{mark}]*)', body)
    return fields, record[len(body) :]


def _replaced(record: str, cells: Mapping[int, str], delimiter: str) -> str:
    fields, end = split_record(record, delimiter)
    for column, text in cells.items():
        special = any(mark in text for mark in (delimiter, '"', "\n", "\r"))
        if special or fields[column].startswith('"'):
            text = '"' + text.replace('"', '""') + '"'
        fields[column] = text
    return delimiter.join(fields) + end
