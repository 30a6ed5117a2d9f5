"""The paper's datasets, and what stands in for those that are not on this machine."""

from __future__ import annotations

from magnet.datasets import DATASETS

#: In the paper's order.
INJECTION = ("cora", "citeseer", "pubmed", "coauthor-cs", "wiki-cs", "wisconsin", "texas", "ogbn-arxiv")
META = ("cora", "citeseer", "pubmed")
TITLES = {
    "cora": "Cora",
    "citeseer": "CiteSeer",
    "pubmed": "PubMed",
    "coauthor-cs": "Coauthor-CS",
    "wiki-cs": "Wiki-CS",
    "wisconsin": "Wisconsin",
    "texas": "Texas",
    "ogbn-arxiv": "ogbn-arxiv",
    "amazon-computers": "Amazon-Computers",
    "wordnet": "WordNet",
    "digits": "Digits",
}
#: The datasets of the ``--quick`` version: built in, so that it runs anywhere.
QUICK = ("digits",)


def available(name: str) -> bool:
    """Whether the files of a dataset are on this machine."""
    entry = DATASETS[name]
    return entry.source is None or entry.found() is not None


def stand_in(name: str) -> str:
    """The dataset itself where its files are here, else the one that stands in for it (or itself if none does)."""
    if available(name):
        return name
    return next((other for other, entry in DATASETS.items() if entry.stands_for == name), name)


def shown(names: tuple[str, ...]) -> list[str]:
    """Datasets in the paper's order, stand-ins in the place of what is missing."""
    return [stand_in(name) for name in names]


def column_title(name: str) -> str:
    stands_for = DATASETS[name].stands_for
    return TITLES.get(name, name) + (f" (for {TITLES[stands_for]})" if stands_for else "")
