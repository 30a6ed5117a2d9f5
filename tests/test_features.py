"""Wrong node features: a verdict, then recovery."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.data import Data, HeteroData

from magnet import MAGnet, graph
from magnet.datasets import synthetic
from magnet.features import check_features, fingerprint, judge_features


def data() -> Data:
    return synthetic(nodes=60, features=8, average_degree=4, kind="continuous", seed=0)


def test_a_fingerprint_knows_features_edges_and_weights() -> None:
    first, same, other, weighted = data(), data(), data(), data()
    other.x = other.x.clone()
    other.x[3, 2] += 1
    weighted.edge_weight = torch.linspace(1, 2, weighted.edge_index.shape[1])
    assert fingerprint(first) == fingerprint(same)
    assert len({fingerprint(each) for each in (first, other, weighted)}) == 3


def test_one_graph_serves_detection_and_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []
    build = graph._largest_weight
    monkeypatch.setattr(graph, "_largest_weight", lambda *args: built.append(1) or build(*args))
    given = data()
    given.x[3, 2] = 50.0
    model = MAGnet().fit(given)
    assert built == [1]
    assert bool(model.flagged_.to_dense()[3, 2])
    assert float(model.x_[3, 2]) < 10


@pytest.mark.parametrize(
    ("trust", "message"),
    [
        (torch.ones(60, 3), r"shape \[60, 3\]"),
        (torch.full((60,), 2.0), "outside 0 to 1"),
        (torch.full((60, 8), float("nan")), "outside 0 to 1"),
    ],
)
def test_a_trust_matrix_that_makes_no_sense_is_named(trust: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        judge_features(data(), trust)


def test_what_cannot_be_cleaned_is_named() -> None:
    whole = data()
    whole.x = whole.x.long()
    for given, message in ((HeteroData(), "HeteroData"), (Data(), "without a feature matrix"), (whole, "int64")):
        with pytest.raises(ValueError, match=message):
            check_features(given)
