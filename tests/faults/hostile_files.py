"""Hostile files: tables, graphs and edges in every format, drawn from a seed."""

from __future__ import annotations

import codecs
import contextlib
import csv
import datetime
import io
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from hostile_cells import JUNK, column, numbers, table, words
from torch_geometric.data import Data


def damage(rng: np.random.Generator, path: Path, how: str | None = None) -> None:
    """Flip, cut, insert or repeat some bytes."""
    content = bytearray(path.read_bytes())
    how = how or str(rng.choice(["flip", "cut", "insert", "repeat"]))
    if not content:
        return
    if how == "flip":
        for _ in range(int(rng.integers(1, 20))):
            content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
    elif how == "cut":
        del content[int(rng.integers(len(content))) :]
    elif how == "insert":
        at = int(rng.integers(len(content)))
        content[at:at] = rng.bytes(int(rng.integers(1, 40)))
    else:
        start = int(rng.integers(len(content)))
        content += content[start : start + 200]
    path.write_bytes(bytes(content))


def write_csv(rng: np.random.Generator, folder: Path, rows: int) -> Path:
    names, columns = table(rng, rows)
    mark = str(rng.choice([",", ";", "\t", "|"]))
    out = io.StringIO()
    style = {"quoting": csv.QUOTE_ALL} if rng.random() < 0.2 else {}
    end = str(rng.choice(["\n", "\r\n", "\r"]))
    writer = csv.writer(out, delimiter=mark, lineterminator=end, **style)  # type: ignore[arg-type]
    writer.writerow(names)
    for line in zip(*columns, strict=True):
        writer.writerow(line)
        if rng.random() < 0.03:
            out.write(str(rng.choice([end, "\n", ",,,\n", "a\n"], p=[0.7, 0.28, 0.01, 0.01])))
    text = out.getvalue()
    if rng.random() < 0.2:
        text = text.rstrip("\r\n")
    if rng.random() < 0.1:
        text = f"sep={mark}{end}{text}"
    content = _encoded(rng, text)
    path = folder / f"nodes{'.tsv' if mark == chr(9) and rng.random() < 0.5 else '.csv'}"
    path.write_bytes(content)
    return path


