"""The exponents p and q, for every source of trust."""

from __future__ import annotations

from typing import Any

from magnet.experiments.exhibits.base import Cell, Exhibit, Options, Part, Results, Table, brief
from magnet.experiments.exhibits.classification import CORRUPTIONS, Classification, Setting, relative

DATASETS = ("cora", "citeseer", "pubmed", "coauthor-cs", "wiki-cs")
#: Source of trust: the method, and what it needs.
TRUST: dict[str, tuple[str, dict[str, Any]]] = {
    "one": ("magnet-one", {}),
    "gae": ("magnet-gae", {}),
    "ours": ("magnet-gae", {"detector": "auto", "detector_options": {}}),
    "true": ("magnet-true", {}),
}
#: Exponents (p, q) that the paper compares, and further ones.
PAPERS = [(p, q) for p in (0.0, 1.0) for q in (1.0, 2.0)]
FURTHER = [(0.5, 1.0), (0.5, 2.0), (0.0, 1.5), (0.5, 1.5), (1.0, 1.5)]


def render(results: Results, options: Options) -> list[Part]:
    exponents = [(1.0, 2.0), (0.0, 1.0)] if options.quick else sorted([*PAPERS, *FURTHER])
    sources = ["one"] if options.quick and options.methods is None else options.choose("methods", list(TRUST))
    runs = Classification(results, options)
    parts: list[Part] = [
        "Test accuracy in percent. The paper has p in {0, 1} and q in {1, 2}; p = 1/2 and q = 3/2 are ours, as is the "
        "trust of our own detector. Everything else is as in table 1."
    ]
    tables = [
        Table(
            f"Accuracy under {CORRUPTIONS[corruption]}",
            [_cell(runs, setting, trust, p, q) for trust in sources for p, q in exponents for setting in columns],
            corner="trust, p, q",
        )
        for corruption, columns in runs.columns(("inject-random", "meta"), DATASETS).items()
    ]
    return [*parts, *tables, *map(_summary, tables[:1])]


def _cell(runs: Classification, setting: Setting, trust: str, p: float, q: float) -> Cell:
    method, more = TRUST[trust]
    ours = runs.accuracy(setting, method, **more, p=p, q=q)
    score = relative(ours, *runs.ends(setting))
    paper = setting.paper("table2", f"magnet-{trust}", p=p, q=q)
    facts = {"dataset": setting.dataset, "corruption": setting.corruption, "trust": trust, "p": p, "q": q}
    row = f"{trust}, p = {p:g}, q = {q:g}"
    return Cell(row, setting.title, ours, paper, runs.options.repeats, score, facts=facts)


def _summary(table: Table) -> Table:
    """The paper's exponents beside the best ones, for every source of trust."""
    default_cells, best = [], []
    for trust in dict.fromkeys(cell.facts["trust"] for cell in table.cells):
        for column in table.columns:
            tried = [c for c in table.cells if c.facts["trust"] == trust and c.column == column]
            papers = next((c for c in tried if (c.facts["p"], c.facts["q"]) == (1.0, 2.0)), None)
            default_cells.append(brief(f"{trust}, p = 1, q = 2", column, papers))
            measured = [(c.ours.mean, c.facts) for c in tried if c.ours]
            mean, at = max(measured, key=lambda pair: pair[0], default=(0.0, {}))
            text = f"{mean:.1f} (p = {at['p']:g}, q = {at['q']:g})" if at else "—"
            best.append(Cell(f"{trust}, the best", column, text=text))
    words = (
        "The best exponents are chosen on the test nodes: they show how much the choice matters and are not a result."
    )
    return Table(table.title, default_cells + best, corner="trust", words=words, summary=True)


TABLE2 = Exhibit("table2", "Exponents p and q (the paper's table 2)", render)
