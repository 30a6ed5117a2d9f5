"""The search spaces, and what was chosen."""

from __future__ import annotations

from typing import Any

from magnet.experiments.exhibits.base import Cell, Document, Exhibit, Options, Results, Table
from magnet.experiments.exhibits.classification import TITLES, column_title
from magnet.experiments.exhibits.paper import search_space
from magnet.experiments.store.jobs import Job

TITLE = "Search spaces and chosen settings (the paper's table 3)"


def plan(options: Options) -> list[Job]:
    return []


def render(results: Results, options: Options) -> Document:
    from magnet.experiments.methods import METHODS
    from magnet.experiments.tuning.settings import read

    spaces = []
    for name, method in METHODS.items():
        for setting, choices in method.space.items():
            spaces.append(Cell(TITLES.get(name, name), setting, text=_words(choices)))
    paper = [Cell("every method", setting, text=value) for setting, value in search_space().items()]
    found = read() if options.settings is None else {**read(), **read(options.settings)}
    chosen = []
    for name, datasets in found.items():
        for dataset, corruptions in datasets.items():
            for corruption, entry in corruptions.items():
                row = f"{TITLES.get(name, name)}, {column_title(dataset)}, {corruption}"
                facts = {"method": name, "dataset": dataset, "corruption": corruption}
                for setting, value in entry.get("settings", {}).items():
                    chosen.append(Cell(row, setting, text=_words(value), facts=facts))
                rest = {key: value for key, value in entry.items() if key != "settings"}
                chosen += [Cell(row, key, text=_words(value), facts=facts) for key, value in rest.items()]
    parts: list[Any] = [
        "Everything is chosen on validation accuracy. The paper's space holds for all its methods; each baseline's own "
        "published settings are added.",
        Table("The paper's space", paper, corner=""),
        Table("Our spaces", spaces, corner="method"),
    ]
    if chosen:
        parts.append(Table("Chosen", chosen, corner="method, dataset, found under"))
    else:
        parts.append("No search has been run: every method runs with its default settings.")
    overview = []
    for name, datasets in found.items():
        entries = [entry for corruptions in datasets.values() for entry in corruptions.values()]
        facts = {
            "settings searched": str(len(METHODS[name].space)) if name in METHODS else "",
            "studies": str(len(entries)),
            "trials": str(sum(int(entry.get("trials", 0)) for entry in entries)),
            "of them pruned": str(sum(int(entry.get("pruned", 0)) for entry in entries)),
        }
        overview += [Cell(TITLES.get(name, name), column, text=text) for column, text in facts.items()]
    words = "A study is the search for a method's settings on one dataset under one corruption."
    return Document("table3", TITLE, parts, Table("Searches", overview, corner="method", words=words))


def _words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_words(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


EXHIBITS = (Exhibit("table3", TITLE, plan, render),)
