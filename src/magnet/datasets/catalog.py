"""The catalog: sizes, kinds and sources of the datasets.

To add a dataset: write a file with ``read(name, folder, split) -> Data`` (``webkb.py`` is a short one) and
add an entry here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from magnet.datasets import download
from magnet.datasets.download import Source

PLANETOID = "https://github.com/kimiyoung/planetoid/raw/master/data"
GEOM_GCN = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master"
GNN_BENCHMARK = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz"
WIKI_CS = "https://github.com/pmernyei/wiki-cs-dataset/raw/master/dataset"
OGB = "https://snap.stanford.edu/ogb/data/nodeproppred"
DNCNN = "https://github.com/cszn/DnCNN/raw/master/testsets/BSD68"


@dataclass(frozen=True)
class DatasetInfo:
    """Metadata of a dataset."""

    name: str  # what load() takes
    reader: str  # the module of magnet.datasets that reads it
    nodes: int
    edges: int  # undirected, distinct and without self-loops
    features: int
    classes: int  # 0 without labels
    kind: str  # "binary" or "continuous"
    low: float  # the range of the features
    high: float
    homophily: float | None  # share of edges within a class (None where there are no classes)
    splits: str  # in words
    num_splits: int | None = 1  # None: one for every seed
    source: Source | None = None  # its raw files (None for embedded data)
    tolerance: float = 0.0  # a cell counts as corrupted when it moved by more than this (the paper's figures)
    candidates: int = 100  # from which attribute injection chooses each row in the paper
    sparse: bool = False  # whether x is a sparse CSR tensor by default
    stands_for: str = ""  # the dataset of the paper that this one replaces, if any

    def found(self, root: str | os.PathLike[str] | None = None) -> Path | None:
        """The folder in which the raw files lie, or None."""
        return None if self.source is None else download.find(self.source, root)


def _planetoid(name: str, folder: str) -> Source:
    parts = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    urls = {f"ind.{name}.{part}": f"{PLANETOID}/ind.{name}.{part}" for part in parts}
    return Source((f"Planetoid/{folder}/raw", f"{folder}/raw"), urls)


def _webkb(name: str) -> Source:
    urls = {f: f"{GEOM_GCN}/new_data/{name}/{f}" for f in ("out1_node_feature_label.txt", "out1_graph_edges.txt")}
    splits = [f"{name}_split_0.6_0.2_{i}.npz" for i in range(10)]
    return Source((f"WebKB/{name}/raw", f"{name}/raw"), urls | {f: f"{GEOM_GCN}/splits/{f}" for f in splits})


def _gnn_benchmark(folder: str, file: str) -> Source:
    folders = (f"{folder}/raw", f"{folder.split('/')[1]}/raw")
    return Source(folders, {file: f"{GNN_BENCHMARK}/{file}"})


_WIKI_CS = Source(("WikiCS/raw", "wiki-cs/raw", "raw"), {"data.json": f"{WIKI_CS}/data.json"})
_ARXIV_FILES = (
    *(f"raw/{part}.csv.gz" for part in ("edge", "node-feat", "node-label")),
    *(f"split/time/{part}.csv.gz" for part in ("train", "valid", "test")),
)
_ARXIV = Source(
    ("ogbn_arxiv", "ogbn-arxiv", "arxiv", "."), dict.fromkeys(_ARXIV_FILES, ""), (f"{OGB}/arxiv.zip", "arxiv")
)
_WORDNET = Source(
    ("WordNet",),
    {"wordnet_synsets.npz": ""},
    remark="It is built from WordNet 3.0 for this project and published nowhere else.",
)


def bsd68_source(number: int) -> Source:
    file = f"test{number:03d}.png"
    return Source(("BSD68",), {file: f"{DNCNN}/{file}"})


# Counts were taken from the files; those of wiki-cs and ogbn-arxiv are the published ones.
# fmt: off
_ENTRIES = (
    DatasetInfo("cora", "planetoid", 2708, 5278, 1433, 7, "binary", 0, 1, 0.810,
                "140/500/1000", source=_planetoid("cora", "Cora")),
    DatasetInfo("citeseer", "planetoid", 3327, 4552, 3703, 6, "binary", 0, 1, 0.736,
                "120/500/1000", source=_planetoid("citeseer", "CiteSeer")),
    DatasetInfo("pubmed", "planetoid", 19717, 44324, 500, 3, "continuous", 0, 1.263, 0.802,
                "60/500/1000", source=_planetoid("pubmed", "PubMed"), tolerance=0.005, candidates=500),
    DatasetInfo("coauthor-cs", "gnn_benchmark", 18333, 81894, 6805, 15, "binary", 0, 1, 0.808,
                "300/200/1000 (seeded)", None, _gnn_benchmark("Coauthor/CS", "ms_academic_cs.npz"),
                candidates=500, sparse=True),
    DatasetInfo("wiki-cs", "wiki_cs", 11701, 215603, 300, 10, "continuous", -3, 3, 0.654,
                "20 x 580/1769/5847", 20, _WIKI_CS, tolerance=0.05, candidates=500),
    DatasetInfo("wisconsin", "webkb", 251, 450, 1703, 5, "binary", 0, 1, 0.178,
                "10 x 120/80/51", 10, _webkb("wisconsin")),
    DatasetInfo("texas", "webkb", 183, 279, 1703, 5, "binary", 0, 1, 0.061,
                "10 x 87/59/37", 10, _webkb("texas")),
    DatasetInfo("ogbn-arxiv", "ogbn_arxiv", 169343, 1157799, 128, 40, "continuous", -1.389, 1.639, 0.654,
                "90941/29799/48603 (by year)", source=_ARXIV, candidates=500),
    DatasetInfo("amazon-computers", "gnn_benchmark", 13752, 245861, 767, 10, "binary", 0, 1, 0.777,
                "200/500/1000 (seeded)", None,
                _gnn_benchmark("Amazon/Computers", "amazon_electronics_computers.npz"),
                candidates=500, stands_for="wiki-cs"),
    DatasetInfo("wordnet", "wordnet", 117659, 183789, 128, 45, "continuous", -0.602, 0.983, 0.709,
                "63535/21179/32945", source=_WORDNET, candidates=500, stands_for="ogbn-arxiv"),
    DatasetInfo("digits", "digits", 1797, 9929, 64, 10, "continuous", 0, 1, 0.961,
                "200/500/1000 (seeded)", None),
    DatasetInfo("bsd68/1", "bsd68", 2400, 4700, 64, 0, "continuous", 0, 1, None,
                "none", source=bsd68_source(1)),
)
# fmt: on
DATASETS = {entry.name: entry for entry in _ENTRIES}
