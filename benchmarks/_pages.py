"""Parts of result pages: the command and the machine, tables, rows of earlier runs, and a summary at the top."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from scipy import stats


def command() -> str:
    """The command that runs the benchmark again, such as ``python benchmarks/gate.py --graphs 10``."""
    return shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]])


def made_by(commands: Iterable[str]) -> list[str]:
    """The last lines of a page."""
    return ["", "Made by:", "", *(f"    {line}" for line in commands), ""]


def commit() -> str:
    """The commit of the code that is measured."""
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return head.stdout.strip()


def cores() -> str:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{count} CPU cores ({platform.machine()})"


def header(*names: str) -> list[str]:
    """The first two lines of a Markdown table."""
    return [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]


def with_earlier_rows(frame: pd.DataFrame, path: Path, key: Sequence[str]) -> pd.DataFrame:
    """The new rows, below those of the CSV file whose values in the columns ``key`` were not measured again."""
    if not path.is_file():
        return frame
    earlier = pd.read_csv(path)
    measured = set(frame[list(key)].itertuples(index=False, name=None))
    stays = [row not in measured for row in earlier[list(key)].itertuples(index=False, name=None)]
    return pd.concat([earlier[stays], frame], ignore_index=True)


def save(page: str, path: Path | None) -> None:
    """Write a page, if it has a path, in a new folder if need be."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")


@dataclass(frozen=True)
class Summary:
    """One number for each pair of a row and a column, averaged over the runs that share them.

    Args:
        rows: column of the CSV file whose values are the lines.
        columns: column whose values are the columns.
        value: column that is averaged.
        words: what stands in the cells.
        only: columns to show, in this order. (default: all)
    """

    rows: str
    columns: str
    value: str
    words: str
    only: tuple[str, ...] = ()

    def markdown(self, path: Path) -> str:
        """The table with 95 % intervals of the mean (Student's t, over the runs of a cell)."""
        runs = pd.read_csv(path)
        columns = self.only or tuple(runs[self.columns].unique())
        cells = runs.groupby([self.rows, self.columns], sort=False)[self.value]
        lines = header(self.rows, *columns)
        for row in runs[self.rows].unique():
            cells_of_row = [
                cells.get_group((row, name)).dropna() if (row, name) in cells.groups else () for name in columns
            ]
            if any(len(values) for values in cells_of_row):
                lines.append(f"| {row} | " + " | ".join(_mean(list(values)) for values in cells_of_row) + " |")
        return "\n".join(
            [f"In short: {self.words}, mean and 95 % interval of the mean over the runs below.", "", *lines]
        )


SUMMARIES = {
    "shortcuts": Summary("corruption", "score", "node_auroc", "node AUROC of trivial scores"),
    "meta_attack": Summary("dataset", "attack", "accuracy", "test accuracy in percent"),
    "cleaning": Summary("method", "example", "precision", "precision of the listed cells"),
}


def _mean(values: list[float]) -> str:
    if not values:
        return "-"
    mean, digits = sum(values) / len(values), 1 if max(values) > 2 else 2
    text = f"{mean:.{digits}f}"
    error = stats.sem(values) if len(values) > 1 else 0.0
    if not error:
        return text
    low, high = stats.t.interval(0.95, len(values) - 1, mean, error)
    most = 1.0 if max(values) <= 1 else 100.0
    return f"{text} [{max(0.0, low):.{digits}f},\N{NO-BREAK SPACE}{min(most, high):.{digits}f}]"


def with_summary(page: str, name: str, folder: Path) -> str:
    """A result page with its summary below the title and what is to be known first (a quotation)."""
    if name not in SUMMARIES or not (folder / f"{name}.csv").is_file():
        return page
    lines = page.splitlines()
    place = next(k for k, line in enumerate(lines[1:], 1) if line and not line.startswith(">"))
    return "\n".join([*lines[:place], SUMMARIES[name].markdown(folder / f"{name}.csv"), "", *lines[place:], ""])


def publish(frame: pd.DataFrame, page: str, path: Path, digits: int) -> None:
    """Write measurements to a CSV file and the page beside it, below its summary, and print the page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(path, index=False, float_format=f"%.{digits}f")
    page = with_summary(page, path.stem, path.parent)
    save(page, path.with_suffix(".md"))
    print(page)
