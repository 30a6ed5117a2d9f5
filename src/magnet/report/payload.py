"""What a report shows, as plain values."""

from __future__ import annotations

import math
import shlex
from typing import Any

import numpy as np
import pandas as pd

from magnet import __version__
from magnet.cleaner import CleanResult
from magnet.tables.cells import say
from magnet.tables.values import cell_text

MOST_CELLS = 50_000
MOST_NEIGHBOURS = 24
MOST_ROWS, MOST_COLUMNS = 40, 40
DIGITS = 9  # of probabilities: those in the list and those that are counted are the same
BINS = 50
LARGEST_EXACT = 2**53 - 1  # whole numbers that a browser's numbers hold
ACTIONS = ("corrected", "filled", "kept")


def payload(result: CleanResult, run: dict[str, Any] | None = None) -> dict[str, Any]:
    """Everything that the page needs, ready for JSON.

    Args:
        result: the cleaned table.
        run: how it was made: ``title``, ``command``, ``nodes`` (path), ``sha256``, ``encoding``.
    """
    run = run or {}
    table, findings = result.table, result.model.findings_
    cells = result.suspicious_cells.head(MOST_CELLS)
    counts = result.counts
    suspicious = findings.flagged | result.model.encoded_.unreadable
    probability = np.where(result.model.encoded_.unreadable, 1.0, findings.probability)
    above, nodes_above, histogram = _distribution(probability, ~result.model.encoded_.missing)
    notes = _notes(result)
    if len(result.suspicious_cells) > len(cells):
        rest = len(result.suspicious_cells) - len(cells)
        notes.append(f"This page shows the first {len(cells)} cells; suspicious_cells.csv holds {rest} more.")
    return {
        "title": run.get("title", "Cleaned table"),
        "subtitle": f"MAGnet {__version__}: {table.num_nodes} nodes, {len(table.used)} columns looked at, "
        f"{table.links.edge_index.shape[1] // 2} links",
        "tiles": [
            [int(suspicious.sum()), "cells judged wrong"],
            [counts["corrected"], "corrected"],
            [counts["filled"], "missing cells filled"],
            [counts["kept"], "listed and kept"],
            [int(suspicious.any(axis=1).sum()), f"of {table.num_nodes} nodes with such cells"],
            [f"{result.model.share_:.1%}", "of the rows hold something wrong (estimate)"],
        ],
        "notes": notes,
        "threshold": round(_threshold(result), 2),
        "above": above,
        "nodes_above": nodes_above,
        "histogram": histogram,
        "fields": _fields(result),
        "nodes": _worst_nodes(result.suspicious_cells),
        "cells": _columns(cells, {f.name: k for k, f in enumerate(table.fields)}),
        "neighbours": _neighbours(result, cells),
        "heat": _heat(result),
        "facts": [
            *([name, value] for name, value in table.facts.items()),
            *([name, value] for name, value in table.links.facts.items()),
        ],
        "repeat": run.get("command", "result = magnet.clean(nodes, edges)  # with the same arguments"),
        "apply": f"magnet apply decisions.json {shlex.quote(str(run.get('nodes', 'NODES')))} -o FILE",
        "decisions": {
            "format": "magnet decisions",
            "version": 1,
            "nodes": run.get("nodes"),
            "sha256": run.get("sha256"),
            "encoding": run.get("encoding"),
        },
    }


def _threshold(result: CleanResult) -> float:
    return float(getattr(result.model.detector_, "threshold_", 0.5))


def _notes(result: CleanResult) -> list[str]:
    table, gate = result.table, result.model.gate_
    notes = []
    if table.links.kind == "none":
        notes.append("No edges were given: each cell was compared with its column and with the rest of its row.")
    if gate is not None and gate.open and table.links.kind == "given":
        notes.append(
            f"The neighbours say something about the rows: a node's own row is told from another's with an AUROC of "
            f"{gate.power:.2f} (0.5 would be chance)."
        )
    elif gate is not None and not gate.open:
        notes.append(f"No row as a whole was judged: {gate.reason}.")
    if "an unknown id" in table.links.facts:
        lost = table.links.facts["edges to unknown ids"]
        notes.append(
            f"{lost} edges name a node that is not in the table, such as {table.links.facts['an unknown id']!r}."
        )
    if table.facts.get("rows whose id another row has"):
        notes.append("Some ids occur more than once: their edges were given to the first row with that id.")
    return notes


def _distribution(probability: Any, present: Any) -> tuple[list[int], list[int], list[int]]:
    """Cells and nodes above each hundredth, and a histogram."""
    values = np.where(present, np.round(probability.astype(np.float64), DIGITS), -1.0)
    steps = np.arange(101) / 100
    sorted_cells, sorted_nodes = np.sort(values.ravel()), np.sort(values.max(axis=1))
    above = [int(sorted_cells.size - np.searchsorted(sorted_cells, t, side="right")) for t in steps]
    nodes = [int(sorted_nodes.size - np.searchsorted(sorted_nodes, t, side="right")) for t in steps]
    histogram = np.histogram(values[present], bins=BINS, range=(0.0, 1.0))[0]
    return above, nodes, histogram.tolist()


def _fields(result: CleanResult) -> list[dict[str, Any]]:
    encoded, findings = result.model.encoded_, result.model.findings_
    place = {f.name: k for k, f in enumerate(encoded.fields)}
    shown = []
    for f in result.table.fields:
        entry: dict[str, Any] = {"name": f.name, "kind": f.kind, "note": f.note, "used": f.used}
        entry |= {
            "suspicious": 0,
            "missing": 0,
            "low": None,
            "high": None,
            "log": f.log,
            "comma": f.comma,
            "group": f.group,
        }
        if f.used:
            k = place[f.name]
            column = encoded.columns[k]
            entry["suspicious"] = int((findings.flagged[:, k] | encoded.unreadable[:, k]).sum())
            entry["missing"] = int(encoded.missing[:, k].sum())
            if f.kind in ("categorical", "binary"):
                entry["categories"] = [_json(value) for value in f.values]
            else:
                values = f.quantity(encoded.x[:, column.start].numpy())[findings.trust[:, k]]
                if values.size:
                    entry["low"], entry["high"] = (_json(v) for v in np.quantile(values, [0.01, 0.99]))
        shown.append(entry)
    return shown


