"""A corrupted graph, and a detector that knows which rows are wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from magnet.corruption import inject_attributes
from magnet.datasets import synthetic
from magnet.experiments.methods import trust
from magnet.experiments.protocol.data import Repetition
from magnet.graph import Graph


@pytest.fixture
def case() -> Repetition:
    data = synthetic(nodes=80, features=20, classes=3, seed=2)
    bad = inject_attributes(data, ratio=0.4, select="random", seed=0)
    graph = Graph.from_edges(data.edge_index, data.num_nodes)
    return Repetition(bad.data, graph, 0, bad, torch.device("cpu"))


@pytest.fixture
def found() -> Callable[..., trust.Detection]:
    def detect(case: Repetition, gate_open: bool = True) -> trust.Detection:
        truth = trust.true_trust(case, "rows")
        return trust.Detection(truth, truth, gate_open, {"gate": "too small", "seconds": 0.1})

    return detect
