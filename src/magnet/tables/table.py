"""A user's graph: a table with one row per node, edges, and what its columns hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
import torch
from torch_geometric.data import Data

from magnet.detection import Column
from magnet.tables.errors import BadTable
from magnet.tables.fields import Field, Mask
from magnet.tables.links import Links, finish, ids_as_text, link, nearest
from magnet.tables.readers.delimited import Change
from magnet.tables.schema import infer_fields, not_empty

ID_NAMES = ("id", "node", "node_id", "nodeid", "name", "key", "uuid")


class Source(Protocol):
    """A file that a table came from, and that a table with changes is written like."""

    @property
    def frame(self) -> pd.DataFrame: ...

    @property
    def suffix(self) -> str: ...

    def write(self, target: Path, changes: Mapping[str, Change]) -> None: ...


@dataclass(frozen=True, eq=False)
class Table:
    """A table with one row per node and the edges between them.

    Use :func:`read` for files and :func:`from_frames` for data frames.

    Args:
        frame: the columns as they were given.
        ids: the name of each row.
        fields: what each column holds.
        links: the edges.
        id, label: names of the id and label columns, where there are any.
        facts: counts about rows and ids.
        source: the file it came from.
    """

    frame: pd.DataFrame
    ids: pd.Series
    fields: tuple[Field, ...]
    links: Links
    id: str | None = None
    label: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    source: Source | None = None

    @property
    def num_nodes(self) -> int:
        return len(self.frame)

    @property
    def used(self) -> tuple[Field, ...]:
        """The columns that are cleaned."""
        return tuple(f for f in self.fields if f.used)

    def encode(self, fields: tuple[Field, ...] | None = None) -> Encoded:
        """The used columns as numbers, by their own code or by that of another table's fields."""
        used = tuple(f for f in fields if f.used) if fields is not None else self.used
        absent = [f.name for f in used if f.name not in self.frame.columns]
        if absent:
            raise ValueError(f"the table has no column {absent[0]!r}, which the fitted one has")
        if not used:
            raise BadTable(
                "no column can be cleaned: all are ids, labels, dates, free text, constant or empty "
                "(a schema file can say otherwise)"
            )
        blocks, columns, missing, unreadable = [], [], [], []
        start = 0
        for f in used:
            block, gone, bad = f.encode(self.frame[f.name])
            kind = "continuous" if f.kind == "count" else f.kind  # scaled, it is no whole number any more
            columns.append(Column(f.name, kind, start, start + f.width))  # type: ignore[arg-type]
            start += f.width
            blocks.append(block)
            missing.append(gone)
            unreadable.append(bad)
        x = torch.from_numpy(np.concatenate(blocks, axis=1).astype(np.float32))
        return Encoded(x, columns, used, np.stack(missing, axis=1), np.stack(unreadable, axis=1))

    def data(self, encoded: Encoded) -> Data:
        """The graph for the engine."""
        data = Data(x=encoded.x, edge_index=self.links.edge_index)
        if self.links.edge_weight is not None:
            data.edge_weight = self.links.edge_weight
        data.edges_from_rows = self.links.kind == "nearest"
        return data

    def __repr__(self) -> str:
        edges = self.links.edge_index.shape[1] // 2
        return f"Table({self.num_nodes} rows, {len(self.fields)} columns ({len(self.used)} cleaned), {edges} edges)"


@dataclass(frozen=True, eq=False)
class Encoded:
    """A table as numbers.

    Args:
        x: ``[n, encoded columns]`` float32, NaN where there is no number.
        columns: what the detector is told about them, one for each field.
        fields: the fields they came from.
        missing: ``[n, fields]``, cells without a value.
        unreadable: ``[n, fields]``, cells that hold something that the column cannot hold (a word, an infinity).
    """

    x: torch.Tensor
    columns: list[Column]
    fields: tuple[Field, ...]
    missing: Mask
    unreadable: Mask

    def per_field(self, cells: Any) -> Any:
        """``[n, fields]`` of an ``[n, encoded columns]`` array that is the same within each group."""
        return cells[:, [column.start for column in self.columns]]

    def per_column(self, cells: Mask) -> Mask:
        """The other way: ``[n, encoded columns]`` of ``[n, fields]``."""
        return np.repeat(cells, [column.stop - column.start for column in self.columns], axis=1)