def _columns(cells: pd.DataFrame, place: dict[str, int]) -> dict[str, list[Any]]:
    return {
        "node": [str(node) for node in cells["node"]],
        "column": [place[name] for name in cells["column"]],
        "observed": [_json(value) for value in cells["observed"]],
        "suggested": [_json(value) for value in cells["suggested"]],
        "action": [ACTIONS.index(action) for action in cells["action"]],
        "score": [_short(value) for value in cells["score"]],
        "probability": [_json(value) for value in np.round(cells["probability"].to_numpy(float), DIGITS)],
        "reason": list(cells["reason"]),
        "row": [int(row) for row in cells["row"]],
    }


def _neighbours(result: CleanResult, cells: pd.DataFrame) -> list[list[list[Any]]]:
    """For each cell, what its neighbours hold: those that are believed, then those that are not."""
    encoded, findings = result.model.encoded_, result.model.findings_
    index = result.table.links.edge_index
    start = np.searchsorted(index[0], np.arange(result.table.num_nodes + 1))
    values, trust = {}, {}
    for k, (f, column) in enumerate(zip(encoded.fields, encoded.columns, strict=True)):
        x = encoded.x[:, column.start : column.stop].numpy()
        gone = np.isnan(x[:, 0])
        if f.kind == "categorical":
            values[f.name] = np.where(gone, -1, np.nan_to_num(x).argmax(axis=1))
        elif f.kind == "binary":
            values[f.name] = np.where(gone, -1, np.nan_to_num(x[:, 0]))
        else:
            values[f.name] = f.quantity(x[:, 0])
        trust[f.name] = np.where(gone, -1, findings.trust[:, k].astype(int))
    codes = {f.name for f in encoded.fields if f.kind in ("categorical", "binary")}
    shown = []
    for row, name in zip(cells["row"].tolist(), cells["column"].tolist(), strict=True):
        around = index[1, start[row] : start[row + 1]]
        groups = []
        for wanted in (1, 0):
            chosen = values[name][around[trust[name][around] == wanted][:MOST_NEIGHBOURS]]
            groups.append([int(v) for v in chosen] if name in codes else [_short(v) for v in chosen])
        shown.append(groups)
    return shown


def _worst_nodes(cells: pd.DataFrame, most: int = 50) -> list[list[Any]]:
    doubtful = cells[cells["probability"].notna()]
    if doubtful.empty:
        return []
    groups = doubtful.groupby("row", sort=False)
    table = pd.DataFrame({"node": groups["node"].first(), "count": groups.size(), "most": groups["probability"].max()})
    table = table.sort_values(["count", "most"], ascending=False, kind="stable").head(most)
    rows = zip(table["node"], table["count"], table["most"], strict=True)
    return [[str(node), int(count), _short(value)] for node, count, value in rows]


def _heat(result: CleanResult) -> dict[str, Any]:
    """Scaled values before and after, for the nodes and columns with most to see."""
    encoded, cells = result.model.encoded_, result.suspicious_cells
    place = {f.name: k for k, f in enumerate(encoded.fields)}
    shown = cells[cells["probability"].notna()] if cells["probability"].notna().any() else cells
    rows = shown["row"].value_counts().index[:MOST_ROWS].tolist() if len(shown) else []
    names = shown["column"].value_counts().index.tolist() if len(shown) else []
    names += [f.name for f in encoded.fields if f.name not in names]
    chosen = sorted(place[name] for name in names[:MOST_COLUMNS])
    changed = {
        (row, name)
        for row, name, action in cells[["row", "column", "action"]].itertuples(index=False)
        if action != "kept"
    }
    before, after, marks = [], [], []
    for row in rows:
        old = [_scaled(result, row, k, encoded.x) for k in chosen]
        done = [(row, encoded.fields[k].name) in changed for k in chosen]
        new = [
            _scaled(result, row, k, result.model.x_) if mark else value
            for k, mark, value in zip(chosen, done, old, strict=True)
        ]
        before.append(old)
        after.append(new)
        marks.append([int(mark) for mark in done])
    return {
        "rows": [str(result.table.ids.iloc[row]) for row in rows],
        "columns": [encoded.fields[k].name for k in chosen],
        "categorical": [encoded.fields[k].kind == "categorical" for k in chosen],
        "before": before,
        "after": after,
        "changed": marks,
    }


def _scaled(result: CleanResult, row: int, k: int, x: Any) -> float | int | None:
    encoded = result.model.encoded_
    column, kind = encoded.columns[k], encoded.fields[k].kind
    value = x[row, column.start : column.stop].numpy()
    if np.isnan(value[0]):
        return None
    if kind == "categorical":
        return int(value.argmax())
    return _short(6 * float(value[0]) - 3 if kind == "binary" else float(value[0]))


def _short(value: Any) -> Any:
    """Four digits are enough to draw with."""
    number = float(value)
    return float(f"{number:.4g}") if math.isfinite(number) else None


def _json(value: Any) -> Any:
    """A user's value as JSON has it; what JSON has no word for becomes text."""
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else say(value)
    if isinstance(value, int) and abs(value) > LARGEST_EXACT:
        return str(value)  # a browser would round it
    return value if isinstance(value, bool | int | float | str) else cell_text(value)
