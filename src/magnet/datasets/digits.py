"""scikit-learn's handwritten digits on a nearest-neighbour graph: the embedded dataset, no file needed."""

from __future__ import annotations

from pathlib import Path

import torch
from torch_geometric.data import Data

from magnet.datasets.build import make_data, random_split

NEIGHBOURS = 8


def read(name: str, folder: Path, split: int) -> Data:
    """1 797 images of 8 x 8 pixels in [0, 1]; edges join each image with its 8 nearest (Euclidean).

    The edges come from the clean pixels: this graph knows more about its features than most do.
    """
    from sklearn.datasets import load_digits
    from sklearn.neighbors import kneighbors_graph

    digits = load_digits()
    nearest = kneighbors_graph(digits.data, NEIGHBOURS).tocoo()
    x = torch.from_numpy(digits.data / 16).to(torch.float32)
    return make_data(x, (nearest.row, nearest.col), digits.target, random_split(digits.target, seed=split))
