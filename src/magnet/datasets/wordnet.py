"""The synsets of WordNet 3.0 with text features of their glosses: our stand-in for ogbn-arxiv."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from magnet.datasets.build import make_data
from magnet.files import damaged
from magnet.untrusted import open_npz, read_csr


def read(name: str, folder: Path, split: int) -> Data:
    """Features are TF-IDF of the gloss projected on 128 singular vectors; classes are lexicographer files."""
    path = folder / "wordnet_synsets.npz"
    with damaged(path), open_npz(path) as raw:
        parts = (raw["attr_data"].astype(np.float32), raw["attr_indices"], raw["attr_indptr"])
        words = read_csr(*parts, raw["attr_shape"])
        x = torch.from_numpy(np.asarray(words @ raw["proj"].astype(np.float32)))
        part = raw["split"]
        return make_data(x, raw["edges"], raw["y"], (part == 0, part == 1, part == 2))
