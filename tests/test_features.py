"""Wrong node features: a verdict, then recovery."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
import scipy.sparse as sp
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


def test_a_fingerprint_is_that_of_the_graph_in_whatever_form_its_edges_are_given() -> None:
    tensors, arrays, lists = data(), data(), data()
    arrays.edge_index, lists.edge_index = arrays.edge_index.numpy(), lists.edge_index.tolist()
    assert fingerprint(tensors) == fingerprint(arrays) == fingerprint(lists)


@pytest.mark.parametrize("kind", ["bool", "int64", "bfloat16", "numpy", "scipy", "gradients"])
def test_features_of_any_type_are_cleaned_as_floating_point_numbers(kind: str) -> None:
    given = data()
    x = given.x = (given.x > 1).float() if kind == "bool" else given.x.abs().round()
    trust = torch.ones(x.shape)
    trust[:10, 2] = 0
    expected = MAGnet(trust).fit_transform(given).x
    given.x = {
        "numpy": x.numpy,
        "scipy": lambda: sp.csr_matrix(x.numpy()),
        "gradients": lambda: x.clone().requires_grad_(),
    }.get(kind, lambda: x.to(getattr(torch, kind)))()
    model = MAGnet(trust)
    found = model.fit_transform(given).x
    assert not found.requires_grad
    assert found.dtype == (torch.bfloat16 if kind == "bfloat16" else torch.float32)
    torch.testing.assert_close(found.to_dense().float(), expected, rtol=1e-2, atol=1e-2)
    assert bool((found.to_dense().float() != x).any())
    assert bool((model.transform(given).x.to_dense() == found.to_dense()).all())


def test_a_graph_with_other_nodes_than_the_features_is_named() -> None:
    given = data()
    given.edge_index = sp.identity(40, format="csr")
    with pytest.raises(ValueError, match="num_nodes is 60; the given graph has 40 nodes"):
        MAGnet().fit(given)


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
    alone, flat = data(), data()
    alone.edge_index = None
    flat.x = flat.x[:, 0]
    for given, message in (
        (HeteroData(), "HeteroData"),
        (Data(), "without a feature matrix"),
        (pd.DataFrame({"a": [1]}), "for a data frame use magnet.clean"),
        (alone, "an empty one of shape"),
        (flat, r"shape \(60,\); it must be \[nodes, features\]"),
    ):
        with pytest.raises(ValueError, match=message):
            check_features(given)
