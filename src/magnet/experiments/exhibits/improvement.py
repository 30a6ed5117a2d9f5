"""Improvement percentages, absolute and relative (the paper's tables 6 and 7), from the runs of table 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from magnet.experiments.exhibits.base import Cell, Document, Exhibit, Figure, Options, Results, Summary, Table, brief
from magnet.experiments.exhibits.classification import (
    CORRUPTIONS,
    ORDER,
    TITLES,
    Setting,
    absolute,
    accuracy,
    chosen_methods,
    comparable,
    configs,
    relative,
    settings,
)
from magnet.experiments.exhibits.table1 import plan as plan_table1

WORDS = (
    "Absolute: (S - S_corrupted) / S_corrupted; relative: (S - S_corrupted) / (S_clean - S_corrupted), in percent of "
    "mean accuracies; S_clean and S_corrupted are those of a GCN. Where the corruption costs little (below a few "
    "points) the relative score divides by almost nothing, and where it costs nothing there is none. "
    "Rivals that were not tuned for a dataset are left out."
)


#: The rows of the summary.
MAIN = ("airgnn", "elasticgnn", "appnp", "magnet-one", "magnet-gae", "magnet-true", "fp", "magnet-gcn", "magnet")


def improvement(name: str, title: str, corruptions: Sequence[str]) -> Exhibit:
    """The exhibit of one of the two tables."""

    def narrowed(options: Options) -> Options:
        wanted = corruptions if options.corruptions is None else options.choose("corruptions", corruptions)
        return replace(options, corruptions=tuple(wanted[:1] if options.quick else wanted))

    def render(results: Results, options: Options) -> Document:
        methods = [method for method in chosen_methods(options, ORDER) if method not in ("clean", "gcn")]
        parts: list[Table | Figure | str] = [WORDS]
        for corruption in narrowed(options).corruptions or ():
            columns = [s for s in settings(narrowed(options), corruptions) if s.corruption == corruption]
            for quantity in ("absolute", "relative"):
                cells = [_cell(results, options, s, m, quantity, name) for m in methods for s in columns]
                words = f"{quantity} improvement in percent under {CORRUPTIONS[corruption]}"
                parts.append(Table(words, cells, corner="method"))
        first = next(part for part in parts if isinstance(part, Table))
        main = [cell for m in MAIN for cell in first.cells if cell.row == TITLES[m]]
        summary = Table(first.title, [brief(c.row, c.column, c) for c in main], corner="method")
        return Document(name, title, parts, summary)

    return Exhibit(name, title, lambda options: plan_table1(narrowed(options)), render)


def _cell(results: Results, options: Options, setting: Setting, method: str, quantity: str, exhibit: str) -> Cell:
    score, corrupted, clean = (accuracy(results, options, setting, which) for which in (method, "gcn", "clean"))
    value = absolute(score, corrupted) if quantity == "absolute" else relative(score, corrupted, clean)
    value = value if comparable(method, setting) else None
    runs = len(results.values(configs(options, setting, method), "test_accuracy"))
    ours = None if value is None else Summary(100 * value, runs=runs)
    paper = setting.paper(exhibit, method, quantity)
    unhurt = quantity == "relative" and corrupted is not None and clean is not None and clean <= corrupted
    facts = {"dataset": setting.dataset, "corruption": setting.corruption, "method": method, "quantity": quantity}
    absent = "n/a: nothing lost" if unhurt else ""
    at = (TITLES[method], setting.title)
    return Cell(*at, ours, paper, options.repeats, value, impossible=absent, facts=facts)


EXHIBITS = (
    improvement("table6", "Improvement under injection (the paper's table 6)", ("inject-random", "inject-far")),
    improvement("table7", "Improvement under meta attack (the paper's table 7)", ("meta",)),
)
