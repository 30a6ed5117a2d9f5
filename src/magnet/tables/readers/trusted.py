"""Cells that the user has marked as correct."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from magnet.arrays import Bools
from magnet.tables.errors import quoted
from magnet.tables.links import ids_as_text
from magnet.tables.readers.read import read_edges
from magnet.tables.table import Table


def read_trusted(path: Path, table: Table) -> Bools:
    """``[n, columns]``: the cells named by a file with a column ``node`` and, unless whole rows are meant,
    ``column``."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist")
    listed = read_edges(path)
    lower = {str(name).lower(): str(name) for name in listed.columns}
    node = lower.get("node") or lower.get((table.id or "id").lower())
    if node is None:
        raise ValueError(
            f"{path} has the columns {', '.join(map(repr, listed.columns))}; 'node' (and 'column') are needed"
        )
    if "column" not in lower and (other := [n for n in listed.columns if n not in (node, *table.frame.columns)]):
        raise ValueError(f"{path} has a column {other[0]!r} and none named 'column'; whole rows need 'node' alone")
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(table.ids):
        rows.setdefault(str(name), []).append(row)
    place = {name: k for k, name in enumerate(table.frame.columns)}
    trusted = np.zeros((table.num_nodes, len(place)), dtype=bool)
    names = listed[lower["column"]].astype("str") if "column" in lower else pd.Series([None] * len(listed))
    for line, (name, column) in enumerate(zip(ids_as_text(listed[node]), names, strict=True)):
        if name not in rows:
            raise ValueError(
                f"{path} row {line + 1}: node {quoted(name)} is not in the table ({table.num_nodes} rows read)"
            )
        if column is None:
            trusted[rows[name]] = True
        elif column in place:
            trusted[rows[name], place[column]] = True
        else:
            raise ValueError(f"{path} row {line + 1}: there is no column {quoted(column)}")
    return trusted


def trusted_cells(table: Table, trusted: Any) -> Bools | None:
    """Bool ``[n, columns]``: trusted cells, by column of the table."""
    if trusted is None:
        return None
    names = list(table.frame.columns)
    if isinstance(trusted, pd.DataFrame):
        unknown = [name for name in trusted.columns if name not in names]
        if unknown or len(trusted) != table.num_nodes:
            what = f"a column {unknown[0]!r}, which the table has not" if unknown else f"{len(trusted)} rows"
            raise ValueError(f"trusted has {what}; the table has {table.num_nodes} rows and {len(names)} columns")
        full = trusted.reindex(columns=names, fill_value=False)
        return full.to_numpy(dtype=bool)
    array = np.asarray(trusted, dtype=bool)
    if array.shape == (table.num_nodes,):
        return np.repeat(array[:, None], len(names), axis=1)
    if array.shape != (table.num_nodes, len(names)):
        raise ValueError(
            f"trusted has shape {list(array.shape)}; it must be [{table.num_nodes}] or [{table.num_nodes}, "
            f"{len(names)}], one for each column"
        )
    return array