def from_frames(
    nodes: pd.DataFrame,
    edges: pd.DataFrame | Links | None = None,
    *,
    id: str | None = None,
    label: str | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    knn: int = 10,
    columns: list[str] | None = None,
    exclude: list[str] | None = None,
    override: Mapping[str, Any] | None = None,
    origin: Source | None = None,
) -> Table:
    """A table of data frames.

    Args:
        nodes: one row per node.
        edges: two columns of node ids; without edges a nearest-neighbour graph of the rows is made.
        id: the column with the node's id. (default: found by its values and its name; else rows are numbered)
        label: a column to leave alone, such as what is to be predicted.
        source, target, weight: columns of ``edges``. (default: found by their names; else the first two)
        knn: neighbours of each row where there are no edges. (default: ``10``)
        columns, exclude: clean these only; leave these alone.
        override: column kinds as :func:`magnet.tables.read_override` returns them.
        origin: the file the rows came from.

    Example:
        >>> nodes = pd.DataFrame({"id": ["a", "b", "c"], "age": [41, 40, 42]})
        >>> edges = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
        >>> from_frames(nodes, edges)
        Table(3 rows, 2 columns (1 cleaned), 2 edges)
    """
    frame = _checked(nodes)
    for what, name in (("id", id), ("label", label)):
        if name is not None and name not in frame.columns:
            raise ValueError(f"{what} is {name!r}; the columns are {', '.join(map(repr, list(frame.columns)[:12]))}")
    if id is None:
        id = _find_id(frame, edges if isinstance(edges, pd.DataFrame) else None, label, source, target)
    ids = pd.Series(range(len(frame))).astype("str") if id is None else ids_as_text(frame[id])
    nameless = (ids.str.strip() == "").to_numpy(dtype=bool)
    facts = {
        "rows": len(frame),
        "rows whose id another row has": int(ids[~nameless].duplicated().sum()),
        "rows without an id": int(nameless.sum()),
    }
    if isinstance(edges, Links):
        links = edges
    elif edges is not None:
        links = link(ids, edges, source, target, weight)
    else:
        links = finish(np.zeros((2, 0), dtype=np.int64), None, len(frame), {"edges read": 0}, "none")
    shown = ids.where(~nameless, pd.Series([f"(row {k})" for k in range(len(frame))], dtype="str"))
    fields = infer_fields(frame, id, label, columns, exclude, override)
    table = Table(frame, shown, fields, links, id, label, facts, origin)
    if edges is None and knn > 0 and table.used:
        table = replace(table, links=nearest(table.encode().x.numpy(), knn))
    return table


def _checked(nodes: pd.DataFrame) -> pd.DataFrame:
    not_empty(nodes, "the table of nodes")
    frame = nodes.reset_index(drop=True)
    frame.columns = [str(name) for name in frame.columns]
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        raise BadTable(f"two columns are named {repeated[0]!r}; every column needs a name of its own")
    return frame


def _find_id(
    frame: pd.DataFrame, edges: pd.DataFrame | None, label: str | None, source: str | None, target: str | None
) -> str | None:
    """The column whose values the edges name; without edges, a column of different values that is named like an id."""
    from magnet.tables.links import find_edge_columns

    names = [name for name in frame.columns if name != label]
    names.sort(key=lambda name: name.lower() not in ID_NAMES)
    if edges is not None and len(edges):
        ends = pd.concat([ids_as_text(edges[name].head(2000)) for name in find_edge_columns(edges, source, target)])
        wanted = set(ends)
        best, most = None, 0.0
        for name in names[:200]:
            values = ids_as_text(frame[name])
            named = set(values[values.isin(wanted)])
            share = float(ends.isin(named).mean()) * values.nunique() / len(values)
            if share > most + 1e-9:
                best, most = name, share
        return best if most >= 0.3 else None
    for name in names:
        if name.lower() in ID_NAMES and frame[name].is_unique:
            return name
    return None
