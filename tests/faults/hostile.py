"""Hostile tables: what users' files hold when things went wrong, drawn from a seed."""

from __future__ import annotations

import codecs
import csv
import datetime
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch_geometric.data import Data

FORMATS = ("csv", "parquet", "graphml", "npz", "pt")
JUNK = (
    "", " ", "NA", "nan", "inf", "-inf", "1e400", "-0", "0x10", "1_000", "٣", "½", "=1+1", "@SUM(A1)", "+49 30", "a;=1",
    "<script>alert(1)</script>", "</script>", "'; DROP TABLE nodes;--", '"', "a\"b", "a,b", "a;b", "a\tb", "l\nb",
    "NULL", "None", "True", "#REF!", "\u202e\u0645", "é", "日本", "x" * 500, "1,523", "1.234,5", "2024-02-30", "0007",
    "9" * 40, "1e-320", "{{policy}}", "%s%n", "../../etc/passwd", "\ufeff", "1 000",
)  # fmt: skip
NAMES = ("id", "age", "pay", "kind", "x", "=1+1", "a,b", "a;b", 'q"q', "名", "</script>", " ", "line\nbreak", "n" * 300)


@dataclass
class Case:
    """A command that is to be tried.

    Args:
        seed: it was drawn from.
        family: what kind of case it is, for the counts.
        nodes: the table.
        arguments: of ``magnet clean`` besides the table and ``-o``.
        output: the folder that is named.
        damaged: some bytes were changed after the file was written.
    """

    seed: int
    family: str
    nodes: Path
    arguments: list[str] = field(default_factory=list)
    output: Path = Path()
    damaged: bool = False


def make_case(seed: int, folder: Path) -> Case:
    """Write the files of a case into ``folder``."""
    rng = np.random.default_rng([seed, 20])
    form = FORMATS[int(rng.choice(len(FORMATS), p=[0.44, 0.2, 0.14, 0.12, 0.1]))]
    rows = int(rng.choice([0, 1, 2, 3, 7, 15, 30, 40], p=[0.02, 0.02, 0.02, 0.02, 0.07, 0.2, 0.3, 0.35]))
    nodes = WRITERS[form](rng, folder, rows)
    case = Case(seed, form, nodes, output=folder / "out")
    if rng.random() < 0.15:
        damage(rng, nodes)
        case.damaged, case.family = True, f"{form}, damaged"
    if form in ("csv", "parquet") and rng.random() < 0.5:
        case.arguments += ["--edges", str(write_edges(rng, folder, rows))]
    case.arguments += options(rng, folder, rows)
    _odd_output(rng, case, folder)
    return case


def make_flipped(seed: int, folder: Path) -> Case:
    """A table in one of the formats, with a few bits flipped and nothing else odd."""
    rng = np.random.default_rng([seed, 23])
    form = FORMATS[seed % len(FORMATS)]
    nodes = WRITERS[form](rng, folder, 30)
    damage(rng, nodes, "flip")
    return Case(seed, f"{form}, bits flipped", nodes, ["--fix", "all"], folder / "out", damaged=True)


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


# -- cells ---------------------------------------------------------------------------------------------------


def _numbers(rng: np.random.Generator, rows: int) -> list[str]:
    kind = rng.choice(["small", "large", "huge", "price", "comma", "thousands", "science", "tiny", "pointed", "edge"])
    values = np.abs(rng.normal(50, 20, rows)) + 1
    make: dict[str, Callable[[float], str]] = {
        "small": lambda v: str(int(v)),
        "large": lambda v: str(int(v * 1e9)),
        "huge": lambda v: str(int(v) * 10**18 + 7),
        "price": lambda v: f"{v:.2f}",
        "comma": lambda v: f"{v:.2f}".replace(".", ","),
        "thousands": lambda v: f"{int(v * 100):,}",
        "science": lambda v: f"{v * 1e-9:.3e}",
        "tiny": lambda v: f"{v * 1e-5:.8f}",
        "pointed": lambda v: f"{int(v)}.0",
        "edge": lambda v: repr(float(v) * 3e306),
    }
    return [make[str(kind)](float(v)) for v in values]


def _words(rng: np.random.Generator, rows: int) -> list[str]:
    palette = [str(word) for word in rng.choice(["red", "green", "blue", "yes", "no", "Ä", "x y"], 3, replace=False)]
    return [palette[int(k)] for k in rng.integers(len(palette), size=rows)]


def _dates(rng: np.random.Generator, rows: int) -> list[str]:
    return [str(datetime.date(2020, 1, 1) + datetime.timedelta(int(k))) for k in rng.integers(900, size=rows)]


def _column(rng: np.random.Generator, rows: int) -> list[str]:
    makers = (_numbers, _numbers, _numbers, _words, _words, _dates)
    cells = makers[int(rng.integers(len(makers)))](rng, rows)
    if rng.random() < 0.15:
        cells = [str(rng.choice(JUNK)) for _ in range(rows)]
    for row in range(rows):
        if rng.random() < 0.06:
            cells[row] = str(rng.choice(JUNK))
    if rng.random() < 0.1:
        cells = [cells[0] if cells else ""] * rows
    return cells


