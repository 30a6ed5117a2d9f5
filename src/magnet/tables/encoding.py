"""A table as numbers, for the detectors of graphs: what columns hold becomes features of nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from magnet.arrays import Bools
from magnet.detection import Column
from magnet.graph import Graph
from magnet.tables.errors import BadTable
from magnet.tables.fields import Field
from magnet.tables.links import nearest
from magnet.tables.table import Table


@dataclass(frozen=True, eq=False)
class Encoded:
    """A table as numbers.

    Args:
        x: ``[n, encoded columns]`` float32, NaN for missing numbers.
        columns: their description for the detector, one for each field.
        fields: the fields they came from.
        missing: ``[n, fields]``, cells without a value.
        unreadable: ``[n, fields]``, cells that hold something that the column cannot hold (a word, an infinity).
    """

    x: torch.Tensor
    columns: list[Column]
    fields: tuple[Field, ...]
    missing: Bools
    unreadable: Bools

    def per_field(self, cells: Any) -> Any:
        """``[n, fields]`` of an ``[n, encoded columns]`` array that is the same within each group."""
        return cells[:, [column.start for column in self.columns]]

    def per_column(self, cells: Bools) -> Bools:
        """The other way: ``[n, encoded columns]`` of ``[n, fields]``."""
        return np.repeat(cells, [column.stop - column.start for column in self.columns], axis=1)


def encode(table: Table, fields: tuple[Field, ...] | None = None) -> Encoded:
    """The used columns of a table as numbers, by their own code or by that of another table's fields."""
    used = tuple(f for f in fields if f.used) if fields is not None else table.used
    absent = [f.name for f in used if f.name not in table.frame.columns]
    if absent:
        raise ValueError(f"the table has no column {absent[0]!r}, which the fitted one has")
    if not used:
        raise BadTable(
            "no column can be cleaned: every column is an id, label, date, free text, constant or empty "
            "(a schema file can override this)"
        )
    x = np.empty((table.num_nodes, sum(f.width for f in used)), dtype=np.float32)
    columns, missing, unreadable = [], [], []
    start = 0
    for f in used:
        x[:, start : start + f.width], gone, bad = f.encode(table.frame[f.name])
        kind = "continuous" if f.kind == "count" else f.kind  # scaled, it is no longer an integer
        columns.append(Column(f.name, kind, start, start + f.width))  # type: ignore[arg-type]
        start += f.width
        missing.append(gone)
        unreadable.append(bad)
    return Encoded(torch.from_numpy(x), columns, used, np.stack(missing, axis=1), np.stack(unreadable, axis=1))


@dataclass(frozen=True, eq=False)
class TableGraph:
    """A table as a graph with node features, under the names that detectors read from a PyG ``Data``: importing PyG
    costs seconds and 90 MB."""

    x: torch.Tensor
    edge_index: Graph
    edges_from_rows: bool


def as_graph(table: Table, encoded: Encoded) -> TableGraph:
    """The table as a graph with node features."""
    links = table.links
    graph = Graph.from_edges(links.edge_index, table.num_nodes, links.edge_weight)
    return TableGraph(encoded.x, graph, links.kind == "nearest")


def with_nearest_links(table: Table, neighbors: int) -> Table:
    """A table without links, its rows linked to those most like them; one with links as it is."""
    if table.links.kind != "none" or neighbors < 1 or not table.used:
        return table
    return replace(table, links=nearest(encode(table).x.numpy(), neighbors))
