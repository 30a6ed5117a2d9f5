"""How much each constant of the detector matters: ``auto`` on small real cases with the constant halved and doubled.

Writes results/constants.csv, one line for each constant, value and case, and results/constants.md, which says for each
constant by how much it changes the results at most, and in which case. Lines that are there are not measured again, so
a run that was stopped goes on where it was; lines of another version of the detector do not count. A constant that a
case never reads cannot change it: such lines are left out. Constants that are documented as "Set by run time" or by
memory are not varied. Reads ``$MAGNET_DATA``.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import re
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import fields
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from _mixed_table import mixed_table
from _pages import header
from torch_geometric.data import Data
from torch_geometric.transforms import NormalizeFeatures

from magnet import corruption, datasets, detection
from magnet.detection import options
from magnet.experiments.store.versions import RESULT_VERSIONS

GROUPS = {name: getattr(options, name) for name in ("DATA", "ROWS", "GATE", "CELLS", "CONTEXT", "POOL", "NUMERIC")}
METRICS = ("node_auroc", "cell_auprc", "node_flagged")
COLUMNS = ("version", "torch", "field", "value", "case", *METRICS, "seconds", "reads")

#: What is tried of tuples, and of numbers between 0 and 1 that are not shares.
VARIANTS: dict[str, list[Any]] = {
    "ROWS.null_quantiles": [(0.05, 0.1, 0.15, 0.25), (0.2, 0.4, 0.6)],
    "ROWS.right_quantiles": [(0.5, 0.05), (0.5, 0.2)],
    "CELLS.row_lengths": [(0.7, 1.0, 1.4, 2.0), (0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 8.0, 16.0)],
    "CELLS.min_wrong_cells": [0.35, 1.4],
    "CONTEXT.shrinkage": [0.25, 1.0],
    "NUMERIC.grid_spread": [0.3, 1.2],
    "NUMERIC.degree_edges": [(0.5,), (0.5, 1.5, 2.5, 4.5, 6.5, 12.5)],
    "NUMERIC.t_prior": [(0.125,) * 8, (0.001, 0.003, 0.01, 0.05, 0.1, 0.2, 0.236, 0.4)],
}
#: Constants in the table at the head of the page.
SHOWN = 10

Case = tuple[Data, Any, torch.Tensor | None, torch.Tensor | None]  # graph, columns, wrong cells, wrong nodes


def _part(name: str, nodes: int) -> Data:
    """A connected part of a dataset: the nodes that a breadth-first search from node 0 finds first."""
    whole = datasets.load(name)
    source, target = whole.edge_index
    found = torch.zeros(whole.num_nodes, dtype=torch.bool)
    order = torch.zeros(1, dtype=torch.long)
    found[0] = True
    while int(found.sum()) < nodes:
        new = target[torch.isin(source, order)].unique()
        order = new[~found[new]][: nodes - int(found.sum())]
        if order.numel() == 0:  # the component is exhausted
            order = (~found).nonzero()[0]
        found[order] = True
    data = Data(x=whole.x, edge_index=whole.edge_index).subgraph(found)
    data.x = data.x[:, (data.x != 0).any(dim=0)]
    return data


def _wrong(data: Data, kind: str | None, **settings: Any) -> Case:
    if kind is None:
        return data, None, torch.zeros(tuple(data.x.shape), dtype=torch.bool), None
    bad = (corruption.corrupt_once if kind == "meta" else corruption.corrupt)(data, kind, 0, **settings)
    return bad.data, None, bad.cells, None


def _table(wrong: bool) -> Case:
    return *mixed_table(0, wrong), None


def _bond(name: str) -> Case:
    with np.load(Path(os.environ["MAGNET_DATA"]) / "BOND" / f"{name}.npz") as file:
        x, edges, y = (torch.from_numpy(file[key]) for key in ("x", "edge_index", "y"))
    return Data(x=x, edge_index=edges.long()), None, None, (y & 1) == 1


FLIPS = {"node_share": 0.3, "ratio": 0.02}
OUTLIERS = {"node_share": 0.3, "ratio": 0.05}
CASES: dict[str, Callable[[], Case]] = {
    "cora, random rows": lambda: _wrong(datasets.load("cora"), "inject-random", ratio=0.5),
    "cora, far rows": lambda: _wrong(datasets.load("cora"), "inject-far", ratio=0.5),
    "cora, flips": lambda: _wrong(datasets.load("cora"), "cells-flip", **FLIPS),
    "cora, meta attack": lambda: _wrong(datasets.load("cora"), "meta"),
    "cora, clean": lambda: _wrong(datasets.load("cora"), None),
    "normalized cora, random rows": lambda: _wrong(
        NormalizeFeatures()(_part("cora", 1500)), "inject-random", ratio=0.3
    ),
    "part of citeseer, random rows": lambda: _wrong(_part("citeseer", 1200), "inject-random", ratio=0.3),
    "part of pubmed, outliers": lambda: _wrong(_part("pubmed", 2000), "cells-outlier", **OUTLIERS),
    "part of pubmed, clean": lambda: _wrong(_part("pubmed", 2000), None),
    "digits, outliers": lambda: _wrong(datasets.load("digits"), "cells-outlier", **OUTLIERS),
    "digits, far rows": lambda: _wrong(datasets.load("digits"), "inject-far", ratio=0.5),
    "digits, clean": lambda: _wrong(datasets.load("digits"), None),
    "mixed table, errors": lambda: _table(True),
    "mixed table, clean": lambda: _table(False),
    "wisconsin, random rows": lambda: _wrong(datasets.load("wisconsin"), "inject-random", ratio=0.5),
    "wisconsin, clean": lambda: _wrong(datasets.load("wisconsin"), None),
    "texas, random rows": lambda: _wrong(datasets.load("texas"), "inject-random", ratio=0.5),
    "part of wordnet, outliers": lambda: _wrong(_part("wordnet", 5000), "cells-outlier", **OUTLIERS),
    "part of wordnet, clean": lambda: _wrong(_part("wordnet", 5000), None),
    "inj_cora": lambda: _bond("inj_cora"),
    "books": lambda: _bond("books"),
    "reddit": lambda: _bond("reddit"),
}


@cache
def case(name: str) -> Case:
    return CASES[name]()


def descriptions() -> dict[str, str]:
    """What the documentation says about every constant, by ``GROUP.field``."""
    found = {}
    for name, group in GROUPS.items():
        entries = re.split(r"^ {8}(?=[a-z][a-z_0-9, ]*: )", str(type(group).__doc__), flags=re.MULTILINE)[1:]
        for names, text in (entry.split(": ", 1) for entry in entries):
            found |= {f"{name}.{each}": " ".join(text.split()) for each in names.split(", ")}
    return found


def variants(field: str) -> list[Any]:
    """The values that are tried: half and double; of shares above 1/2 the distance from 1 is halved and doubled."""
    if field in VARIANTS:
        return VARIANTS[field]
    group, name = field.split(".")
    value = getattr(GROUPS[group], name)
    if isinstance(value, tuple):
        return []
    if isinstance(value, int):
        return [max(1, value // 2), 2 * value]
    return [2 * value - 1, (1 + value) / 2] if 0.5 < value < 1 else [value / 2, 2 * value if value != 0.5 else 0.75]


class _Reads(set[str]):
    """Notes which constants are read while it is in force."""

    def __enter__(self) -> _Reads:
        for prefix, group in GROUPS.items():
            kind, names = type(group), {f.name for f in fields(group)}

            def noted(this: Any, name: str, prefix: str = prefix, names: set[str] = names) -> Any:
                if name in names:
                    self.add(f"{prefix}.{name}")
                return object.__getattribute__(this, name)

            object.__setattr__(group, "__class__", type("Noted", (kind,), {"__getattribute__": noted}))
        return self

    def __exit__(self, *_: object) -> None:
        for group in GROUPS.values():
            object.__setattr__(group, "__class__", type(group).__base__)


def measure(field: str, value: Any, name: str) -> dict[str, Any]:
    """``auto`` on one case with one constant changed (none for an empty field)."""
    torch.set_num_threads(1)
    data, columns, cells, nodes = case(name)
    constant = field.split(".") if field else None
    before = getattr(GROUPS[constant[0]], constant[1]) if constant else None
    start, reads = time.process_time(), _Reads()
    try:
        if constant:
            object.__setattr__(GROUPS[constant[0]], constant[1], value)
        with reads:
            found = detection.make("auto").fit(data, columns)
            truth = torch.zeros(tuple(data.x.shape), dtype=torch.bool) if cells is None else cells
            result = detection.metrics(found, truth, nodes)
    finally:
        if constant:
            object.__setattr__(GROUPS[constant[0]], constant[1], before)
    line = {
        "version": RESULT_VERSIONS["detector"],
        "torch": str(torch.__version__).split("+")[0],
        "field": field,
        "value": repr(value) if field else "",
        "case": name,
    }
    line |= {metric: round(result[metric], 6) for metric in METRICS}
    return line | {"seconds": round(time.process_time() - start, 2), "reads": "" if field else " ".join(sorted(reads))}


def read(path: Path) -> list[dict[str, Any]]:
    """The lines of this version of the detector."""
    if not path.is_file():
        return []
    lines = pd.read_csv(path, keep_default_na=False, na_values={metric: ["", "nan"] for metric in METRICS})
    return lines[lines["version"] == RESULT_VERSIONS["detector"]].to_dict("records")


def summarize(lines: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """For each constant and metric the largest change over the suite, and where it occurs (lines of one build of torch
    are compared with each other)."""
    lines = list(lines)
    usual = {(line["case"], line["torch"]): line for line in lines if not line["field"]}
    out: dict[str, dict[str, Any]] = {}
    for line in lines:
        usual_line = usual.get((line["case"], line["torch"]))
        if not line["field"] or usual_line is None:
            continue
        row = out.setdefault(
            line["field"], {f"{m}{part}": v for m in METRICS for part, v in (("", 0.0), (" where", ""))}
        )
        for metric in METRICS:
            change = line[metric] - usual_line[metric]
            if math.isfinite(change) and abs(change) > abs(row[metric]):
                row[metric], row[f"{metric} where"] = change, f"{line['case']} ({line['value']})"
    frame = pd.DataFrame.from_dict(out, orient="index")
    frame["largest"] = frame[list(METRICS)].abs().max(axis=1)
    return frame


def as_markdown(lines: list[dict[str, Any]]) -> str:
    usual, found, texts = {x["case"]: x for x in lines if not x["field"]}, summarize(lines), descriptions()
    seconds = sum(x["seconds"] for x in lines)
    text = [
        "# The constants of the detector",
        "",
        f"`python benchmarks/constants.py`: `auto` on {len(usual)} small cases, each constant of",
        "`src/magnet/detection/options.py` halved and doubled (shares above 1/2: their distance from 1), one at a",
        f"time. {len(lines)} runs, {seconds / 60:.0f} CPU minutes. The largest change of each metric and",
        "where it occurs (with the value tried). Constants that are set by run time or memory are not varied.",
        "The most influential ones:",
        "",
    ]
    head = header("constant", "node AUROC", "cell AUPRC", "share of rows flagged")

    def shown(row: pd.Series, metric: str) -> str:
        return "0" if row[metric] == 0 else f"{row[metric]:+.4f} {row[f'{metric} where']}"

    rows = [
        f"| `{field}` | {' | '.join(shown(row, metric) for metric in METRICS)} |"
        for field, row in found.sort_values("largest", ascending=False).iterrows()
    ]
    text += [*head, *rows[:SHOWN], "", "## Every constant", "", *head, *rows]
    unread = sorted(f for f in texts if usual and not any(f in x["reads"].split() for x in usual.values()))
    read_by = {name: {f for f in line["reads"].split() if f in found.index} for name, line in usual.items()}
    left = {name: len(fields - {x["field"] for x in lines if x["case"] == name}) for name, fields in read_by.items()}
    if any(left.values()):
        shown_left = "; ".join(f"{name} ({count})" for name, count in left.items() if count)
        text += ["", f"Cases with constants that were not varied yet (and how many): {shown_left}."]
    removed = ", ".join(f"`{f}`" for f in found.index if f not in texts)
    text += ["", f"Removed since, or merged with others: {removed}."] if removed else []
    fixed = sorted(f for f, what in texts.items() if "Set by" in what)
    text += [
        "",
        f"Read in no case: {', '.join(f'`{f}`' for f in unread if f not in fixed) or 'none'}.",
        "",
        "## Cases",
        "",
    ]
    text += header("case", "node AUROC", "cell AUPRC", "rows flagged", "CPU seconds")
    for name, line in usual.items():
        cells = ("-" if math.isnan(line[m]) else f"{line[m]:.4f}" for m in METRICS)
        text.append(f"| {name} | {' | '.join(cells)} | {line['seconds']:.1f} |")
    return "\n".join(text) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", default="", help="constants, such as DATA.spike_share, comma-separated (default: all)"
    )
    parser.add_argument("--cases", default="", help="cases, separated by semicolons (default: all)")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--minutes", type=float, default=math.inf, help="start nothing new after this time")
    parser.add_argument("--output", type=Path, default=Path("results"))
    chosen = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # the processes of the pool, which run side by side
    path = chosen.output / "constants.csv"
    lines, texts = read(path), descriptions()
    done = {(x["field"], x["value"], x["case"]) for x in lines}
    varied = [f for f, what in texts.items() if "Set by" not in what]
    wanted = chosen.only.split(",") if chosen.only else varied
    if unknown := set(wanted) - set(texts):
        parser.error(f"--only names {', '.join(sorted(unknown))}; constants are {', '.join(texts)}")
    names = [name for name in CASES if not chosen.cases or name in chosen.cases.split(";")]
    limit = time.monotonic() + 60 * chosen.minutes
    if not path.is_file():
        path.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    with (
        path.open("a", encoding="utf-8", newline="") as file,
        ProcessPoolExecutor(chosen.jobs, mp_context=get_context("spawn")) as pool,
    ):
        writer = csv.DictWriter(file, COLUMNS)

        def work(tasks: list[tuple[str, Any, str]]) -> None:
            tasks = [task for task in tasks if (task[0], repr(task[1]) if task[0] else "", task[2]) not in done]
            waiting = {pool.submit(measure, *task) for task in tasks}
            for count, future in enumerate(as_completed(waiting), 1):
                if future.cancelled():
                    continue
                lines.append(future.result())
                writer.writerow(lines[-1])
                file.flush()
                print(f"{count}/{len(tasks)} {lines[-1]}", flush=True)
                if time.monotonic() > limit:
                    pool.shutdown(wait=False, cancel_futures=True)

        work([("", None, name) for name in names])
        reads = {x["case"]: x["reads"].split() for x in lines if not x["field"]}
        work([(f, v, name) for f in wanted for v in variants(f) for name in names if f in reads.get(name, ())])
    (chosen.output / "constants.md").write_text(as_markdown(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
