"""Tables of Arrow columns: Parquet files, and what databases and other programs hand over as Arrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from magnet.tables.errors import BadTable, readable
from magnet.tables.values import Change, parser
from magnet.untrusted import check_size

CODECS = ("snappy", "gzip", "brotli", "zstd", "lz4")  # by the names under which they are read and written
CELL_BYTES = 16  # of a cell in memory, about: runs of one value take next to nothing in the file


@dataclass(frozen=True, eq=False)
class ArrowTable:
    """A table of Arrow columns with its types and metadata, and the same as a data frame.

    Args:
        path: where it came from.
        table: the Arrow table.
        frame: text, numbers, bools and dates to compute with.
        left_alone: columns that cannot be judged (nested, binary), and why.
    """

    path: Path
    table: Any
    frame: pd.DataFrame = field(init=False)
    left_alone: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        names = self.table.column_names
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise BadTable(f"{self.path}: two columns are named {repeated!r}; column names must be unique")
        columns = {name: _column(self.table.column(name)) for name in names}
        frame = pd.DataFrame(
            {name: series for name, (series, _) in columns.items()}, index=pd.RangeIndex(self.table.num_rows)
        )
        object.__setattr__(self, "frame", frame)
        object.__setattr__(self, "left_alone", {name: reason for name, (_, reason) in columns.items() if reason})

    def parser(self, column: str) -> Callable[[str], Any]:
        """What makes a cell of a column of a text."""
        return parser(pd.Series([], dtype=pd.ArrowDtype(self.table.schema.field(column).type)))

    def values(self, column: str, values: Sequence[Any]) -> list[Any]:
        """Values for a column in its own type, of texts where they are texts."""
        parse = self.parser(column)
        return [parse(value) if isinstance(value, str) else value for value in values]

    def changed(self, changes: Mapping[str, Change]) -> Any:
        """The Arrow table with other values in some cells and the same types and metadata."""
        import pyarrow as pa

        table = self.table
        for name, (rows, values) in changes.items():
            k = table.schema.get_field_index(name)
            kind, column, new = table.schema.field(k).type, table.column(k), self.values(name, values)
            if pa.types.is_dictionary(kind):
                table = table.set_column(k, table.schema.field(k), _with_words(column, rows, new))
                continue
            cells = column.to_pylist()
            for row, value in zip(rows.tolist(), new, strict=True):
                cells[row] = value
            table = table.set_column(k, table.schema.field(k), pa.array(cells, type=kind))
        return table


def _with_words(column: Any, rows: NDArray[np.int64], values: Sequence[Any]) -> Any:
    """A column of words with a dictionary, with other words in some rows: the dictionary keeps its order, which can
    have a meaning (low, middle, high)."""
    import pyarrow as pa

    (chunk,) = pa.chunked_array(column.unify_dictionaries().combine_chunks()).chunks
    words, codes = chunk.dictionary.to_pylist(), chunk.indices.to_pylist()
    for row, value in zip(rows.tolist(), values, strict=True):
        if value is not None and value not in words:
            words.append(value)
        codes[row] = None if value is None else words.index(value)
    kind = column.type
    parts = pa.array(codes, kind.index_type), pa.array(words, kind.value_type)
    return pa.DictionaryArray.from_arrays(*parts, ordered=kind.ordered)


@dataclass(frozen=True, eq=False)
class Parquet(ArrowTable):
    """A Parquet file.

    Args:
        compression: codec of the first column.
        group: largest number of rows of a row group.
    """

    compression: str = "snappy"
    group: int | None = None
    suffix = ".parquet"

    def write(self, target: Path, changes: Mapping[str, Change]) -> None:
        """The file again, with other values in some cells."""
        import pyarrow.parquet as pq

        pq.write_table(self.changed(changes), target, compression=self.compression, row_group_size=self.group)


def read_parquet(path: Path) -> Parquet:
    """Read a Parquet file; a column of an unsupported type is not judged, and does not affect the others."""
    import pyarrow.parquet as pq

    with readable(path, "Parquet"):
        with pq.ParquetFile(path) as file:
            facts = file.metadata
            groups = [facts.row_group(k) for k in range(facts.num_row_groups)]
            check_size(
                max(sum(group.total_byte_size for group in groups), CELL_BYTES * facts.num_rows * facts.num_columns),
                str(path),
            )
            table = file.read()
        table.validate(full=True)
        codec = groups[0].column(0).compression.lower() if groups and facts.num_columns else ""
        compression = codec if codec in CODECS else Parquet.compression
        return Parquet(path, table, compression, max((group.num_rows for group in groups), default=0) or None)


def _column(column: Any) -> tuple[pd.Series, str]:
    """A column as text, numbers, bools or dates (whole numbers with gaps stay whole), and why it is left alone."""
    import pyarrow as pa

    kind, nothing = column.type, pd.Series([None] * len(column), dtype="str")
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_null(kind):
        return nothing, ""
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        name = str(kind).replace("int", "Int").replace("uI", "UI").replace("bool", "boolean")
        return column.to_pandas(types_mapper=lambda _: pd.api.types.pandas_dtype(name)), ""
    if pa.types.is_floating(kind):
        return column.to_pandas(), ""
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pd.Series(column.to_pylist(), dtype="str"), ""
    if pa.types.is_decimal(kind):
        return pd.Series(column.to_pylist(), dtype=object), ""
    if pa.types.is_temporal(kind):
        try:
            return column.to_pandas(), ""
        except (ValueError, OverflowError, pa.ArrowException):  # years beyond 9999
            return nothing, f"{kind} beyond the usual range is not judged"
    return nothing, f"values of type {kind} are not judged"
