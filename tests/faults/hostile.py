"""Hostile cases: tables with odd options, data frames and decisions, drawn from a seed."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from hostile_cells import column, words
from hostile_files import WRITERS, damage, write_edges

FORMATS = ("csv", "parquet", "graphml", "npz", "pt", "sqlite")


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
    form = FORMATS[int(rng.choice(len(FORMATS), p=[0.4, 0.18, 0.12, 0.1, 0.08, 0.12]))]
    rows = int(rng.choice([0, 1, 2, 3, 7, 15, 30, 40], p=[0.02, 0.02, 0.02, 0.02, 0.07, 0.2, 0.3, 0.35]))
    nodes = WRITERS[form](rng, folder, rows)
    case = Case(seed, form, nodes, output=folder / "out")
    if rng.random() < 0.15:
        damage(rng, nodes)
        case.damaged, case.family = True, f"{form}, damaged"
    if form in ("csv", "parquet", "sqlite") and rng.random() < 0.5:
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
        lambda: pd.Series(pd.Categorical(gapped(words(rng, rows)))),
        lambda: pd.Series(gapped(words(rng, rows)), dtype="str"),
        lambda: pd.Series(gapped(column(rng, rows)), dtype=object),
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
