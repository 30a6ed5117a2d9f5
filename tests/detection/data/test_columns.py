"""Kinds of columns."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from magnet import detection
from magnet.detection.data.columns import Column, infer_columns


def test_kinds_of_columns():
    x = torch.tensor([[0.0, 2.0, -1.0, 1.0], [1.0, 0.0, 2.5, 1.0], [float("nan"), 7.0, 0.0, 1.0]])
    assert [c.kind for c in infer_columns(x)] == ["binary", "count", "continuous", "binary"]
    sparse = torch.tensor([[0.0, 2.0, -1.0], [1.0, 0.0, 2.5]]).to_sparse_csr()
    assert [c.kind for c in infer_columns(sparse)] == ["binary", "count", "continuous"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([Column("a", "binary", 0, 1)], "describe 1 features; x has 2"),
        ([Column("a", "binary", 0, 2)], "only a category"),
        ([Column("a", "binary", 0, 1), Column("b", "date", 1, 2)], "kind 'date'"),
        ([Column("a", "binary", 0, 1), Column("b", "binary", 2, 3)], "from 1"),
    ],
)
def test_bad_columns_are_named(columns, message):
    data = Data(x=torch.zeros(3, 2), edge_index=torch.tensor([[0], [1]]))
    with pytest.raises(ValueError, match=message):
        detection.make("zscore").fit(data, columns)
