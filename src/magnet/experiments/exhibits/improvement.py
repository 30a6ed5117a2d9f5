"""Improvement percentages, absolute and relative (the paper's tables 6 and 7), from the runs of table 1."""

from __future__ import annotations

from collections.abc import Sequence

from magnet.experiments.exhibits.base import Cell, Exhibit, Options, Part, Results, Summary, Table, brief
from magnet.experiments.exhibits.classification import (
    CORRUPTIONS,
    ORDER,
    TITLES,
    Classification,
    Setting,
    absolute,
    relative,
)

WORDS = (
    "Absolute: (S - S_corrupted) / S_corrupted; relative: (S - S_corrupted) / (S_clean - S_corrupted), in percent of "
    "mean accuracies; S_clean and S_corrupted are those of a GCN. Where the corruption costs only a "
    "few points, the relative score is unstable; where it costs nothing, there is none. "
    "Rivals that were not tuned for a dataset are left out."
)

#: The rows of the summary.
MAIN = ("airgnn", "elasticgnn", "appnp", "magnet-one", "magnet-gae", "magnet-true", "fp", "magnet-gcn", "magnet")


def improvement(name: str, title: str, corruptions: Sequence[str]) -> Exhibit:
    """The exhibit of one of the two tables."""

    def render(results: Results, options: Options) -> list[Part]:
        runs = Classification(results, options)
        methods = [method for method in runs.methods(ORDER) if method not in ("clean", "gcn")]
        tables = [
            Table(
                f"{quantity} improvement in percent under {CORRUPTIONS[corruption]}",
                [_cell(runs, setting, m, quantity, name) for m in methods for setting in columns],
                corner="method",
            )
            for corruption, columns in runs.columns(corruptions).items()
            for quantity in ("absolute", "relative")
        ]
        main = [cell for m in MAIN for cell in tables[0].cells if cell.row == TITLES[m]]
        short = [brief(c.row, c.column, c) for c in main]
        return [WORDS, *tables, Table(tables[0].title, short, corner="method", summary=True)]

    return Exhibit(name, title, render)


def _cell(runs: Classification, setting: Setting, method: str, quantity: str, exhibit: str) -> Cell:
    score = runs.accuracy(setting, method)
    corrupted, clean = runs.ends(setting)
    value = absolute(score, corrupted) if quantity == "absolute" else relative(score, corrupted, clean)
    value = value if runs.comparable(setting, method) else None
    ours = None if value is None or score is None else Summary(100 * value, runs=score.runs)
    paper = setting.paper(exhibit, method, quantity)
    unhurt = quantity == "relative" and corrupted is not None and clean is not None and clean <= corrupted
    facts = {"dataset": setting.dataset, "corruption": setting.corruption, "method": method, "quantity": quantity}
    absent = "n/a: nothing lost" if unhurt else ""
    at = (TITLES[method], setting.title)
    return Cell(*at, ours, paper, runs.options.repeats, value, impossible=absent, facts=facts)


TABLE6 = improvement("table6", "Improvement under injection (the paper's table 6)", ("inject-random", "inject-far"))
TABLE7 = improvement("table7", "Improvement under meta attack (the paper's table 7)", ("meta",))
