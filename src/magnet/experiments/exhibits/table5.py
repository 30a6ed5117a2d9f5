"""Statistics of the datasets beside the paper's."""

from __future__ import annotations

from magnet.datasets import DATASETS
from magnet.experiments.exhibits.base import Cell, Document, Exhibit, Options, Results, Summary, Table, jobs_of
from magnet.experiments.exhibits.classification import available, column_title
from magnet.experiments.exhibits.paper import printed
from magnet.experiments.store.jobs import Config, Job

TITLE = "Datasets (the paper's table 5)"
QUANTITIES = {
    "nodes": "nodes",
    "edges": "edges",
    "features": "features",
    "classes": "classes",
    "train": "training nodes",
    "val": "validation nodes",
    "test": "test nodes",
    "label_rate": "label rate",
    "homophily": "homophily",
    "low": "smallest value",
    "high": "largest value",
}
NAMES = [name for name, entry in DATASETS.items() if not name.startswith("bsd68")]


def _config(name: str) -> Config:
    return {"kind": "statistics", "dataset": name, "corruption": "none", "method": "", "seed": 0}


def _names(options: Options) -> list[str]:
    chosen = options.choose("datasets", NAMES)
    return [name for name in chosen if name in ("digits", "cora")] if options.quick and not options.datasets else chosen


def plan(options: Options) -> list[Job]:
    names = [name for name in _names(options) if available(name)]
    return jobs_of([_config(name) for name in names], together=())


def render(results: Results, options: Options) -> Document:
    cells = []
    for name in _names(options):
        found = results.get(_config(name))
        for quantity, words in QUANTITIES.items():
            digits = 3 if quantity in ("label_rate", "homophily", "low", "high") else 0
            ours = None if found is None else Summary(float(found[quantity]))
            paper = printed("table5", quantity, dataset=name)
            absent = "" if available(name) or found is not None else "no files"
            cells.append(Cell(words, column_title(name), ours, paper, 1, digits=digits, impossible=absent))
    words = (
        "Edges are undirected, distinct and without self-loops. The paper's counts for Cora, CiteSeer and PubMed are "
        "half the entries of the raw adjacency lists, repeated links and self-loops included; its 17 033 features of "
        "Wisconsin are a slip for 1 703."
    )
    return Document("table5", TITLE, [Table("statistics", cells, words=words)])


EXHIBITS = (Exhibit("table5", TITLE, plan, render),)
