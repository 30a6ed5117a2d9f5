"""Any file to a table."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd

from magnet.tables.links import Links, finish
from magnet.tables.readers import database
from magnet.tables.readers.database import file_of, read_database
from magnet.tables.readers.delimited import read_delimited
from magnet.tables.readers.graphml import ID, read_graphml
from magnet.tables.readers.parquet import read_parquet
from magnet.tables.schema import not_empty
from magnet.tables.table import Source, Table, from_frames

TEXT = (".csv", ".tsv", ".tab", ".txt")
COLUMNAR = (".parquet", ".pq")
WHOLE = (".graphml", ".npz", ".pt")
SUFFIXES = (*TEXT, *COLUMNAR, *database.SUFFIXES, *WHOLE)


def read(
    nodes: str | os.PathLike[str],
    edges: str | os.PathLike[str] | None = None,
    *,
    encoding: str | None = None,
    **reading: Any,
) -> Table:
    """Read a table, and its links, from files.

    Args:
        nodes: one row per node (``.csv .tsv .parquet``, or a table of a database: ``shop.sqlite::customers``); or a
            whole graph (``.graphml``, ``.npz`` with ``x`` and ``edge_index``, a PyG ``Data`` in a ``.pt``); or a folder
            with one of them, or with ``nodes.*`` and ``edges.*``.
        edges: a table in the same formats with two columns of node ids and optionally a weight.
        encoding: encoding of text files. (default: detected)
        reading: further arguments of :func:`magnet.tables.from_frames` (``id``, ``label``, ``exclude`` ...).
    """
    path, edge_path = find_files(Path(nodes), Path(edges) if edges is not None else None)
    origin, links = read_nodes(path, encoding)
    if path.suffix.lower() == ".graphml" and reading.get("id") is None:
        reading["id"] = ID
    links = links if edge_path is None else read_edges(edge_path, encoding)
    return from_frames(origin.frame, links, origin=origin, **reading)


def read_nodes(path: Path, encoding: str | None = None) -> tuple[Source, pd.DataFrame | Links | None]:
    """The rows of a file, and its edges where it holds some."""
    suffix = file_of(path).suffix.lower()
    if suffix not in WHOLE:
        source = _read_table(path, encoding)
        not_empty(source.frame, str(path))
        return source, None
    if suffix == ".graphml":
        graph = read_graphml(path)
        return graph, graph.edges
    from magnet.tables.readers.arrays import read_npz, read_pt  # torch, which tables can do without

    arrays = read_npz(path) if suffix == ".npz" else read_pt(path)
    facts = {
        "edges read": int(arrays.edge_index.shape[1]),
        "self-loops": int((arrays.edge_index[0] == arrays.edge_index[1]).sum()),
    }
    if not arrays.edge_index.size:
        return arrays, None
    return arrays, finish(arrays.edge_index, arrays.edge_weight, arrays.x.shape[0], facts)


def read_edges(path: Path, encoding: str | None = None) -> pd.DataFrame:
    if file_of(path).suffix.lower() in WHOLE:
        raise ValueError(f"{path}: edges are read from {', '.join((*TEXT, *COLUMNAR, *database.SUFFIXES))} files")
    return _read_table(path, encoding).frame


def _read_table(path: Path, encoding: str | None) -> Source:
    suffix = file_of(path).suffix.lower()
    if suffix in database.SUFFIXES:
        return read_database(path)
    return read_parquet(path) if suffix in COLUMNAR else read_delimited(path, encoding)


def find_files(nodes: Path, edges: Path | None) -> tuple[Path, Path | None]:
    """The files that are meant, looked for in a folder where one was named."""
    if nodes.is_dir():
        found = sorted(path for path in nodes.iterdir() if path.suffix.lower() in SUFFIXES and path.is_file())
        named = {stem: [path for path in found if path.stem.lower() == stem] for stem in ("nodes", "edges")}
        if len(named["nodes"]) == 1:
            edges = edges or next(iter(named["edges"]), None)
            nodes = named["nodes"][0]
        elif len(found) == 1:
            nodes = found[0]
        else:
            listed = ", ".join(path.name for path in found[:8]) or "none of these"
            raise ValueError(
                f"{nodes} is a folder with {listed}; give the file, or name the files nodes.* and edges.* "
                f"({', '.join(SUFFIXES)})"
            )
    for path in (file_of(named) for named in (nodes, edges) if named is not None):
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist")
        if not path.is_file():
            raise ValueError(f"{path} is not a file")
        if path.suffix.lower() not in SUFFIXES:
            hint = "; export it as CSV" if path.suffix.lower() in (".xlsx", ".xls", ".ods") else ""
            raise ValueError(
                f"{path}: {path.suffix or 'a file without ending'} is not supported{hint}; "
                f"use one of {', '.join(SUFFIXES)}"
            )
    if edges is not None and nodes.suffix.lower() in WHOLE:
        raise ValueError(f"{nodes} contains its own edges; --edges can only be combined with a table")
    return nodes, edges
