"""Tables of Arrow columns: Parquet files, and what databases and other programs hand over as Arrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from magnet.tables.errors import BadTable, readable
from magnet.tables.values import Change, parser
from magnet.untrusted import check_size

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
            kind = table.schema.field(k).type
            cells = table.column(k).to_pylist()
            for row, value in zip(rows.tolist(), self.values(name, values), strict=True):
                cells[row] = value
            plain = kind.value_type if pa.types.is_dictionary(kind) else kind
            column = pa.array(cells, type=plain)
            if plain != kind:
                column = column.dictionary_encode().cast(kind)
            table = table.set_column(k, table.schema.field(k), column)
        return table


class Parquet(ArrowTable):
    """A Parquet file."""

    suffix = ".parquet"

    def write(self, target: Path, changes: Mapping[str, Change]) -> None:
        """The file again, with other values in some cells."""
        import pyarrow.parquet as pq

        pq.write_table(self.changed(changes), target)


def read_parquet(path: Path) -> Parquet:
    """Read a Parquet file; a column of an unsupported type is not judged, and does not affect the others."""
    import pyarrow.parquet as pq

    with readable(path, "Parquet"):
        with pq.ParquetFile(path) as file:
            facts = file.metadata
            groups = [facts.row_group(k).total_byte_size for k in range(facts.num_row_groups)]
            check_size(max(sum(groups), CELL_BYTES * facts.num_rows * facts.num_columns), str(path))
            table = file.read()
        table.validate(full=True)
        return Parquet(path, table)


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
