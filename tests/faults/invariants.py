"""What must hold after every command, whether it cleaned a table or refused it."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import re
import sqlite3
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import torch
from hostile import Case, make_decisions, make_frame
from typer.testing import CliRunner

import magnet
from magnet.cli import app
from magnet.tables.readers.graphml import ID
from magnet.tables.readers.read import read_nodes
from magnet.tables.values import cell_text, texts
from magnet.tables.write import harmless

runner = CliRunner()
UNWRITABLE = ("nan", "inf", "infinity", "1e400")  # no finite numbers: refused as decisions
OUTPUTS = {"suspicious_cells.csv", "report.html", "run.json"}
COMPUTED_FROM = {"up": "id"}  # a column that the database computes changes with what it is computed from


class Broken(AssertionError):
    """An invariant that did not hold."""


def hold(condition: Any, what: str) -> None:
    if not condition:
        raise Broken(what)


def tree(folder: Path) -> dict[str, str]:
    """Every file below a folder with its checksum; folders and links by name."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        found[name] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
    return found


def invoke(*arguments: str | Path) -> tuple[int, str]:
    """Run a command in this process: its exit code and what it said on the error stream, checked."""
    result = runner.invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise Broken(f"a traceback: {result.exception!r}")
    error = result.stderr
    if "Usage: " in error:  # what the parser of the command line refuses has a form of its own
        hold(result.exit_code == 2, f"exit code {result.exit_code} for a wrong option")
        return 2, error
    lines = error.splitlines()
    said = [line for line in lines if not line.startswith("magnet: warning: ")]
    hold(all(line.startswith("magnet: ") for line in said), f"a line that is not ours: {error[:200]!r}")
    hold("internal error" not in error and "Traceback" not in error, error[:300])
    hold(result.exit_code in (0, 1, 2), f"exit code {result.exit_code}")
    hold(len(said) == (1 if result.exit_code else 0), f"{len(said)} lines for exit code {result.exit_code}: {said[:3]}")
    return result.exit_code, error


def check_clean(case: Case, folder: Path) -> str:
    """Clean the table of a case; ``"cleaned"`` or ``"refused"``, or an exception where an invariant broke."""
    before = tree(folder)
    code, _ = invoke("clean", case.nodes, *case.arguments, "-o", case.output)
    after = tree(folder)
    if code:
        hold(after == before, f"a refusal left {sorted(set(after.items()) ^ set(before.items()))[:3]}")
        return "refused"
    changed = {name for name, digest in before.items() if after.get(name) != digest}
    hold(not changed, f"changed: {sorted(changed)[:3]}")
    out = case.output.resolve()
    made = {path.name for path in out.iterdir()} - {"mine.txt"}
    cleaned = next((out / name for name in made if name.startswith("cleaned.")), None)
    hold(cleaned is not None and made == OUTPUTS | {cleaned.name}, f"it wrote {sorted(made)}")
    hold(not any(name.endswith(".part") for name in after), "unfinished work was left")
    assert cleaned is not None
    listed = _listed(out / "suspicious_cells.csv")
    encoding = json.loads((out / "run.json").read_text(encoding="utf-8"))["settings"].get("encoding")
    _check_cells(case.nodes, cleaned, listed, encoding)
    _check_bytes(case.nodes, cleaned, listed)
    data = _check_apply(case, cleaned, out, folder)
    _check_hand(case, data, folder)
    return "cleaned"