def _names(rng: np.random.Generator, width: int) -> list[str]:
    if rng.random() < 0.85:
        return ["id", *(f"c{k}" for k in range(width - 1))]
    return [str(rng.choice(NAMES)) for _ in range(width)]


def _table(rng: np.random.Generator, rows: int) -> tuple[list[str], list[list[str]]]:
    width = int(rng.integers(2, 8))
    ids = [f"n{k}" for k in range(rows)]
    if rows and rng.random() < 0.2:
        ids[int(rng.integers(rows))] = str(rng.choice(JUNK))
    return _names(rng, width), [ids, *(_column(rng, rows) for _ in range(width - 1))]


# -- files ---------------------------------------------------------------------------------------------------


def write_csv(rng: np.random.Generator, folder: Path, rows: int) -> Path:
    names, columns = _table(rng, rows)
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
    table = pa.table(columns)
    if rng.random() < 0.5:
        table = table.replace_schema_metadata({"made": "by hand", "pandas": "{not json"})
    path = folder / "nodes.parquet"
    pq.write_table(table, path)
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
        lambda: pa.array(gapped(_words(rng, rows)), pa.string()),
        lambda: pa.array(gapped(_words(rng, rows)), pa.string()).dictionary_encode(),
        lambda: pa.array(gapped(_column(rng, rows)), pa.large_string()),
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
        cells = _column(rng, rows) if rng.random() < 0.2 else _numbers(rng, rows) if numeric else _words(rng, rows)
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


