"""The exponents p and q, for every source of trust."""

from __future__ import annotations

from typing import Any

from magnet.experiments.exhibits.base import Cell, Document, Exhibit, Figure, Options, Results, Table, brief, jobs_of
from magnet.experiments.exhibits.classification import CORRUPTIONS, Setting, accuracy, configs, relative, settings
from magnet.experiments.store.jobs import Config, Job

TITLE = "Exponents p and q (the paper's table 2)"
CORRUPTED = ("inject-random", "meta")
DATASETS = ("cora", "citeseer", "pubmed", "coauthor-cs", "wiki-cs")
#: Source of trust: the method, and what it needs.
TRUST: dict[str, tuple[str, dict[str, Any]]] = {
    "one": ("magnet-one", {}),
    "gae": ("magnet-gae", {}),
    "ours": ("magnet-gae", {"detector": "auto", "detector_options": {}}),
    "true": ("magnet-true", {}),
}
PAPERS = [(p, q) for p in (0.0, 1.0) for q in (1.0, 2.0)]
FURTHER = [(0.5, 1.0), (0.5, 2.0), (0.0, 1.5), (0.5, 1.5), (1.0, 1.5)]


def _exponents(options: Options) -> list[tuple[float, float]]:
    return [(1.0, 2.0), (0.0, 1.0)] if options.quick else sorted([*PAPERS, *FURTHER])


def _trust(options: Options) -> list[str]:
    chosen = options.choose("methods", list(TRUST))
    return ["one"] if options.quick and options.methods is None else chosen


def _configs(options: Options, setting: Setting, trust: str, p: float, q: float) -> list[Config]:
    method, more = TRUST[trust]
    return configs(options, setting, method, **more, p=p, q=q)


def _settings(options: Options) -> list[Setting]:
    return settings(options, CORRUPTED, injection=DATASETS)


def plan(options: Options) -> list[Job]:
    every = [
        config for s in _settings(options) for method in ("gcn", "clean") for config in configs(options, s, method)
    ]
    jobs = jobs_of(every, together=("seed",))
    for setting in _settings(options):
        for trust in _trust(options):
            grid = [c for p, q in _exponents(options) for c in _configs(options, setting, trust, p, q)]
            jobs.append(Job(tuple(grid)))  # one batch
    return jobs


def render(results: Results, options: Options) -> Document:
    parts: list[Table | Figure | str] = [
        "Test accuracy in percent. The paper has p in {0, 1} and q in {1, 2}; p = 1/2 and q = 3/2 are ours, as is the "
        "trust of our own detector. Everything else is as in table 1."
    ]
    columns = _settings(options)
    for corruption in dict.fromkeys(column.corruption for column in columns):
        cells = []
        group = [column for column in columns if column.corruption == corruption]
        for trust in _trust(options):
            for p, q in _exponents(options):
                cells += [_cell(results, options, setting, trust, p, q) for setting in group]
        parts.append(Table(f"Accuracy under {CORRUPTIONS[corruption]}", cells, corner="trust, p, q"))
    return Document("table2", TITLE, parts, _summary(next((part for part in parts if isinstance(part, Table)), None)))


def _summary(table: Table | None) -> Table | None:
    """The paper's exponents beside the best ones, for every source of trust."""
    if table is None:
        return None
    cells = []
    for trust in dict.fromkeys(cell.facts["trust"] for cell in table.cells):
        for column in table.columns:
            tried = [c for c in table.cells if c.facts["trust"] == trust and c.column == column]
            usual = next((c for c in tried if (c.facts["p"], c.facts["q"]) == (1.0, 2.0)), None)
            cells.append(brief(f"{trust}, p = 1, q = 2", column, usual))
            known = [c for c in tried if c.ours]
            best = max(known, key=lambda c: c.ours.mean if c.ours else 0.0) if known else None
            text = "—" if best is None or best.ours is None else f"{best.ours.mean:.1f}"
            at = "" if best is None else f" (p = {best.facts['p']:g}, q = {best.facts['q']:g})"
            cells.append(Cell(f"{trust}, the best", column, text=text + at))
    words = "The best exponents are chosen on the test nodes: they show how much the choice matters, no result."
    return Table(table.title, sorted(cells, key=lambda c: "best" in c.row), corner="trust", words=words)


def _cell(results: Results, options: Options, setting: Setting, trust: str, p: float, q: float) -> Cell:
    ours = results.summary(_configs(options, setting, trust, p, q), "test_accuracy", 100)
    ends = [accuracy(results, options, setting, end) for end in ("gcn", "clean")]
    score = None if ours is None else relative(ours.mean, *ends)
    paper = setting.paper("table2", f"magnet-{trust}", p=p, q=q)
    facts = {"dataset": setting.dataset, "corruption": setting.corruption, "trust": trust, "p": p, "q": q}
    row = f"{trust}, p = {p:g}, q = {q:g}"
    return Cell(row, setting.title, ours, paper, options.repeats, score, facts=facts)


EXHIBITS = (Exhibit("table2", TITLE, plan, render),)
