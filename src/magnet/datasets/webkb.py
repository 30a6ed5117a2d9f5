"""Wisconsin and Texas in the form of Geom-GCN (Pei et al. 2020), with its ten splits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from magnet.datasets.build import make_data
from magnet.files import damaged
from magnet.untrusted import open_npz


def read(name: str, folder: Path, split: int) -> Data:
    """Tab-separated ``id, comma-separated 0/1 features, class`` and ``from, to``, each below a header line.

    The links of the web pages are directed and 16 pages link to themselves; the graph here is undirected
    and without self-loops.
    """
    path = folder / "out1_node_feature_label.txt"
    with damaged(path):
        rows = [line.split("\t") for line in path.read_text(encoding="ascii").splitlines()[1:]]
        x = np.array([features.split(",") for _, features, _ in rows], dtype=np.float32)
        y = np.array([label for _, _, label in rows], dtype=np.int64)
    path = folder / "out1_graph_edges.txt"
    with damaged(path):
        edges = np.loadtxt(path, dtype=np.int64, skiprows=1, delimiter="\t", ndmin=2).T
        data = make_data(torch.from_numpy(x), edges, y)
    path = folder / f"{name}_split_0.6_0.2_{split}.npz"
    with damaged(path), open_npz(path) as masks:
        for part in ("train_mask", "val_mask", "test_mask"):
            data[part] = torch.from_numpy(masks[part].astype(bool))
    return data
