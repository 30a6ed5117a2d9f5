"""A small graph, the surrogate of the meta attack on it, and the loss that the attack raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from magnet.corruption.surrogate import Surrogate
from magnet.datasets import synthetic


def make_graph(kind: str = "binary", nodes: int = 80, features: int = 25) -> Data:
    return synthetic(nodes, features, classes=3, average_degree=4, kind=kind)  # type: ignore[arg-type]


def make_surrogate(data: Data, x: torch.Tensor, **options: int) -> Surrogate:
    return Surrogate.build(data.edge_index, data.train_mask, 3, x, **options)


def loss_after_training(model: Surrogate, x: torch.Tensor, labels: torch.Tensor, start: Any) -> torch.Tensor:
    """Cross-entropy on the nodes outside the training set, after training on ``x``."""
    weights = model.fit(model.train_rows @ x, labels[model.train], start)
    others = torch.ones_like(labels, dtype=torch.bool)
    others[model.train] = False
    return torch.nn.functional.cross_entropy(model.logits(x, weights)[others], labels[others])


@pytest.fixture
def graph() -> Callable[..., Data]:
    return make_graph


@pytest.fixture
def surrogate() -> Callable[..., Surrogate]:
    return make_surrogate


@pytest.fixture
def attack_loss() -> Callable[..., torch.Tensor]:
    return loss_after_training
