"""A path of four nodes, and a small graph to train on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from magnet.datasets import synthetic
from magnet.graph import Graph

PATH = torch.tensor([[0, 1, 2], [1, 2, 3]])


@pytest.fixture
def path() -> Graph:
    return Graph.from_edges(PATH, 4)


@pytest.fixture
def path_matrix() -> torch.Tensor:
    """A_hat with self-loops of the path, written out: degrees with loops are 2, 3, 3, 2."""
    half, third, six = 1 / 2, 1 / 3, 1 / np.sqrt(6)
    return torch.tensor(
        [[half, six, 0, 0], [six, third, third, 0], [0, third, third, six], [0, 0, six, half]], dtype=torch.float32
    )


@pytest.fixture(scope="session")
def small() -> Any:
    """150 nodes, 40 words, 3 classes: (data, graph)."""
    data = synthetic(nodes=150, features=40, classes=3, average_degree=6, signal=0.6, words=8, seed=1)
    index = torch.arange(150)
    data.train_mask, data.val_mask, data.test_mask = index < 30, (index >= 30) & (index < 70), index >= 70
    return data, Graph.from_edges(data.edge_index, data.num_nodes)


@pytest.fixture
def set_identity() -> Callable[[Any], None]:
    """Makes every layer of a model multiply by the identity and add nothing."""

    @torch.no_grad()
    def change(model: Any) -> None:
        for layer in model.layers:
            layer.weight.zero_()
            layer.weight[:, 0] = torch.eye(*layer.weight[:, 0].shape)
            layer.bias.zero_()

    return change