WRITERS: dict[str, Callable[[np.random.Generator, Path, int], Path]] = {
    "csv": write_csv,
    "parquet": write_parquet,
    "graphml": write_graphml,
    "npz": write_npz,
    "pt": write_pt,
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


# -- options -------------------------------------------------------------------------------------------------


def options(rng: np.random.Generator, folder: Path, rows: int) -> list[str]:
    """Options of ``magnet clean``, right and wrong ones."""
    name = str(rng.choice(["id", "c0", "c1", "nowhere", ""]))
    choices: list[list[str]] = [
        ["--fix", str(rng.choice(["none", "all", "all", "confident", "bogus"]))],
        ["--id", name],
        ["--label", name],
        ["--columns", f"{name},c0"],
        ["--exclude", name],
        ["--threshold", str(rng.choice(["0.2", "0", "1", "-1", "7", "nan", "inf"]))],
        ["--max-share", str(rng.choice(["0", "0.1", "1", "2", "nan", "-1"]))],
        ["--encoding", str(rng.choice(["utf-8", "latin-1", "utf-16", "base64", "idna", "nonsense", "utf-7", "mbcs"]))],
        ["--fdr", str(rng.choice(["0.1", "0", "1.5", "nan"]))],
        ["--seed", str(rng.choice([0, 7, 2**31, 2**70, -1]))],
        ["--trusted", str(_trusted(rng, folder, rows))],
        ["--schema", str(_schema(rng, folder))],
        ["--detector", str(rng.choice(["auto", "none", "zscore", "bogus"]))],
        ["--device", str(rng.choice(["cpu", "cuda", "bogus"]))],
        ["--allow-unknown-ids"],
    ]
    chosen = rng.choice(len(choices), size=int(rng.choice([0, 1, 2, 3], p=[0.55, 0.25, 0.15, 0.05])), replace=False)
    picked = [word for k in chosen for word in choices[int(k)]]
    return picked if "--fix" in picked else [*picked, "--fix", str(rng.choice(["all", "confident"]))]


def _trusted(rng: np.random.Generator, folder: Path, rows: int) -> Path:
    path = folder / "trusted.csv"
    names = [f"n{k}" for k in rng.integers(max(1, rows + 1), size=4)]
    head = str(rng.choice(["node,column", "node", "wrong,column", ""]))
    path.write_text("\n".join([head, *(f"{name},{rng.choice(['c0', 'c1', 'x'])}" for name in names)]) + "\n")
    return path


def _schema(rng: np.random.Generator, folder: Path) -> Path:
    path = folder / "schema.toml"
    texts = [
        '[columns]\nc0 = "continuous"\n',
        '[columns]\nc0 = "categorical"\n',
        '[columns]\nc0 = { kind = "count", log = true, decimals = 2, missing = ["-1"] }\n',
        '[columns]\nc0 = { kind = "binary" }\n',
        'missing = ["", "NA", "red"]\n',
        "missing = 7\n",
        '[columns]\nnowhere = "text"\n',
        "[columns\n",
        "columns = 3\n",
        '[columns]\nc0 = "bogus"\n',
        "[columns]\nc0 = { kind = 3 }\n",
        "\0",
    ]
    path.write_text(str(rng.choice(texts)))
    return path


def _odd_output(rng: np.random.Generator, case: Case, folder: Path) -> None:
    drawn = rng.random()
    if drawn < 0.03:
        case.output = folder / "a" / "b" / "öut put"
    elif drawn < 0.05:
        case.output.mkdir()
        (case.output / "mine.txt").write_text("precious")
    elif drawn < 0.07:
        case.output.mkdir()
        (case.output / "mine.txt").write_text("precious")
        case.arguments.append("--force")
    elif drawn < 0.08:
        case.output.write_text("a file")
    elif drawn < 0.09:
        (folder / "real").mkdir()
        case.output.symlink_to(folder / "real")


# -- data frames ---------------------------------------------------------------------------------------------


def make_frame(seed: int) -> pd.DataFrame:
    """A data frame with an odd index, odd labels and columns of any type."""
    rng = np.random.default_rng([seed, 21])
    rows = int(rng.choice([2, 7, 20, 40]))
    values = rng.normal(50, 20, rows)
    gaps = rng.random(rows) < 0.1

    def gapped(cells: Any) -> list[Any]:
        return [None if gap else cell for cell, gap in zip(cells, gaps, strict=True)]

    makers: list[Callable[[], Any]] = [
        lambda: pd.Series(values),
        lambda: pd.Series(values.astype(np.float32)),
        lambda: pd.Series(values.astype(int)),
        lambda: pd.Series(pd.array(gapped([int(v * 1e15) for v in values]), dtype="Int64")),
        lambda: pd.Series(pd.array(gapped(values.tolist()), dtype="Float32")),
        lambda: pd.Series(pd.array(gapped([bool(v > 50) for v in values]), dtype="boolean")),
        lambda: pd.Series(gapped([bool(v > 50) for v in values]), dtype=object),
        lambda: pd.Series(gapped([Decimal(f"{v:.2f}") for v in values]), dtype=object),
        lambda: pd.Series(gapped([datetime.date(2020, 1, 1)] * rows), dtype=object),
        lambda: pd.Series(pd.Categorical(gapped(_words(rng, rows)))),
        lambda: pd.Series(gapped(_words(rng, rows)), dtype="str"),
        lambda: pd.Series(gapped(_column(rng, rows)), dtype=object),
        lambda: pd.Series(pd.to_datetime([1e15 * k for k in range(rows)])),
        lambda: pd.Series([[1]] * rows, dtype=object),
        lambda: pd.Series(values + 1j),
        lambda: pd.Series(pd.array(gapped([int(abs(v)) % 100 for v in values]), dtype=pd.ArrowDtype(pa.int8()))),
        lambda: pd.Series(gapped([2**70 + int(v) for v in values]), dtype=object),
        lambda: pd.Series(gapped(([1, "a", 2.5, None, True] * rows)[:rows]), dtype=object),
        lambda: pd.Series(pd.arrays.SparseArray(np.where(values > 60, values, 0.0))),
    ]
    labels: list[Any] = [0, "a", ("x", 1), 2.5, "=1+1", "b", True, "c"]
    width = int(rng.integers(1, 6))
    frame = pd.DataFrame({labels[k]: makers[int(rng.integers(len(makers)))]() for k in range(width)})
    indexes: list[Callable[[], Any]] = [
        lambda: pd.RangeIndex(rows),
        lambda: pd.Index([f"r{k}" for k in range(rows)], name="key"),
        lambda: pd.MultiIndex.from_arrays([np.arange(rows) % 3, np.arange(rows)]),
        lambda: pd.Index([0] * rows),
        lambda: pd.date_range("2020", periods=rows),
    ]
    frame.index = indexes[int(rng.integers(len(indexes)))]()
    return frame


def make_decisions(seed: int, nodes: Path) -> str:
    """The text of a decisions file, nearly always a wrong one."""
    rng = np.random.default_rng([seed, 22])
    odd: list[Any] = [None, True, -1, 10**30, 1.5, "x", [], {}, "c0", "id", "1e999", "nan", "\ud800"]
    cells = [
        {
            "row": odd[int(rng.integers(len(odd)))] if rng.random() < 0.3 else int(rng.integers(5)),
            "column": odd[int(rng.integers(len(odd)))] if rng.random() < 0.3 else "c0",
            "suggested": odd[int(rng.integers(len(odd)))],
            "accept": odd[int(rng.integers(len(odd)))] if rng.random() < 0.2 else True,
        }
        for _ in range(int(rng.integers(4)))
    ]
    content: dict[str, Any] = {"format": "magnet decisions", "version": 1, "nodes": str(nodes), "cells": cells}
    for name in ("format", "version", "nodes", "cells", "sha256", "encoding"):
        if rng.random() < 0.08:
            content[name] = odd[int(rng.integers(len(odd)))]
    text = json.dumps(content)
    return text if rng.random() < 0.8 else text[: int(rng.integers(len(text)))]
