"""Coauthor-CS and Amazon-Computers as published by Shchur et al. 2018; they come without a split."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from torch_geometric.data import Data

from magnet.arrays import to_torch_csr
from magnet.datasets.build import make_data, random_split
from magnet.files import damaged
from magnet.untrusted import open_npz, read_csr

FILES = {"coauthor-cs": "ms_academic_cs.npz", "amazon-computers": "amazon_electronics_computers.npz"}
#: Validation nodes: as in the paper for Coauthor-CS, as for the Planetoid graphs for Amazon-Computers.
VALIDATION = {"coauthor-cs": 200, "amazon-computers": 500}


def read(name: str, folder: Path, split: int) -> Data:
    """Counts become 0/1, as in PyG's loaders. 20 training nodes per class; ``split`` seeds the draw.

    Split 0, which all tables in ``results/`` use, is drawn in order: its validation nodes have no node of 3 of 10
    (Amazon-Computers) and 8 of 15 classes (Coauthor-CS).
    """
    path = folder / FILES[name]
    with damaged(path), open_npz(path) as raw:
        parts = (raw["attr_data"], raw["attr_indices"], raw["attr_indptr"])
        x = read_csr(*parts, raw["attr_shape"])
        x.data = (x.data > 0).astype(np.float32)
        x.eliminate_zeros()
        parts = (raw["adj_data"], raw["adj_indices"], raw["adj_indptr"])
        edges = read_csr(*parts, raw["adj_shape"]).tocoo()
        y = raw["labels"]
        masks = random_split(y, per_class=20, val=VALIDATION[name], test=1000, seed=split, in_order=split == 0)
        return make_data(to_torch_csr(x), (edges.row, edges.col), y, masks)
