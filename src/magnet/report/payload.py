"""What a report shows, as plain values."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from magnet import __version__
from magnet.arrays import Floats
from magnet.tables.fields import numbers
from magnet.tables.review import LIST_FROM, CleaningRecord
from magnet.tables.values import cell_text, json_value, texts

MOST_CELLS = 50_000  # in the list: as many as the page scrolls through without delay
MAX_NEIGHBORS = 24  # values of linked rows, for each cell
MAX_ROWS, MAX_COLUMNS = 40, 40  # of the table before and after
MAX_LISTED_ROWS = 50  # rows with the most listed cells
MAX_PAIRS = 8  # examples of observed and suggested values, for each column and error type
DIGITS = 9  # of probabilities, rounded alike in the list and in the counts
BINS = 50  # of the histogram of probabilities
ACTIONS = ("corrected", "filled", "kept")


def payload(record: CleaningRecord, run: dict[str, Any] | None = None) -> dict[str, Any]:
    """Everything that the page needs, ready for JSON.

    Args:
        record: the cleaned table.
        run: how it was made: ``title``, ``command``, ``nodes`` (path), ``sha256``, ``encoding``.
    """
    run = run or {}
    table, counts = record.table, record.counts
    cells = record.cells.head(MOST_CELLS)
    links = table.links.edge_index.shape[1] // 2
    notes = record.limits()
    if len(record.cells) > len(cells):
        rest = len(record.cells) - len(cells)
        notes.append(f"This page shows the first {len(cells)} cells; suspicious_cells.csv holds {rest} more.")
    above, rows_above, histogram = _distribution(record.cells)
    linked = f", {links} links" if links else ", no links"
    return {
        "title": run.get("title", "Cleaned table"),
        "subtitle": f"MAGnet {__version__}: {table.num_nodes} rows, {len(record.judged)} of {len(record.roles)} "
        f"columns judged{linked}",
        "tiles": [
            [len(record.cells), "cells listed as suspicious"],
            [counts["corrected"], "corrected"],
            [counts["filled"], "blanks filled"],
            [counts["kept"], "left for you to decide"],
            [int(record.cells["row"].nunique()), f"of {table.num_nodes} rows with such cells"],
        ],
        "notes": notes,
        "linked": bool(links),
        "threshold": LIST_FROM,
        "above": above,
        "rows_above": rows_above,
        "histogram": histogram,
        "fields": _fields(record),
        "errors": _errors(record.cells),
        "nodes": _worst_rows(record.cells),
        "cells": _columns(cells, {name: k for k, name in enumerate(record.roles)}),
        "neighbors": _neighbors(record, cells) if links else [],
        "changes": _changes(record),
        "facts": [[name, value] for name, value in table.shown_facts.items()],
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


def _distribution(cells: pd.DataFrame) -> tuple[list[int], list[int], list[int]]:
    """For each hundredth of probability, the number of acceptable cells at least as probable, and of their rows; and a
    histogram of all cells."""
    probability = np.round(cells["probability"].to_numpy(dtype=np.float64), DIGITS)
    usable = cells["suggested"].notna().to_numpy(dtype=bool)
    steps = np.arange(101) / 100
    ranked = np.sort(probability[usable])
    best = np.sort(pd.Series(probability[usable]).groupby(cells["row"].to_numpy()[usable]).max().to_numpy())
    above = [int(ranked.size - np.searchsorted(ranked, t, side="left")) for t in steps]
    rows = [int(best.size - np.searchsorted(best, t, side="left")) for t in steps]
    return above, rows, np.histogram(probability, bins=BINS, range=(0.0, 1.0))[0].tolist()


def _fields(record: CleaningRecord) -> list[dict[str, Any]]:
    wrong = record.cells["column"].value_counts()
    described = []
    for name, (role, note) in record.roles.items():
        cells = texts(record.table.column(name))
        numeric = role in ("quantity", "unit", "count", "continuous")
        low, high = _range(numbers(pd.Series(cells, dtype="str"))) if numeric else (None, None)
        described.append(
            {
                "name": name,
                "role": role,
                "note": record.not_judged.get(name, record.judged_in_part.get(name, note)),
                "judged": name not in record.not_judged,
                "suspicious": int(wrong.get(name, 0)),
                "blank": sum(1 for text in cells if not text.strip()),
                "numeric": numeric,
                "low": low,
                "high": high,
            }
        )
    return described


def _range(values: Floats) -> tuple[float | None, float | None]:
    """The range of the middle 98 % of a column."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return None, None
    low, high = np.quantile(finite, [0.01, 0.99])
    return _short(low), _short(high)


