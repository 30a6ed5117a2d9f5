"""Edges: from two columns of ids to a symmetric edge list, with counts of everything that was dropped or merged."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from magnet.graph import Graph
from magnet.tables.errors import BadTable, TableWarning, listed, quoted
from magnet.tables.fields import is_text, numbers

PAIRS = (
    ("source", "target"),
    ("src", "dst"),
    ("src", "dest"),
    ("from", "to"),
    ("u", "v"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("a", "b"),
    ("start", "end"),
    ("head", "tail"),
)
MANY_UNKNOWN = 0.05  # share of edges to ids that no row has, from which on the user is warned
MAX_UNKNOWN = 0.5  # from here on the edges are taken for those of another table
LARGEST_WEIGHT = 1e30  # beyond it (or its inverse) sums and squares of weights leave the range of float32
WEIGHTS = ("weight", "weights", "w")


@dataclass(frozen=True, eq=False)
class Links:
    """A symmetric edge list (both directions of every pair, sorted) and counts of dropped edges.

    Args:
        edge_index: ``[2, edges]`` integers.
        edge_weight: ``[edges]``, or None where all weights are 1.
        facts: counts by name: ``edges read``, ``unknown ids``, ``self-loops``, ``merged``, ``edges used`` ...
        kind: ``"given"``, ``"nearest"`` (made from the rows), or ``"none"``.
        num_nodes: how many rows it links, where that is known.
    """

    edge_index: NDArray[np.int64]
    edge_weight: NDArray[np.float32] | None
    facts: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "given"
    num_nodes: int | None = None

    def matrix(self, rows: int, before: int = 0) -> sp.csr_matrix | None:
        """The given links as a sparse matrix of this many rows, after ``before`` rows without links; None
        where none were given."""
        if self.kind != "given":
            return None
        row, column = self.edge_index + before
        weight = np.ones(row.size) if self.edge_weight is None else self.edge_weight.astype(np.float64)
        return sp.csr_matrix((weight, (row, column)), shape=(before + rows, before + rows))


def ids_as_text(series: pd.Series) -> pd.Series:
    """Ids by which rows and edges find each other: text as it stands, whole numbers without a point."""
    if is_text(series):
        return series.astype("str").fillna("")
    if pd.api.types.is_float_dtype(series.dtype):
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        finite = values[np.isfinite(values)]
        if (finite == np.round(finite)).all() and (np.abs(finite) < 2**53).all():
            return pd.Series([str(int(v)) if np.isfinite(v) else "" for v in values], dtype="str")
    return series.astype("str").fillna("").reset_index(drop=True)


def find_edge_columns(edges: pd.DataFrame, source: str | None, target: str | None) -> tuple[str, str]:
    names = [str(name) for name in edges.columns]
    for what, name in (("source", source), ("target", target)):
        if name is not None and name not in names:
            raise ValueError(f"{what} is {name!r}; the columns of the edges are {listed(names, name)}")
    if len(names) < 2:
        raise BadTable(f"the edges have one column, {names[0]!r}; two columns of node ids are needed")
    if source is not None and target is not None:
        return source, target
    lower = {name.lower(): name for name in reversed(names)}
    for first, second in PAIRS:
        if first in lower and second in lower and source in (None, lower[first]) and target in (None, lower[second]):
            return lower[first], lower[second]
    free = [name for name in names if name not in (source, target)]
    first = source or free.pop(0)
    return first, target or free.pop(0)


def link(
    ids: pd.Series,
    edges: pd.DataFrame,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    allow_unknown_ids: bool = False,
) -> Links:
    """Match edges with rows by id.

    Edges to unknown ids, self-loops and edges without a usable weight are dropped, pairs that occur again (in either
    direction) are merged with their largest weight, and all of that is counted. Where two rows have one id, edges go
    to the first. Edges of which more than :data:`MAX_UNKNOWN` name ids that no row has are taken for the wrong file,
    unless ``allow_unknown_ids``; more than :data:`MANY_UNKNOWN` are worth a :class:`TableWarning`.
    """
    first, second = find_edge_columns(edges, source, target)
    names = [str(name) for name in edges.columns]
    if weight is not None and weight not in names:
        raise ValueError(f"weight is {weight!r}; the columns of the edges are {listed(names, weight)}")
    if weight is None:
        weight = next((name for name in names if name.lower() in WEIGHTS and name not in (first, second)), None)
    ends = [ids_as_text(edges[name]) for name in (first, second)]
    if first not in PAIRS[0] and bool((ids == first).any() and (ids == second).any()):
        # the header is an edge itself: a file without a header line
        ends = [
            pd.concat([pd.Series([name], dtype="str"), end]) for name, end in zip((first, second), ends, strict=True)
        ]
        weight = None
    where = _places(ids)
    rows, cols = (_lookup(where, end) for end in ends)
    known = (rows >= 0) & (cols >= 0)
    strange = pd.concat([ends[0][rows < 0], ends[1][cols < 0]])
    loops = known & (rows == cols)
    value = np.ones(rows.size)
    unusable = np.zeros(rows.size, dtype=bool)
    if weight is not None:
        value = numbers(edges[weight])
        unusable = known & ~loops & ~(np.isfinite(value) & (value > 0))
    keep = known & ~loops & ~unusable
    facts: dict[str, Any] = {
        "edges read": int(rows.size),
        "edges with known ids": int(known.sum()),
        "edges to unknown ids": int((~known).sum()),
        "share of edges to unknown ids": round(float((~known).mean()), 4) if rows.size else 0.0,
        "self-loops": int(loops.sum()),
        "edges without a usable weight": int(unusable.sum()),
    }
    if len(strange):
        facts["an unknown id"] = str(strange.iloc[0])
    if facts["share of edges to unknown ids"] > MANY_UNKNOWN:
        example = f"ids such as {quoted(strange.iloc[0])}, while row ids look like {quoted(ids.iloc[0])}"
        _complain(facts, example, f"{first!r} and {second!r}", allow_unknown_ids)
    return finish(np.stack([rows[keep], cols[keep]]), value[keep] if weight else None, len(ids), facts)


def _complain(facts: dict[str, Any], example: str, columns: str, allowed: bool) -> None:
    """Warn about edges to unknown ids, or refuse them if they are too many."""
    edges, share = facts["edges read"], facts["share of edges to unknown ids"]
    if not facts["edges with known ids"]:
        raise BadTable(f"none of the {edges} edges joins two rows: {columns} contain {example}; give the id column")
    message = f"{facts['edges to unknown ids']} of the {edges} edges ({share:.0%}) have unknown {example}"
    if share > MAX_UNKNOWN and not allowed:
        raise BadTable(f"{message}; check the file and the id column, or use --allow-unknown-ids to continue")
    warnings.warn(f"{message}; these edges are ignored", TableWarning, stacklevel=4)


def finish(
    edges: NDArray[Any], weight: NDArray[Any] | None, nodes: int, facts: dict[str, Any], kind: str = "given"
) -> Links:
    """Symmetric, merged edges and the last counts."""
    graph = Graph.from_edges(edges.astype(np.int64), nodes, _in_range(weight))
    both = graph.adjacency.tocoo()
    order = np.lexsort((both.col, both.row))
    index = np.stack([both.row[order], both.col[order]]).astype(np.int64)
    value = both.data[order].astype(np.float32)
    pairs = graph.adjacency.nnz // 2
    facts |= {
        "pairs that occur again": int(edges.shape[1]) - pairs,
        "edges used": pairs,
        "nodes without neighbors": int(graph.isolated.sum()),
    }
    return Links(index, None if bool((value == 1).all()) else value, facts, kind, nodes)


def _in_range(weight: NDArray[Any] | None) -> NDArray[Any] | None:
    """Weights of a usual size: a normalized graph does not change when all weights are multiplied by a number."""
    if weight is None or not weight.size:
        return weight
    largest = float(weight.max())
    if 1 / LARGEST_WEIGHT <= largest <= LARGEST_WEIGHT:
        return weight
    return np.maximum(weight.astype(np.float64) / largest, 1 / LARGEST_WEIGHT)


def nearest(x: NDArray[Any], neighbors: int) -> Links:
    """A graph that joins each row with the rows most like it, for tables without edges.

    Unlike given edges it is made from the values that are to be judged: it sees what disagrees with the rest of the
    row, and nothing else.
    """
    from sklearn.neighbors import NearestNeighbors

    nodes = x.shape[0]
    count = min(neighbors, nodes - 1)
    if count < 1:
        return finish(np.zeros((2, 0), dtype=np.int64), None, nodes, {"edges read": 0}, "nearest")
    rows = np.clip(np.nan_to_num(x), -3, 3)  # one outlier must not decide who is near
    found = NearestNeighbors(n_neighbors=count).fit(rows).kneighbors(return_distance=False)
    edges = np.stack([np.repeat(np.arange(nodes), count), found.ravel()])
    return finish(edges, None, nodes, {"neighbors asked for": count}, "nearest")


def _places(ids: pd.Series) -> tuple[pd.Index, NDArray[np.int64], pd.Index, NDArray[np.int64]]:
    """Row numbers by id, and by id without the spaces around it."""
    exact = ids[(ids != "") & ~ids.duplicated()]
    bare = exact.str.strip()
    bare = bare[~bare.duplicated()]
    return pd.Index(exact), exact.index.to_numpy(), pd.Index(bare), bare.index.to_numpy()


def _lookup(
    where: tuple[pd.Index, NDArray[np.int64], pd.Index, NDArray[np.int64]], wanted: pd.Series
) -> NDArray[np.int64]:
    exact, rows, bare, bare_rows = where
    found = exact.get_indexer(wanted)
    result = np.where(found >= 0, rows[found] if rows.size else -1, -1)
    lost = result < 0
    if lost.any() and bare_rows.size:
        again = bare.get_indexer(wanted[lost].str.strip())
        result[lost] = np.where(again >= 0, bare_rows[again], -1)
    return result.astype(np.int64)
