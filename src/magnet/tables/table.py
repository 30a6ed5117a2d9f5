"""A user's graph: a table with one row per node, edges, and what its columns hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from magnet.checks import several
from magnet.tables.errors import listed, quoted
from magnet.tables.fields import Field
from magnet.tables.links import Links, find_edge_columns, finish, ids_as_text, link
from magnet.tables.schema import infer_fields, not_empty
from magnet.tables.values import Change, parser, replaced, simplified, texts, unique_names

# What the engine of tables calls the kinds of columns that a schema file names.
ROLE_OF_KIND = {
    "binary": "category",
    "categorical": "category",
    "count": "quantity",
    "continuous": "quantity",
    "id": "identifier",
    "date": "date",
    "text": "text",
    "constant": "constant",
}
SAMPLED_EDGES, MAX_TRIED = 2_000, 200  # edges by which the id column is found, and columns that are tried
MIN_NAMED = 0.3  # share of the ends of edges that the id column must name (not swept)
ROUNDING = 1e-9  # of shares: of equal columns the first is chosen
ID_NAMES = ("id", "node", "node_id", "nodeid", "name", "key", "uuid")
ID_ENDINGS = ("id", "no", "nr", "number", "key", "uuid")  # of the first column, such as "customer no"


class Source(Protocol):
    """A file that a table came from, and that a table with changes is written like."""

    @property
    def frame(self) -> pd.DataFrame: ...

    @property
    def suffix(self) -> str: ...

    def write(self, target: Path, changes: Mapping[str, Change]) -> None: ...

    def parser(self, column: str) -> Callable[[str], Any]: ...


@dataclass(frozen=True, eq=False)
class Table:
    """A table with one row per node and the edges between them.

    Use :func:`read` for files and :func:`from_frames` for data frames.

    Args:
        frame: the columns to compute with: text, numbers, bools or dates, the rows counted from 0.
        ids: the name of each row.
        fields: kind of each column.
        links: the edges.
        id: name of the id column, if any.
        label: name of the label column, if any.
        facts: counts about rows and ids.
        source: the file it came from.
        given: the data frame that was given, with its own index, labels and types. (default: ``frame``)
        left_alone: columns that cannot be judged, such as nested ones, and why.
        rules: rules given by the user.
    """

    frame: pd.DataFrame
    ids: pd.Series
    fields: tuple[Field, ...]
    links: Links
    id: str | None = None
    label: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    source: Source | None = None
    given: pd.DataFrame | None = None
    left_alone: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[Any, ...] = ()

    @property
    def num_nodes(self) -> int:
        return len(self.frame)

    @property
    def used(self) -> tuple[Field, ...]:
        """The columns that are cleaned."""
        return tuple(f for f in self.fields if f.used)

    @property
    def skipped(self) -> dict[str, str]:
        """The columns that are not judged, with reasons: the label, excluded columns, and the ids of the edges."""
        reasons = {f.name: "left out by the user" for f in self.fields if f.kind in ("label", "excluded")}
        if self.id is not None and self.links.kind == "given":
            reasons[self.id] = "edges name its values"
        return reasons

    @property
    def roles(self) -> dict[str, str]:
        """The roles given by the user."""
        return {f.name: ROLE_OF_KIND[f.kind] for f in self.fields if f.given and f.kind in ROLE_OF_KIND}

    @property
    def shown_facts(self) -> dict[str, Any]:
        """The nonzero counts; without links, none about links."""
        found = {**self.facts, **({} if self.links.kind == "none" else self.links.facts)}
        return {name: value for name, value in found.items() if value}

    def column(self, name: str) -> pd.Series:
        """A column as it was given, in its own type."""
        given = self.frame if self.given is None else self.given
        return given.iloc[:, self.frame.columns.get_loc(name)]

    def text_columns(self) -> dict[str, list[str]]:
        """Every cell as text, column by column: in a text file as it stands there, else as
        :func:`magnet.tables.values.cell_text` writes it; empty where there is no value. Columns that cannot be judged
        are not among them."""
        return {name: texts(self.column(name)) for name in self.frame.columns if name not in self.left_alone}

    def parse_cell(self, column: str, text: str) -> Any:
        """Parse a text to the type of a column; a ``ValueError`` if it cannot be written.

        Example:
            >>> table = from_frames(pd.DataFrame({"n": [1, 2**62, 3]}))
            >>> table.parse_cell("n", "4611686018427387905")
            4611686018427387905
        """
        parse = self._parsers.get(column)
        if parse is None:
            has_types = self.source is not None and column in self.source.frame.columns
            parse = self.source.parser(column) if has_types else parser(self.column(column))  # type: ignore[union-attr]
            self._parsers[column] = parse
        try:
            return parse(text)
        except ValueError as error:
            raise ValueError(f"column {quoted(column)}: {error}") from None

    @cached_property
    def _parsers(self) -> dict[str, Callable[[str], Any]]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_parsers"}  # functions

    def changed(self, changes: Mapping[str, Change]) -> pd.DataFrame:
        """The given data frame with other values in some cells: index, labels, order and types stay."""
        given = self.frame if self.given is None else self.given
        result = given.copy()
        for name, change in changes.items():
            k = self.frame.columns.get_loc(name)
            result.isetitem(k, replaced(given.iloc[:, k], change))
        return result

    def with_changes(self, changes: Mapping[str, Change]) -> Table:
        """A table with other values in some cells."""
        given = self.changed(changes)
        return replace(self, frame=_simplified(given)[0], given=given)

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
    columns: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    override: Mapping[str, Any] | None = None,
    allow_unknown_ids: bool = False,
    origin: Source | None = None,
) -> Table:
    """Create a table from data frames.

    Args:
        nodes: one row per node.
        edges: two columns of node ids. (default: none)
        id: the id column. (default: detected by its values and name; else the labels of the index)
        label: a column that is never changed, such as the prediction target.
        source: source column of ``edges``. (default: detected by name, else the first)
        target: target column of ``edges``. (default: detected by name, else the second)
        weight: weight column of ``edges``. (default: detected by name)
        columns: judge only this column, or these.
        exclude: a column, or columns, that are not judged.
        override: column kinds as :func:`magnet.tables.read_override` returns them.
        allow_unknown_ids: accept edges of which more than half have ids that are not in the table.
            (default: ``False``)
        origin: the file the rows came from.

    Example:
        >>> nodes = pd.DataFrame({"id": ["a", "b", "c"], "age": [41, 40, 42]})
        >>> edges = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
        >>> from_frames(nodes, edges)
        Table(3 rows, 2 columns (1 cleaned), 2 edges)
    """
    frame, left_alone = _simplified(nodes)
    left_alone |= getattr(origin, "left_alone", {})
    for what, name in (("id", id), ("label", label)):
        if name is not None and name not in frame.columns:
            raise ValueError(f"{what} is {name!r}; the columns are {listed(frame.columns, name)}")
    ends = _edge_ends(edges, source, target) if isinstance(edges, pd.DataFrame) and len(edges) else None
    if id is None:
        id = _find_id(frame, ends, label)
    ids = _row_names(nodes.index, ends) if id is None else ids_as_text(frame[id])
    nameless = (ids.str.strip() == "").to_numpy(dtype=bool)
    facts = {
        "rows": len(frame),
        "rows whose id another row has": int(ids[~nameless].duplicated().sum()),
        "rows without an id": int(nameless.sum()),
    }
    if isinstance(edges, Links):
        links = edges
        if links.num_nodes not in (None, len(frame)):
            raise ValueError(f"the graph has {links.num_nodes} nodes; the table has {len(frame)} rows, one for each")
    elif edges is not None:
        links = link(ids, edges, source, target, weight, allow_unknown_ids)
    else:
        links = finish(np.zeros((2, 0), dtype=np.int64), None, len(frame), {"edges read": 0}, "none")
    shown = ids.where(~nameless, pd.Series([f"(row {k})" for k in range(len(frame))], dtype="str"))
    fields = infer_fields(frame, id, label, several(columns), several(exclude), override, left_alone)
    rules = tuple((override or {}).get("rules", ()))
    return Table(frame, shown, fields, links, id, label, facts, origin, nodes, left_alone, rules)


def _simplified(nodes: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, str]]:
    """The columns in types to compute with, under names that are texts; and which are left alone."""
    not_empty(nodes, "the table of nodes")
    names = unique_names(nodes.columns, "the table")
    columns, left_alone = {}, {}
    for k, name in enumerate(names):
        series, reason = simplified(nodes.iloc[:, k])
        columns[name] = series.reset_index(drop=True)
        if reason:
            left_alone[name] = reason
    return pd.DataFrame(columns, index=pd.RangeIndex(len(nodes))), left_alone


def _edge_ends(edges: pd.DataFrame, source: str | None, target: str | None) -> pd.Series:
    """The ids in the first edges."""
    return pd.concat(
        [ids_as_text(edges[name].head(SAMPLED_EDGES)) for name in find_edge_columns(edges, source, target)]
    )


def _row_names(index: pd.Index, ends: pd.Series | None) -> pd.Series:
    """The labels of a data frame's index if they are unique and the edges do not name the numbers of the rows; else
    these numbers."""
    numbers = pd.Series(range(len(index))).astype("str")
    if index.nlevels > 1 or not index.is_unique:
        return numbers
    labels = ids_as_text(pd.Series(index))
    return numbers if ends is not None and ends.isin(labels).mean() < ends.isin(numbers).mean() else labels


def _find_id(frame: pd.DataFrame, ends: pd.Series | None, label: str | None) -> str | None:
    """The column whose values the edges name; without edges, a column of different values that is named like an id."""
    names = [name for name in frame.columns if name != label]
    names.sort(key=lambda name: name.lower() not in ID_NAMES)
    if ends is not None:
        wanted = set(ends)
        best, most = None, 0.0
        for name in names[:MAX_TRIED]:
            values = ids_as_text(frame[name])
            named = set(values[values.isin(wanted)])
            share = float(ends.isin(named).mean()) * values.nunique() / len(values)
            if share > most + ROUNDING:
                best, most = name, share
        return best if most >= MIN_NAMED else None
    for name in names:
        if name.lower() in ID_NAMES and frame[name].is_unique:
            return name
    first = next(iter(frame.columns))
    words = re.split(r"[\W_]+", first.strip().lower())
    if len(words) > 1 and words[-1] in ID_ENDINGS and first != label and frame[first].is_unique:
        return first
    return None
