"""Small graphs and tables with known errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from magnet import corruption, datasets, detection
from magnet.detection.data.columns import Column
from magnet.detection.data.dataset import DetectionData
from magnet.detection.data.read import read_data


@pytest.fixture(scope="session")
def town_table():
    """Towns with a color each; numbers that depend on the town; some cells wrong."""
    rng = np.random.default_rng(0)
    graph = datasets.synthetic(1200, 16, 4, 8.0, 0.95, seed=0)
    town = graph.y.numpy()
    color, price = town.copy(), rng.normal(100 * town, 15)
    flag = (rng.random(1200) < np.where(town < 2, 0.02, 0.98)).astype(float)
    wrong = rng.choice(1200, 60, replace=False)
    truth = np.zeros((1200, 6), bool)
    color[wrong[:20]] = (town[wrong[:20]] + 2) % 4
    truth[wrong[:20], :4] = True
    price[wrong[20:40]] = rng.normal(100 * ((town[wrong[20:40]] + 2) % 4), 15)
    truth[wrong[20:40], 4] = True
    flag[wrong[40:]] = 1 - flag[wrong[40:]]
    truth[wrong[40:], 5] = True
    x = np.hstack([np.eye(4)[color], price[:, None], flag[:, None]])
    columns = [
        Column("color", "categorical", 0, 4),
        Column("price", "continuous", 4, 5),
        Column("flag", "binary", 5, 6),
    ]
    return Data(x=torch.from_numpy(x).float(), edge_index=graph.edge_index), columns, truth


@pytest.fixture(scope="session")
def small_data() -> DetectionData:
    """30 weighted nodes with 20 binary features; two nodes are isolated."""
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(30, 20, generator=generator) < 0.3).float()
    edge_index = torch.randint(0, 28, (2, 70), generator=generator)
    weight = torch.rand(70, generator=generator) + 0.5
    return read_data(Data(x=x, edge_index=edge_index, edge_weight=weight))


@pytest.fixture(scope="session")
def fitted():
    """Makes and fits a detector by name; the autoencoder is trained for five epochs only."""

    def fit(name, data, columns=None, trusted=None, **options):
        quick = {"epochs": 5} if name == "gae" else {}
        return detection.make(name, **(quick | options)).fit(data, columns, trusted)

    return fit


@pytest.fixture(scope="session")
def replaced():
    """A binary graph in which 30 % of the rows were replaced by rows of other nodes."""
    data = datasets.synthetic(800, 120, 4, 8.0, 0.85, signal=0.7, seed=2)
    return corruption.inject_attributes(data, ratio=0.3, candidates=1, select="random", seed=0)
