"""Tables and graphs of other libraries: read as pandas, given back as they came."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from scipy.sparse import issparse

from magnet.graph import Graph, edge_list, is_whole_graph
from magnet.tables.links import Links, finish
from magnet.tables.readers.parquet import ArrowTable
from magnet.tables.values import Change, is_null


def to_pandas(frame: Any, hint: str | None = None) -> Any:
    """A pandas frame unchanged; any other eager frame supported by narwhals, and any Arrow stream (a Hugging Face
    ``Dataset``), as a pandas one."""
    if isinstance(frame, pd.DataFrame):
        return frame
    if (known := _narwhals(frame)) is not None:
        return known.to_pandas()
    handed = _arrow(frame)
    if handed is None:
        raise ValueError(
            f"a {type(frame).__name__} is not a data frame; pandas, polars and Arrow tables are accepted"
            + (_hint(frame) if hint is None else hint)
        )
    return handed.frame


def _hint(other: Any) -> str:
    """How something else becomes a data frame."""
    if isinstance(other, str | os.PathLike):
        return ": read the file first, for example with pandas.read_csv"
    if hasattr(other, "collect"):
        return ": collect it first"
    return "; for a graph use magnet.MAGnet" if hasattr(other, "edge_index") else ": see pandas.DataFrame"


def to_edges(edges: Any) -> pd.DataFrame | Links | None:
    """Edges as a frame of node names; those of a matrix, whose nodes are the rows in their order, as links."""
    if not is_whole_graph(edges):
        return None if edges is None else to_pandas(edges, " as edges, or networkx graphs and scipy sparse matrices")
    ends, weight, names = edge_list(edges)
    if isinstance(edges, Graph) or issparse(edges):
        return finish(ends, weight, len(names), {"edges read": ends.shape[1]})
    source, target = ([names[k] for k in end] for end in ends.tolist())
    return pd.DataFrame({"source": source, "target": target, "weight": weight})


def _narwhals(frame: Any) -> Any:
    """A frame for narwhals; None if it does not know it, or would change its types, as those of Arrow tables."""
    import narwhals as nw

    if type(frame).__module__.startswith("pyarrow"):
        return None
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        return None


def _arrow(frame: Any) -> ArrowTable | None:
    """An Arrow stream as a table."""
    import pyarrow as pa

    if hasattr(frame, "with_format"):  # a Hugging Face Dataset; this keeps its selection and order of rows
        table = frame.with_format("arrow")[:]
    elif hasattr(frame, "__arrow_c_stream__"):
        try:
            table = pa.table(frame)
        except (pa.ArrowException, TypeError):  # a single column
            return None
    else:
        table = getattr(getattr(frame, "data", None), "table", None)
    return ArrowTable(Path("the table"), table) if isinstance(table, pa.Table) else None


def native_frame(frame: Any, changes: Mapping[str, Change]) -> Any:
    """A copy of a frame of another library with other values in some cells, every column with the type it had; of what
    only provides an Arrow stream, an Arrow table."""
    import narwhals as nw

    known = _narwhals(frame)
    if known is None:
        handed = _arrow(frame)
        assert handed is not None
        return handed.changed(changes)
    columns = []
    for name, (rows, values) in changes.items():
        series = known[name]
        cells = series.to_list()
        for row, value in zip(rows.tolist(), values, strict=True):
            cells[row] = None if is_null(value) else value
        columns.append(nw.new_series(name, cells, series.dtype, backend=known.implementation))
    return known.with_columns(*columns).to_native() if columns else frame
