"""A user's graph: a table with one row per node, edges, and what its columns hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from magnet.tables.errors import BadTable
from magnet.tables.fields import Field
from magnet.tables.links import Links, finish, ids_as_text, link
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

    def __repr__(self) -> str:
        edges = self.links.edge_index.shape[1] // 2
        return f"Table({self.num_nodes} rows, {len(self.fields)} columns ({len(self.used)} cleaned), {edges} edges)"


def from_frames(
    nodes: pd.DataFrame,
    edges: pd.DataFrame | Links | None = None,
    *,
    id: str | None = None,
    label: str | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    columns: list[str] | None = None,
    exclude: list[str] | None = None,
    override: Mapping[str, Any] | None = None,
    origin: Source | None = None,
) -> Table:
    """A table of data frames.

    Args:
        nodes: one row per node.
        edges: two columns of node ids. (default: none)
        id: the column with the node's id. (default: found by its values and its name; else rows are numbered)
        label: a column to leave alone, such as what is to be predicted.
        source, target, weight: columns of ``edges``. (default: found by their names; else the first two)
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
    return Table(frame, shown, fields, links, id, label, facts, origin)


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
