"""Statistics of the datasets beside the paper's."""

from __future__ import annotations

from magnet.datasets import DATASETS
from magnet.experiments.exhibits.base import Cell, Exhibit, Options, Part, Results, Summary, Table
from magnet.experiments.exhibits.classification import available, column_title
from magnet.experiments.exhibits.paper import printed

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
NAMES = [name for name in DATASETS if not name.startswith("bsd68")]


def render(results: Results, options: Options) -> list[Part]:
    names = options.choose("datasets", NAMES)
    if options.quick and not options.datasets:
        names = ["cora", "digits"]
    cells = []
    for name in names:
        config = {"kind": "statistics", "dataset": name, "corruption": "none", "method": "", "seed": 0}
        result = results.get(config) if available(name) or config in results else None
        for quantity, words in QUANTITIES.items():
            digits = 3 if quantity in ("label_rate", "homophily", "low", "high") else 0
            ours = None if result is None else Summary(float(result[quantity]))
            paper = printed("table5", quantity, dataset=name)
            absent = "" if available(name) or result is not None else "no files"
            cells.append(Cell(words, column_title(name), ours, paper, 1, digits=digits, impossible=absent))
    words = (
        "Edges are undirected, distinct and without self-loops. The paper's counts for Cora, CiteSeer and PubMed are "
        "half the entries of the raw adjacency lists, repeated links and self-loops included; its 17 033 features of "
        "Wisconsin are a misprint of 1 703."
    )
    return [Table("statistics", cells, words=words)]


TABLE5 = Exhibit("table5", "Datasets (the paper's table 5)", render)