def _listed(path: Path) -> dict[tuple[int, str], tuple[str, str]]:
    """The cells that were changed: row and column, observed and suggested text."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    return {
        (int(line["row"]), line["column"]): (line["observed"], line["suggested"])
        for line in lines
        if line["action"] != "kept"
    }


def _cells(path: Path, encoding: str | None) -> dict[str, list[str]]:
    if path.suffix == ".sqlite":  # where every cell has a type of its own
        _, rows, names = _stored(path)
        return {name: [_plain(row[k]) for row in rows] for k, name in enumerate(names)}
    frame = read_nodes(path, encoding)[0].frame
    return {str(name): texts(frame[name]) for name in frame.columns}


def _number(text: str) -> str:
    """A number as :func:`_plain` writes it."""
    try:
        return _plain(float(text))
    except ValueError:
        return text


def _plain(value: Any) -> str:
    return repr(float(value)) if isinstance(value, int | float) and abs(value) < 2**53 else cell_text(value)


def _check_cells(old: Path, new: Path, listed: dict[tuple[int, str], tuple[str, str]], encoding: str | None) -> None:
    before, after = _cells(old, encoding), _cells(new, encoding)
    hold(list(before) == list(after), "the columns differ")
    places = {harmless(name): name for name in before}
    wanted = {(row, places[column]): words for (row, column), words in listed.items()}
    for name in before:
        hold(len(before[name]) == len(after[name]), "the number of rows differs")
        for row, (a, b) in enumerate(zip(before[name], after[name], strict=True)):
            if (row, name) not in wanted:
                hold(
                    a == b or (row, COMPUTED_FROM.get(name)) in wanted,
                    f"row {row}, {name!r} changed from {a[:40]!r} to {b[:40]!r} and is not listed",
                )
                continue
            observed, suggested = wanted[row, name]
            if old.suffix == ".sqlite":  # 1 and 1.0 are one number
                a, b, observed, suggested = map(_number, (a, b, observed, suggested))
            hold(harmless(a) == observed, f"the list says {observed[:40]!r} stood there; it was {a[:40]!r}")
            hold(harmless(b) == suggested, f"the list says {suggested[:40]!r}; the table {b[:40]!r}")


def _check_bytes(old: Path, new: Path, listed: dict[tuple[int, str], Any]) -> None:
    """What is not a listed cell is the same, read by other code than ours."""
    if old.suffix in (".csv", ".tsv"):
        rows = {row for row, _ in listed}
        before, after = old.read_bytes(), new.read_bytes()
        if not rows:
            hold(before == after, "nothing is listed, but bytes differ")
        kept = len(before.split(b"\n")) - len(rows) * 40  # a record with line breaks has several lines
        same = sum(a == b for a, b in zip(before.split(b"\n"), after.split(b"\n"), strict=False))
        hold(same >= kept or b"\n" not in before, "lines without a listed cell differ")
    elif old.suffix == ".parquet":
        a, b = pq.read_table(old), pq.read_table(new)
        hold(a.schema.equals(b.schema, check_metadata=True), "types or metadata differ")
        columns = {column for _, column in listed}
        for name in a.column_names:
            hold(harmless(name) in columns or a[name].equals(b[name]), f"column {name!r} differs")
    elif old.suffix == ".graphml":
        a, b = (re.sub(rb"(<(?:g:)?data [^>]*>)[^<]*", rb"\1", path.read_bytes()) for path in (old, new))
        hold(len(listed) or old.read_bytes() == new.read_bytes(), "nothing is listed, but bytes differ")
        hold(len(b) >= len(a), "something other than cells was lost")
        ET.fromstring(new.read_bytes())
    elif old.suffix == ".npz":
        with np.load(old) as a, np.load(new) as b:
            hold(sorted(a.files) == sorted(b.files), "arrays were lost or added")
            for name in a.files:
                hold(a[name].dtype == b[name].dtype or name.startswith("attr_"), f"the type of {name} differs")
                same = name == "x" or name.startswith("attr_") or a[name].tobytes() == b[name].tobytes()
                hold(same, f"{name} differs")
    elif old.suffix == ".sqlite":
        a, b = (_stored(path) for path in (old, new))
        hold(a[0] == b[0], "what the database declares differs")
        places = {(row, column) for row, column in listed}
        for row, (left, right) in enumerate(zip(a[1], b[1], strict=True)):
            for name, x, y in zip(a[2], left, right, strict=True):
                known = (row, harmless(name)) in places or (row, COMPUTED_FROM.get(name)) in places
                hold(x == y or known, f"row {row}, {name!r} differs")
    else:
        a, b = (_tensor(path) for path in (old, new))
        hold((a.dtype, a.layout, a.shape) == (b.dtype, b.layout, b.shape), "type or layout differ")


def _stored(path: Path) -> tuple[list[Any], list[Any], list[str]]:
    """What a database declares, its rows in their order, and the columns."""
    with contextlib.closing(sqlite3.connect(path)) as file:
        declared = file.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name").fetchall()
        rows = file.execute("SELECT * FROM nodes")
        return declared, rows.fetchall(), [entry[0] for entry in rows.description]


def _tensor(path: Path) -> torch.Tensor:
    from torch_geometric.data import Data

    content = torch.load(path, weights_only=False)
    assert isinstance(content, Data | dict)
    return content["x"]


def _check_apply(case: Case, cleaned: Path, out: Path, folder: Path) -> dict[str, Any]:
    """The decisions that the report would export, carried out, give the cleaned table."""
    page = (out / "report.html").read_text(encoding="utf-8")
    found = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.S)
    hold(found is not None, "the report holds no data")
    assert found is not None
    data = json.loads(found[1])
    cells, names = data["cells"], [entry["name"] for entry in data["fields"]]
    lines = [
        {
            "row": cells["row"][k],
            "column": names[cells["column"][k]],
            "suggested": cells["suggested"][k],
            "accept": cells["action"][k] != 2,
        }
        for k in range(len(cells["row"]))
    ]
    decisions = folder / "decisions.json"
    decisions.write_text(json.dumps({**data["decisions"], "cells": lines}), encoding="utf-8")
    again = folder / f"again{case.nodes.suffix}"
    code, error = invoke("apply", decisions, case.nodes, "-o", again)
    hold(code == 0, f"apply refused its own decisions: {error[:200]}")
    if case.nodes.suffix in (".csv", ".tsv", ".graphml"):
        hold(again.read_bytes() == cleaned.read_bytes(), "apply gives other bytes")
    else:
        encoding = data["decisions"].get("encoding")
        hold(_cells(again, encoding) == _cells(cleaned, encoding), "apply gives another table")
    return dict(data["decisions"])


def _check_hand(case: Case, about: dict[str, Any], folder: Path) -> None:
    """Decisions made by hand: some cells take what another cell of their column holds, and nothing else changes."""
    rng = np.random.default_rng([case.seed, 24])
    before = _cells(case.nodes, about.get("encoding"))
    wanted: dict[tuple[int, str], str] = {}
    columns = [name for name in before if name != ID]  # which are refused
    if case.nodes.suffix == ".sqlite":  # neither keys, nor what the database computes, nor bytes
        columns = [
            name for name in columns if name not in ("id", "up") and not any(t[:2] == "b'" for t in before[name])
        ]
    if case.damaged and case.nodes.suffix == ".sqlite":
        return  # the database may find the damage only when it writes
    for name in rng.permutation(np.array(columns, dtype=object))[:4].tolist():
        known = [text for text in before[name] if text and text.strip().lower().lstrip("+-") not in UNWRITABLE]
        if known:
            wanted[int(rng.integers(len(before[name]))), name] = str(rng.choice(np.array(known, dtype=object)))
    lines = [{"row": row, "column": name, "suggested": text, "accept": True} for (row, name), text in wanted.items()]
    decisions = folder / "by-hand.json"
    decisions.write_text(json.dumps({**about, "cells": lines}), encoding="utf-8")
    target = folder / f"by-hand{case.nodes.suffix}"
    code, error = invoke("apply", decisions, case.nodes, "-o", target)
    hold(code == 0, f"apply refused what other cells of the column hold: {error[:200]}")
    after = _cells(target, about.get("encoding"))
    hold(list(after) == list(before), "apply changed the columns")
    for name, words in before.items():
        for row, (a, b) in enumerate(zip(words, after[name], strict=True)):
            hold(b == wanted.get((row, name), a), f"row {row}, {name!r} holds {b[:40]!r} after apply")


def check_frame(seed: int) -> str:
    """Clean a data frame: index, labels and types are kept, only listed cells change, the argument is untouched."""
    frame = make_frame(seed)
    before = frame.copy(deep=True)
    try:
        result = magnet.clean(frame, fix="all" if seed % 2 else "confident")
    except (ValueError, magnet.tables.BadTable):
        hold(_same_frame(frame, before), "a refused data frame was changed")
        return "refused"
    new = result.cleaned
    hold(_same_frame(frame, before), "the given data frame was changed")
    hold(new.index.equals(frame.index), "the index differs")
    hold(list(new.columns) == list(frame.columns), "the labels differ")
    hold(new.dtypes.tolist() == frame.dtypes.tolist(), "the types differ")
    cells = result.suspicious_cells
    done = cells[cells["action"] != "kept"] if len(cells) else cells
    listed = dict(zip(zip(done["row"], done["column"], strict=True), done["suggested"], strict=True))
    for k, label in enumerate(frame.columns):
        old_texts, new_texts = texts(frame.iloc[:, k]), texts(new.iloc[:, k])
        for row, (a, b) in enumerate(zip(old_texts, new_texts, strict=True)):
            if (row, str(label)) in listed:
                hold(b == cell_text(listed[row, str(label)]), f"list and table disagree in row {row}, {label!r}")
                old, now = frame.iloc[row, k], new.iloc[row, k]
                known = isinstance(old, bool) and isinstance(now, bool)
                hold(
                    known or type(now) is type(old) or a == "" or frame.dtypes.iloc[k].name == "object",
                    "a type changed",
                )
            else:
                hold(a == b, f"row {row}, {label!r} changed and is not listed")
    return "cleaned"


def _same_frame(a: pd.DataFrame, b: pd.DataFrame) -> bool:
    return all(texts(a.iloc[:, k]) == texts(b.iloc[:, k]) for k in range(a.shape[1])) and a.index.equals(b.index)


def check_decisions(seed: int, folder: Path) -> str:
    """Hostile decisions about a small table."""
    nodes = folder / "nodes.csv"
    nodes.write_text("id,c0,c1\n" + "".join(f"n{k},{20 + k},{'ab'[k % 2]}\n" for k in range(5)))
    (folder / "decisions.json").write_text(make_decisions(seed, nodes), encoding="utf-8", errors="replace")
    before = tree(folder)
    forced = ["--force"] if seed % 3 else []
    code, _ = invoke("apply", folder / "decisions.json", nodes, "-o", folder / "new.csv", *forced)
    after = tree(folder)
    hold({name: after.get(name) for name in before} == before, "apply changed an input")
    hold(
        set(after) - set(before) == (set() if code else {"new.csv"}), f"apply wrote {sorted(set(after) - set(before))}"
    )
    if not code:
        lines = (folder / "new.csv").read_text(encoding="utf-8")
        hold(len(list(csv.reader(io.StringIO(lines)))) == 6, "apply lost rows")
    return "refused" if code else "cleaned"
