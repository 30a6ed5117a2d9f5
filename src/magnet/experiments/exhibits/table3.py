"""The search spaces and the chosen settings."""

from __future__ import annotations

from typing import Any

from magnet.experiments.exhibits.base import Cell, Exhibit, Options, Part, Results, Table
from magnet.experiments.exhibits.classification import TITLES, column_title
from magnet.experiments.exhibits.paper import search_space
from magnet.experiments.methods import METHODS
from magnet.experiments.tuning.settings import read


def render(_: Results, options: Options) -> list[Part]:
    settings = read() if options.settings is None else {**read(), **read(options.settings)}
    studies = [
        (name, dataset, corruption, entry)
        for name, datasets in settings.items()
        for dataset, corruptions in datasets.items()
        for corruption, entry in corruptions.items()
    ]
    paper = [Cell("every method", setting, text=value) for setting, value in search_space().items()]
    spaces = [
        Cell(TITLES.get(name, name), setting, text=_words(choices))
        for name, method in METHODS.items()
        for setting, choices in method.space.items()
    ]
    chosen = []
    for name, dataset, corruption, entry in studies:
        row = f"{TITLES.get(name, name)}, {column_title(dataset)}, {corruption}"
        facts = {"method": name, "dataset": dataset, "corruption": corruption}
        columns = {**entry.get("settings", {}), **{key: value for key, value in entry.items() if key != "settings"}}
        chosen += [Cell(row, key, text=_words(value), facts=facts) for key, value in columns.items()]
    overview = []
    for name in settings:
        entries = [entry for method, _, _, entry in studies if method == name]
        counts = {
            "settings searched": len(METHODS[name].space) if name in METHODS else "",
            "studies": len(entries),
            "trials": sum(int(entry.get("trials", 0)) for entry in entries),
            "of them pruned": sum(int(entry.get("pruned", 0)) for entry in entries),
        }
        overview += [Cell(TITLES.get(name, name), column, text=str(count)) for column, count in counts.items()]
    words = "A study is the search for a method's settings on one dataset under one corruption."
    return [
        "Everything is chosen on validation accuracy. The paper's space is used for all its methods; each baseline's "
        "published settings are added.",
        Table("The paper's space", paper),
        Table("Our spaces", spaces, corner="method"),
        Table("Chosen", chosen, corner="method, dataset, found under")
        if chosen
        else "No search has been run: every method runs with its default settings.",
        Table("Searches", overview, corner="method", words=words, summary=True),
    ]


def _words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_words(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


TABLE3 = Exhibit("table3", "Search spaces and chosen settings (the paper's table 3)", render)