def _encoded(rng: np.random.Generator, text: str) -> bytes:
    encoding = str(rng.choice(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252"], p=[0.7, 0.1, 0.08, 0.06, 0.06]))
    if encoding == "utf-16-be":
        return codecs.BOM_UTF16_BE + text.encode(encoding)
    return text.encode(encoding, errors="replace")


def write_parquet(rng: np.random.Generator, folder: Path, rows: int) -> Path:
    columns: dict[str, Any] = {"id": pa.array([f"n{k}" for k in range(rows)])}
    for k in range(int(rng.integers(1, 6))):
        columns[f"c{k}"] = _arrow(rng, rows)
    whole = pa.table(columns)
    if rng.random() < 0.5:
        whole = whole.replace_schema_metadata({"made": "by hand", "pandas": "{not json"})
    path = folder / "nodes.parquet"
    pq.write_table(whole, path)
    return path


def _arrow(rng: np.random.Generator, rows: int) -> Any:
    values = rng.normal(50, 20, rows)
    gaps = rng.random(rows) < 0.1

    def gapped(cells: list[Any]) -> list[Any]:
        return [None if gap else cell for cell, gap in zip(cells, gaps, strict=True)]

    day = datetime.date(2020, 1, 1)
    kinds: list[Callable[[], Any]] = [
        lambda: pa.array(gapped([int(v) % 100 for v in values]), pa.int8()),
        lambda: pa.array(gapped([int(v * 1e16) for v in values]), pa.int64()),
        lambda: pa.array(gapped([int(abs(v) * 1e17) for v in values]), pa.uint64()),
        lambda: pa.array(gapped(values.tolist()), pa.float32()),
        lambda: pa.array(gapped([float(v) * 1e300 for v in values]), pa.float64()),
        lambda: pa.array(values.astype(np.float16)),
        lambda: pa.array(gapped([Decimal(f"{v:.2f}") for v in values]), pa.decimal128(9, 2)),
        lambda: pa.array(gapped(words(rng, rows)), pa.string()),
        lambda: pa.array(gapped(words(rng, rows)), pa.string()).dictionary_encode(),
        lambda: pa.array(gapped(column(rng, rows)), pa.large_string()),
        lambda: pa.array(gapped([v > 50 for v in values]), pa.bool_()),
        lambda: pa.array(gapped([day + datetime.timedelta(int(abs(v))) for v in values]), pa.date32()),
        lambda: pa.array(gapped([int(v * 1e6) for v in values]), pa.timestamp("us", tz="UTC")),
        lambda: pa.array(gapped([[1, 2]] * rows), pa.list_(pa.int64())),
        lambda: pa.array(gapped([{"a": 1}] * rows), pa.struct([("a", pa.int64())])),
        lambda: pa.array(gapped([b"\xff\0"] * rows), pa.binary()),
        lambda: pa.nulls(rows),
        lambda: pa.array(gapped([int(abs(v)) for v in values]), pa.duration("ms")),
        lambda: pa.array(gapped([int(abs(v)) for v in values]), pa.time32("s")),
    ]
    return kinds[int(rng.integers(len(kinds)))]()


def write_graphml(rng: np.random.Generator, folder: Path, rows: int) -> Path:
    width = int(rng.integers(1, 5))
    types = [str(rng.choice(["int", "long", "double", "float", "string", "boolean"])) for _ in range(width)]
    columns = []
    for kind in types:
        numeric = kind in ("int", "long", "double", "float")
        cells = column(rng, rows) if rng.random() < 0.2 else numbers(rng, rows) if numeric else words(rng, rows)
        columns.append([cell if "\0" not in cell else "" for cell in cells])
    prefix = "g:" if rng.random() < 0.2 else ""
    space = "http://graphml.graphdrawing.org/xmlns"
    lines = ['<?xml version="1.0" encoding="UTF-8"?>'] if rng.random() < 0.8 else []
    if rng.random() < 0.3:
        lines += ['<!DOCTYPE graphml SYSTEM "graphml.dtd">', "<!-- made -- by hand -->".replace(" -- ", " ")]
    lines.append(f"<{prefix}graphml xmlns{':g' if prefix else ''}={quoteattr(space)}>")
    for k, kind in enumerate(types):
        default = f"<{prefix}default>7</{prefix}default>" if rng.random() < 0.3 else ""
        lines.append(f'<{prefix}key id="d{k}" for="node" attr.name="c{k}" attr.type="{kind}">{default}</{prefix}key>')
    lines.append(f'<{prefix}graph edgedefault="undirected">')
    for row in range(rows):
        data = [
            f'<{prefix}data key="d{k}">{escape(columns[k][row])}</{prefix}data>'
            for k in range(width)
            if rng.random() < 0.9
        ]
        inner = "".join(data) + ("<!-- c -->" if rng.random() < 0.1 else "")
        lines.append(f'<{prefix}node id="n{row}">{inner}</{prefix}node>' if inner else f'<{prefix}node id="n{row}"/>')
    ends = [(int(a), int(b)) for a, b in rng.integers(max(1, rows), size=(2 * rows, 2))]
    lines += [f'<{prefix}edge source="n{a}" target="n{b}"/>' for a, b in ends]
    lines.append(f"</{prefix}graph></{prefix}graphml>")
    path = folder / "nodes.graphml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _matrix(rng: np.random.Generator, rows: int) -> np.ndarray[Any, Any]:
    kind = str(rng.choice(["float32", "float64", "float16", "int64", "uint8", "bool"]))
    x = rng.normal(50, 20, (rows, int(rng.integers(1, 6))))
    if kind.startswith("float") and rng.random() < 0.4 and x.size:
        x[rng.random(x.shape) < 0.1] = np.nan
    if kind == "float64" and rng.random() < 0.2:
        x = x * 1e300
    if kind == "int64" and rng.random() < 0.3:
        return (x * 1e15).astype(np.int64)
    return (
        (np.nan_to_num(x) if not kind.startswith("float") else x).clip(0, None if kind[0] == "f" else 120).astype(kind)
    )


def _ends(rng: np.random.Generator, rows: int) -> np.ndarray[Any, Any]:
    ends = rng.integers(max(1, rows), size=(2, 2 * rows))
    return ends + (rows if rng.random() < 0.05 else 0)


def write_npz(rng: np.random.Generator, folder: Path, rows: int) -> Path:
    x = _matrix(rng, rows)
    arrays: dict[str, Any] = {"edge_index": _ends(rng, rows), "y": np.arange(rows)}
    if rng.random() < 0.3:
        import scipy.sparse as sp

        matrix = sp.csr_matrix(np.nan_to_num(x).astype(np.float64))
        if rng.random() < 0.4 and matrix.nnz:
            part = matrix.indices if rng.random() < 0.5 else matrix.indptr
            part[int(rng.integers(part.size))] = int(rng.choice([-1, 10**8, 2**31 - 1]))
        parts = (matrix.data, matrix.indices, matrix.indptr, np.array(x.shape))
        arrays |= dict(zip(("attr_data", "attr_indices", "attr_indptr", "attr_shape"), parts, strict=True))
    else:
        arrays["x"] = x
    if rng.random() < 0.1:
        arrays["edge_weight"] = rng.choice([1.0, 1e300, 1e-300, np.nan, -1.0], size=arrays["edge_index"].shape[1])
    if rng.random() < 0.2:
        arrays["columns"] = np.array([str(rng.choice(JUNK)) + str(k) for k in range(x.shape[1])])
    path = folder / "nodes.npz"
    np.savez_compressed(path, **arrays)
    return path


def write_pt(rng: np.random.Generator, folder: Path, rows: int) -> Path:
    x = torch.from_numpy(_matrix(rng, rows))
    if x.is_floating_point() and rng.random() < 0.3:
        x = x.to(torch.bfloat16)
    if rng.random() < 0.3 and x.dtype != torch.bool:
        x = x.nan_to_num() if x.is_floating_point() else x
        x = x.to_sparse_coo() if rng.random() < 0.5 else x.to_sparse_csr()
    content: Any = {"x": x, "edge_index": torch.from_numpy(_ends(rng, rows))}
    if rng.random() < 0.5:
        content = Data(**content, y=torch.arange(rows))
    path = folder / "nodes.pt"
    torch.save(content, path)
    return path


def write_sqlite(rng: np.random.Generator, folder: Path, rows: int) -> Path:
    """A table in which every cell has a type of its own, with triggers, keys and computed columns."""
    path = folder / "nodes.sqlite"
    width = int(rng.integers(1, 6))
    odd = ["rowid", "a b", "group", 'q"q', "名"]
    names = [f"{'c' if rng.random() < 0.8 else rng.choice(odd)}{k}" for k in range(width)]
    makers: list[Callable[[], list[Any]]] = [
        lambda: [int(float(v)) for v in np.abs(rng.normal(50, 20, rows))],
        lambda: rng.normal(50, 20, rows).tolist(),
        lambda: words(rng, rows),
        lambda: column(rng, rows),
        lambda: [rng.bytes(3) if rng.random() < 0.5 else "x" for _ in range(rows)],
        lambda: [[1, 2.5, "x", None, 2**62][int(rng.integers(5))] for _ in range(rows)],
    ]
    cells = [makers[int(rng.integers(len(makers)))]() for _ in range(width)]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    types = [str(rng.choice(["", "TEXT", "INTEGER", "REAL", "NUMERIC", "BLOB"])) for _ in names]
    key = " PRIMARY KEY" if rng.random() < 0.4 else ""
    computed = ", up AS (upper(id))" if rng.random() < 0.2 else ""
    without = " WITHOUT ROWID" if key and rng.random() < 0.5 else ""
    declared = ", ".join(f"{name} {kind}" for name, kind in zip(quoted, types, strict=True))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as file:
        if rng.random() < 0.2:
            file.execute("PRAGMA encoding = 'UTF-16'")
        file.execute(f"CREATE TABLE nodes (id TEXT{key}, {declared}{computed}){without}")
        marks = ",".join("?" * (width + 1))
        lines = [(f"n{row}", *(part[row] for part in cells)) for row in range(rows)]
        file.executemany(f"INSERT INTO nodes (id, {', '.join(quoted)}) VALUES ({marks})", lines)
        if rng.random() < 0.5:
            file.execute("CREATE TRIGGER t AFTER UPDATE ON nodes BEGIN DELETE FROM nodes; END")
        if rng.random() < 0.2:
            file.execute("CREATE VIEW v AS SELECT * FROM nodes")
    return path


WRITERS: dict[str, Callable[[np.random.Generator, Path, int], Path]] = {
    "csv": write_csv,
    "parquet": write_parquet,
    "graphml": write_graphml,
    "npz": write_npz,
    "pt": write_pt,
    "sqlite": write_sqlite,
}


def write_edges(rng: np.random.Generator, folder: Path, rows: int) -> Path:
    """Two columns of ids, most of the time of the same nodes."""
    ends = [[f"n{a}", f"n{b}"] for a, b in rng.integers(max(1, rows), size=(2 * rows, 2))]
    header = ["source", "target"]
    if rng.random() < 0.3:
        header.append("weight")
        ends = [[*pair, str(rng.choice(["1", "2.5", "-1", "nan", "inf", "1e300", "x", ""]))] for pair in ends]
    share = float(rng.choice([0.0, 0.03, 0.2, 0.8], p=[0.6, 0.2, 0.15, 0.05]))
    ends = [[str(rng.choice(JUNK)), *pair[1:]] if rng.random() < share else pair for pair in ends]
    out = io.StringIO()
    lines = [header, *ends] if rng.random() < 0.95 else ends
    csv.writer(out, lineterminator="\n").writerows(lines)
    path = folder / "edges.csv"
    path.write_text(out.getvalue(), encoding="utf-8", newline="")
    if rng.random() < 0.1:
        damage(rng, path)
    return path
