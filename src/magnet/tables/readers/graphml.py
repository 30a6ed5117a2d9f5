"""GraphML files, as NetworkX, Gephi, igraph and yEd write them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET
from xml.parsers import expat

import pandas as pd

from magnet.tables.errors import BadTable, readable
from magnet.tables.readers.delimited import Change

ID = "node id"
_TYPES = {"int": "Int64", "long": "Int64", "float": "float32", "double": "float64"}


@dataclass(frozen=True, eq=False)
class GraphML:
    """A GraphML file: its document, and its nodes and edges as data frames."""

    path: Path
    tree: Any
    keys: Mapping[str, str]
    frame: pd.DataFrame
    edges: pd.DataFrame
    suffix: str = ".graphml"

    def write(self, target: Path, changes: Mapping[str, Change]) -> None:
        tree = copy.deepcopy(self.tree)
        root = tree.getroot()
        nodes = [node for graph in _children(root, "graph") for node in _children(graph, "node")]
        space = root.tag[: root.tag.index("}") + 1] if "}" in root.tag else ""
        for name, (rows, values) in changes.items():
            key = self.keys[name]
            for row, value in zip(rows.tolist(), values, strict=True):
                found = next((d for d in _children(nodes[row], "data") if d.get("key") == key), None)
                if found is None:
                    found = ET.SubElement(nodes[row], f"{space}data", {"key": key})
                found.text = str(value).lower() if isinstance(value, bool) else str(value)
        ET.register_namespace("", space.strip("{}") or "http://graphml.graphdrawing.org/xmlns")
        tree.write(target, encoding="utf-8", xml_declaration=True)


def read_graphml(path: Path) -> GraphML:
    """Read nodes, their attributes and the edges; nested graphs, hyperedges and ports are not read."""
    with readable(path, "GraphML"):
        content = path.read_bytes()
        _refuse_entities(path, content)
        tree = ET.ElementTree(ET.fromstring(content))
    root: Any = tree.getroot()
    graphs = list(_children(root, "graph"))
    kind = root.tag.rpartition("}")[2]
    if kind != "graphml" or len(graphs) != 1:
        raise BadTable(f"{path} holds {len(graphs)} graphs in a <{kind}>; one graph in a <graphml> is needed")
    names, types = _keys(root)
    rows, ids = [], []
    for node in _children(graphs[0], "node"):
        ids.append(node.get("id", ""))
        rows.append({d.get("key"): d.text or "" for d in _children(node, "data")})
    if not rows:
        raise BadTable(f"{path} holds no nodes")
    own = [key for key in names if any(key in row for row in rows)]
    columns: dict[str, Any] = {ID: pd.Series(ids, dtype="str")}
    keys: dict[str, str] = {}
    for key in own:
        name = names[key] if names[key] not in columns else f"{names[key]} ({key})"
        keys[name] = key
        columns[name] = _typed([row.get(key) for row in rows], types[key])
    edges = [(e.get("source", ""), e.get("target", ""), *_weight(e, names)) for e in _children(graphs[0], "edge")]
    frame = pd.DataFrame([edge[:2] for edge in edges], columns=["source", "target"], dtype="str")
    if any(len(edge) == 3 for edge in edges):
        frame["weight"] = pd.Series([edge[2] if len(edge) == 3 else "1" for edge in edges], dtype="str")
    return GraphML(path, tree, keys, pd.DataFrame(columns), frame)


def _refuse_entities(path: Path, content: bytes) -> None:
    """Entities can be made to expand without end, and no graph needs them."""
    parser = expat.ParserCreate()

    def refuse(*_: Any) -> None:
        raise BadTable(f"{path} declares XML entities; they are not expanded, so the file is not read")

    parser.EntityDeclHandler = refuse
    parser.Parse(content, True)


def _children(element: Any, name: str) -> list[Any]:
    return [child for child in element if isinstance(child.tag, str) and child.tag.rpartition("}")[2] == name]


def _keys(root: Any) -> tuple[dict[str, str], dict[str, str]]:
    names, types = {}, {}
    for key in _children(root, "key"):
        k = key.get("id", "")
        names[k] = key.get("attr.name") or k
        types[k] = key.get("attr.type", "string")
    return names, types


def _typed(values: list[str | None], kind: str) -> pd.Series:
    text = pd.Series(values, dtype="str")
    if kind in _TYPES:
        number = pd.to_numeric(text.str.strip(), errors="coerce")
        if bool((number.notna() | text.isna()).all()):
            return number.astype(_TYPES[kind])
    return text


def _weight(edge: Any, names: Mapping[str, str]) -> tuple[str, ...]:
    return next(((d.text or "1",) for d in _children(edge, "data") if names.get(d.get("key"), "") == "weight"), ())
