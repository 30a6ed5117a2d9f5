"""Cells that the user knows to be right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from magnet.tables.fields import Mask
from magnet.tables.links import ids_as_text
from magnet.tables.readers.read import read_edges
from magnet.tables.table import Table


def read_trusted(path: Path, table: Table) -> Mask:
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
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(table.ids):
        rows.setdefault(str(name), []).append(row)
    place = {name: k for k, name in enumerate(table.frame.columns)}
    trusted = np.zeros((table.num_nodes, len(place)), dtype=bool)
    names = listed[lower["column"]].astype("str") if "column" in lower else pd.Series([None] * len(listed))
    for line, (name, column) in enumerate(zip(ids_as_text(listed[node]), names, strict=True)):
        if name not in rows:
            raise ValueError(
                f"{path} row {line + 1}: node {name[:60]!r} is not in the table ({table.num_nodes} rows read)"
            )
        if column is None:
            trusted[rows[name]] = True
        elif column in place:
            trusted[rows[name], place[column]] = True
        else:
            raise ValueError(f"{path} row {line + 1}: there is no column {column[:60]!r}")
    return trusted
