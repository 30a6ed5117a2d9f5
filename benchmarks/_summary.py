"""A table of about ten lines at the top of long result pages, from the stored runs behind them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from scipy import stats


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
        shown = self.only or tuple(runs[self.columns].unique())
        cells = runs.groupby([self.rows, self.columns], sort=False)[self.value]
        lines = [f"| {self.rows} | {' | '.join(shown)} |", "|" + "---|" * (len(shown) + 1)]
        for row in runs[self.rows].unique():
            found = [cells.get_group((row, name)).dropna() if (row, name) in cells.groups else () for name in shown]
            if any(len(values) for values in found):
                lines.append(f"| {row} | " + " | ".join(_mean(list(values)) for values in found) + " |")
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
