"""Parquet files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from magnet.tables.errors import BadTable, readable
from magnet.tables.readers.delimited import Change


@dataclass(frozen=True, eq=False)
class Parquet:
    """A Parquet file: its Arrow table, types and metadata included, and the same as a data frame."""

    path: Path
    table: Any
    frame: pd.DataFrame
    suffix: str = ".parquet"

    def write(self, target: Path, changes: Mapping[str, Change]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = self.table
        for name, (rows, values) in changes.items():
            k = table.schema.get_field_index(name)
            kind = table.schema.field(k).type
            cells = table.column(k).to_pylist()
            for row, value in zip(rows.tolist(), values, strict=True):
                cells[row] = value
            plain = kind.value_type if pa.types.is_dictionary(kind) else kind
            column = pa.array(cells, type=plain)
            table = table.set_column(
                k, table.schema.field(k), column.dictionary_encode().cast(kind) if plain != kind else column
            )
        pq.write_table(table, target)


def read_parquet(path: Path) -> Parquet:
    import pyarrow.parquet as pq

    with readable(path, "Parquet"):
        table = pq.read_table(path)
        repeated = next((name for name in table.column_names if table.column_names.count(name) > 1), None)
        if repeated is not None:
            raise BadTable(f"{path}: two columns are named {repeated!r}; every column needs a name of its own")
        frame = _as_frame(table)
    return Parquet(path, table, frame)


def _as_frame(table: Any) -> pd.DataFrame:
    """Columns with nulls keep their type (whole numbers with gaps do not become floats)."""
    import pyarrow as pa

    nullable = {
        pa.int8(): pd.Int8Dtype(),
        pa.int16(): pd.Int16Dtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.uint8(): pd.UInt8Dtype(),
        pa.uint16(): pd.UInt16Dtype(),
        pa.uint32(): pd.UInt32Dtype(),
        pa.uint64(): pd.UInt64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }
    frame = table.to_pandas(types_mapper=nullable.get, ignore_metadata=True)
    return frame.reset_index(drop=True)
