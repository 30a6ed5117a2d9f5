"""Improvement percentages, absolute and relative (the paper's tables 6 and 7), from the runs of table 1."""

from __future__ import annotations

from collections.abc import Sequence

from magnet.experiments.exhibits.base import Cell, Document, Exhibit, Options, Results, Table
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
from magnet.experiments.exhibits.summary import Summary
from magnet.experiments.exhibits.table1 import plan as plan_table1
from magnet.experiments.store.jobs import Job

WORDS = (
    "Absolute: (S - S_corrupted) / S_corrupted; relative: (S - S_corrupted) / (S_clean - S_corrupted), in percent of "
    "mean accuracies; S_clean and S_corrupted are those of a GCN. Where the corruption costs little (below a few "
    "points) the relative score divides by almost nothing, and where it costs nothing there is none. "
    "Rivals that were not tuned for a dataset are left out."
)


def improvement(name: str, title: str, corruptions: Sequence[str]) -> Exhibit:
    """The exhibit of one of the two tables."""

    def narrowed(options: Options) -> Options:
        wanted = corruptions if options.corruptions is None else options.choose("corruptions", corruptions)
        fields = dict(options.__dict__)
        return Options(**{**fields, "corruptions": tuple(wanted[:1] if options.quick else wanted)})

    def plan(options: Options) -> list[Job]:
        return plan_table1(narrowed(options))

    def render(results: Results, options: Options) -> Document:
        methods = [method for method in chosen_methods(options, ORDER) if method not in ("clean", "gcn")]
        parts: list[Table | str] = [WORDS]
        for corruption in narrowed(options).corruptions or ():
            columns = [s for s in settings(narrowed(options), corruptions) if s.corruption == corruption]
            for quantity in ("absolute", "relative"):
                cells = [_cell(results, options, s, m, quantity, name) for m in methods for s in columns]
                words = f"{quantity} improvement in percent under {CORRUPTIONS[corruption]}"
                parts.append(Table(words, cells, corner="method"))
        return Document(name, title, list(parts))

    return Exhibit(name, title, plan, render)


def _cell(results: Results, options: Options, setting: Setting, method: str, quantity: str, exhibit: str) -> Cell:
    score, corrupted, clean = (accuracy(results, options, setting, which) for which in (method, "gcn", "clean"))
    value = absolute(score, corrupted) if quantity == "absolute" else relative(score, corrupted, clean)
    value = value if comparable(method, setting) else None
    nan = float("nan")
    runs = len(results.values(configs(options, setting, method), "test_accuracy"))
    ours = None if value is None else Summary(100 * value, nan, nan, nan, runs)
    paper = setting.paper(exhibit, method, quantity)
    unhurt = quantity == "relative" and corrupted is not None and clean is not None and clean <= corrupted
    facts = {"dataset": setting.dataset, "corruption": setting.corruption, "method": method, "quantity": quantity}
    absent = "n/a: nothing lost" if unhurt else ""
    at = (TITLES[method], setting.title)
    return Cell(*at, ours, paper, options.repeats, value, impossible=absent, facts=facts)
