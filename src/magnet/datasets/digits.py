"""scikit-learn's handwritten digits on a nearest-neighbor graph: the embedded dataset, no file needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from magnet.arrays import Ints
from magnet.datasets.build import make_data, random_split

NEIGHBORS = 8  # images that each one is linked to


def read(name: str, folder: Path, split: int) -> Data:
    """1 797 images of 8 x 8 pixels in [0, 1]; edges join each image with its 8 nearest (Euclidean).

    The edges come from the clean pixels, so this graph is more informative about its features than most.
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    edges = _nearest(digits.data.astype(np.int64), NEIGHBORS)
    x = torch.from_numpy(digits.data / 16).to(torch.float32)
    return make_data(x, edges, digits.target, random_split(digits.target, seed=split))


def _nearest(pixels: Ints, count: int) -> Ints:
    """Edges to the nearest rows; in whole numbers, so that ties fall the same way on every machine."""
    nodes = len(pixels)
    square = (pixels**2).sum(axis=1)
    distance = square[:, None] + square - 2 * (pixels @ pixels.T)
    np.fill_diagonal(distance, distance.max() + 1)
    nearest = (distance * nodes + np.arange(nodes)).argpartition(count, axis=1)[:, :count]
    return np.stack([np.repeat(np.arange(nodes), count), nearest.ravel()])
