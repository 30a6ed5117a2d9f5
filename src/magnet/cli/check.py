"""``magnet check``: a pipeline check that fails if too many cells look wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Sized
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magnet.cli.errors import TOO_MUCH, USAGE, fail
from magnet.cli.options import SHOWN_CELLS, Output, TableOptions, command

if TYPE_CHECKING:
    from magnet.arrays import Floats
    from magnet.clean_result import CleanResult

KOLMOGOROV = 1.63  # critical value of the two-sample Kolmogorov-Smirnov test at the level .01
NEW_COLUMN = "; not in the saved model"
MOST_LISTED = 1000  # cells in the report; all of them are counted


@command
def check(
    out: Output,
    nodes: Annotated[Path, typer.Argument(help="The table, as for magnet clean.")],
    max_wrong: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Maximum share of judged cells that may look wrong.")
    ] = 0.01,
    model: Annotated[
        Path | None, typer.Option(help="Judge with the scales and thresholds of this saved model (.npz).")
    ] = None,
    max_drift: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="With --model: maximum drift of a column's distribution (0 to 1)."),
    ] = 0.5,
    save_model: Annotated[
        Path | None, typer.Option(help="Save the fitted model to this file, for --model on later tables.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the JSON report to this file.")] = None,
    *,
    options: TableOptions,
) -> None:
    """Exit with code 3 if more than --max-wrong of the cells look wrong (or, with --model, if a column has drifted by
    more than --max-drift)."""
    if model is not None and save_model is not None:
        fail("--save-model cannot be combined with --model, which fits no model", USAGE)
    if model is not None and (options.link_by or options.rule):
        fail("--link-by and --rule cannot be combined with --model, which has those that it was saved with", USAGE)
    from magnet.clean_result import CleanResult
    from magnet.cleaner import Cleaner
    from magnet.files import refuse_overwriting, write_text
    from magnet.tables.readers.database import file_of
    from magnet.tables.readers.read import find_files

    with out.progress() as stage:
        node_path, edge_path = find_files(nodes, options.edges)
        read = [file_of(path) for path in (node_path, edge_path, model, options.schema) if path is not None]
        refuse_overwriting(read, filter(None, (save_model, output)))
        saved = Cleaner.load(model) if model is not None else None
        table = options.read(node_path, edge_path)
        if saved is None:
            fitted = Cleaner(fix="none", progress=stage, **options.judging).fit(table)
        else:
            fitted = saved.judge(table)
        if save_model is not None:
            fitted.save(save_model)
        report = report_of(CleanResult(table, fitted), node_path, max_wrong)
        if saved is not None:
            report |= {"model": str(model), "max_drift": max_drift}
            add_drift(report, saved.reference_, table.text_columns())
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        write_text(output, json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    out.result(report)
    for line in _lines(report, out.verbose):
        out.line(line)
    if not report["passed"]:
        raise typer.Exit(TOO_MUCH)


def add_drift(report: dict[str, Any], before: dict[str, list[str]], now: dict[str, list[str]]) -> None:
    """Add to a report the drift of its columns since the model was saved; the check fails if one exceeds the maximum.
    Columns that the model does not know are marked as new."""
    moved = drift(before, now, {name: column for name, column in report["columns"].items() if name in before})
    for name in set(report["columns"]) - set(before):
        report["columns"][name]["note"] += NEW_COLUMN
    report["drifted"] = sorted(name for name, (_, least) in moved.items() if least > report["max_drift"])
    report["passed"] = report["passed"] and not report["drifted"]
    for name, (distance, _) in moved.items():
        report["columns"][name]["drift"] = distance


def drift(
    before: dict[str, list[str]], now: dict[str, list[str]], columns: dict[str, dict[str, Any]]
) -> dict[str, tuple[float, float]]:
    """How far the distribution of each numeric or categorical column has moved since the model was saved, and a lower
    bound of that distance.

    The distance is that of Kolmogorov and Smirnov for numbers and the total variation for categories, both between 0
    and 1; for numbers, at least the change of the share of cells that hold none. The second number is smaller by the
    two-sample 1 % point of Kolmogorov's distribution, ``1.63 sqrt(1/n + 1/m)``: it allows for the chance differences
    of small batches.
    """
    import numpy as np
    import pandas as pd
    from scipy.stats import ks_2samp

    moved = {}
    for name, described in columns.items():
        cells = before[name], now[name]
        if not cells[0]:
            continue  # every row of the saved table has a listed cell
        if described["kind"] in ("quantity", "unit"):
            read = [_numbers(name, texts) for texts in cells]
            old, new = (values[np.isfinite(values)] for values in read)
            found = [_bounded(abs(len(old) / len(read[0]) - len(new) / len(read[1])), *read)]
            if len(old) and len(new):
                found.append(_bounded(float(ks_2samp(old, new, method="asymp").statistic), old, new))
        elif described["kind"] in ("category", "constant"):
            shares = [pd.Series(texts, dtype="str").value_counts(normalize=True) for texts in cells]
            total = float(shares[0].subtract(shares[1], fill_value=0.0).abs().sum())
            found = [_bounded(0.5 * total, *cells)]
        else:
            continue
        moved[name] = (max(distance for distance, _ in found), max(least for _, least in found))
    return moved


def _bounded(distance: float, old: Sized, new: Sized) -> tuple[float, float]:
    """A distance between two samples, and what is left of it beyond chance."""
    return distance, max(0.0, distance - KOLMOGOROV * math.sqrt(1 / len(old) + 1 / len(new)))


def _numbers(name: str, texts: list[str]) -> Floats:
    """The numbers of a column as the cleaner reads them: with decimal commas, thousands and units."""
    from magnet.tables.coded import CodedColumn
    from magnet.tables.numbers.writing import read_numbers
    from magnet.tables.roles.patterns import UNIT_NUMBER

    column = CodedColumn.of(name, texts)
    matches = [UNIT_NUMBER.fullmatch(value) for value in column.values]
    words = [m["number"] if m else value for m, value in zip(matches, column.values, strict=True)]
    return read_numbers(words)[column.read]


def report_of(result: CleanResult, path: Path, max_wrong: float) -> dict[str, Any]:
    """The JSON report of a judged table (``magnet/schemas/check.json``)."""
    from magnet import __version__
    from magnet.files import sha256_of
    from magnet.tables.options import LIST_FROM
    from magnet.tables.readers.database import file_of

    table, cells = result.table, result.suspicious_cells
    wrong = cells[cells["probability"] >= LIST_FROM]
    record = result.record
    judged = table.num_nodes * len(record.judged)
    share = len(wrong) / judged if judged else 0.0
    by_column = wrong["column"].value_counts()
    return {
        "format": "magnet check",
        "version": 1,
        "magnet": __version__,
        "nodes": str(path),
        "sha256": sha256_of(file_of(path)),
        "model": None,
        "rows": table.num_nodes,
        "cells": judged,
        "wrong": len(wrong),
        "share": share,
        "max_wrong": max_wrong,
        "passed": share <= max_wrong,
        "columns": {
            name: {
                "kind": role,
                "judged": name not in record.not_judged,
                "wrong": int(by_column.get(name, 0)),
                "note": record.not_judged.get(name, note),
            }
            for name, (role, note) in record.roles.items()
        },
        "suspicious_cells": [cell_json(cell) for cell in wrong.head(MOST_LISTED).itertuples(index=False)],
    }


def cell_json(cell: Any) -> dict[str, Any]:
    """A line of the suspicious cells as JSON values."""
    from magnet.tables.values import json_value

    names = ("row", "column", "observed", "suggested", "probability", "reason", "kind")
    return {"node": str(cell.node), **{name: json_value(getattr(cell, name)) for name in names}}


def _lines(report: dict[str, Any], verbose: bool) -> list[str]:
    from magnet.tables.errors import quoted

    verdict = "passed" if report["passed"] else "FAILED"
    lines = [
        f"{verdict}: {report['wrong']} of {report['cells']} judged cells look wrong "
        f"({report['share']:.2%}; at most {report['max_wrong']:.2%} allowed)"
    ]
    alone = [name for name, column in report["columns"].items() if not column["judged"]]
    if alone:
        lines.append(f"not judged: {', '.join(alone)}")
    new = [name for name, column in report["columns"].items() if column["note"].endswith(NEW_COLUMN)]
    if new:
        lines.append(f"not in the saved model: {', '.join(new)}")
    if report.get("drifted"):
        lines.append(f"drifted since the model was saved: {', '.join(report['drifted'])}")
    if verbose:
        lines += [f"{name}: {column['wrong']} wrong" for name, column in report["columns"].items() if column["wrong"]]
        lines += [
            f"row {cell['row']}, {cell['column']}: {quoted(cell['observed'])} ({cell['probability']:.2f}): "
            f"{cell['reason']}"
            for cell in report["suspicious_cells"][:SHOWN_CELLS]
        ]
    return lines