def _errors(cells: pd.DataFrame) -> list[list[Any]]:
    """Kinds of errors per column, with how often and a few examples as values."""
    groups = []
    for (column, kind), group in cells.groupby(["column", "kind"], sort=False):
        pairs = Counter(
            (cell_text(a), "?" if b is None else cell_text(b))
            for a, b in zip(group["observed"], group["suggested"], strict=True)
        )
        examples = [[a, b, count] for (a, b), count in pairs.most_common(MAX_PAIRS)]
        changed = int((group["action"] != "kept").sum())
        groups.append([str(column), str(kind), len(group), changed, examples])
    return sorted(groups, key=lambda entry: -entry[2])


def _columns(cells: pd.DataFrame, number: dict[str, int]) -> dict[str, list[Any]]:
    return {
        "node": [str(node) for node in cells["node"]],
        "column": [number[name] for name in cells["column"]],
        "observed": [json_value(value) for value in cells["observed"]],
        "suggested": [json_value(value) for value in cells["suggested"]],
        "action": [ACTIONS.index(action) for action in cells["action"]],
        "score": [_short(value) for value in cells["score"]],
        "probability": [json_value(value) for value in np.round(cells["probability"].to_numpy(float), DIGITS)],
        "reason": list(cells["reason"]),
        "row": [int(row) for row in cells["row"]],
        "kind": [str(kind) for kind in cells["kind"]],
    }


def _neighbors(record: CleaningRecord, cells: pd.DataFrame) -> list[list[list[Any]]]:
    """For each cell, what the linked rows hold: cells that are not listed, then those that are."""
    index = record.table.links.edge_index
    start = np.searchsorted(index[0], np.arange(record.table.num_nodes + 1))
    listed = set(zip(record.cells["row"].tolist(), record.cells["column"].tolist(), strict=True))
    values = {name: texts(record.table.column(name)) for name in cells["column"].unique()}
    values_of = []
    for row, name in zip(cells["row"].tolist(), cells["column"].tolist(), strict=True):
        groups: list[list[str]] = [[], []]
        for other in index[1, start[row] : start[row + 1]].tolist():
            text = values[name][other]
            if text.strip():
                groups[(other, name) in listed].append(text)
        values_of.append([group[:MAX_NEIGHBORS] for group in groups])
    return values_of


def _worst_rows(cells: pd.DataFrame) -> list[list[Any]]:
    """The rows with the most listed cells: name, their number, and the largest probability."""
    if cells.empty:
        return []
    groups = cells.groupby("row", sort=False)
    table = pd.DataFrame({"node": groups["node"].first(), "count": groups.size(), "most": groups["probability"].max()})
    table = table.sort_values(["count", "most"], ascending=False, kind="stable").head(MAX_LISTED_ROWS)
    rows = zip(table["node"], table["count"], table["most"], strict=True)
    return [[str(node), int(count), _short(value)] for node, count, value in rows]


def _changes(record: CleaningRecord) -> dict[str, Any]:
    """Values before and after, for the rows and columns with the most listed cells."""
    cells = record.cells
    rows = cells["row"].value_counts().index[:MAX_ROWS].tolist()
    names = cells["column"].value_counts().index[:MAX_COLUMNS].tolist()
    names = [name for name in record.roles if name in names]
    listed = {
        (row, name): (value, action)
        for row, name, value, action in cells[["row", "column", "suggested", "action"]].itertuples(index=False)
    }
    lines = []
    for row in rows:
        line = []
        for name in names:
            before = cell_text(record.table.column(name).iloc[row])
            value, action = listed.get((row, name), (None, ""))
            line.append([before, "" if value is None else cell_text(value), action])
        lines.append(line)
    return {"rows": [str(record.table.ids.iloc[row]) for row in rows], "columns": names, "cells": lines}


def _short(value: Any) -> Any:
    """The number with four digits, which is enough for plots."""
    number = float(value)
    return float(f"{number:.4g}") if math.isfinite(number) else None
