"""Kinds of columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from magnet import datasets, detection
from magnet.detection.data.columns import Column, feature_matrix, infer_columns, row_units
from magnet.detection.data.read import read_data


def test_kinds_of_columns():
    x = torch.tensor([[0.0, 2.0, -1.0, 1.0], [1.0, 0.0, 2.5, 1.0], [float("nan"), 7.0, 0.0, 1.0]])
    assert [c.kind for c in infer_columns(x)] == ["binary", "count", "continuous", "binary"]
    sparse = torch.tensor([[0.0, 2.0, -1.0, 0.5], [1.0, 3.0, 2.5, 0.0]]).to_sparse_csr()
    assert [c.kind for c in infer_columns(sparse)] == ["binary", "count", "continuous", "binary"]
    assert infer_columns(sparse)[3].unit == 0.5


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([Column("a", "binary", 0, 1)], "describe 1 features; x has 2"),
        ([Column("a", "binary", 0, 2)], "only a category"),
        ([Column("a", "binary", 0, 1), Column("b", "date", 1, 2)], "kind 'date'"),
        ([Column("a", "binary", 0, 1), Column("b", "binary", 2, 3)], "at 1"),
    ],
)
def test_bad_columns_are_named(columns, message):
    data = Data(x=torch.zeros(3, 2), edge_index=torch.tensor([[0], [1]]))
    with pytest.raises(ValueError, match=message):
        detection.make("zscore").fit(data, columns)


def bag(counts: bool) -> torch.Tensor:
    x = datasets.synthetic(200, 60, 4, 8.0, 0.9, signal=0.6, words=8, seed=0).x
    if counts:
        x = x * torch.randint(1, 4, x.shape, generator=torch.Generator().manual_seed(0))
        x[torch.arange(200), x.argmax(dim=1)] = 1.0  # a unit in every row
    return x


CHANGES = {
    "doubled": lambda x: 2 * x,
    "small": lambda x: 0.001 * x,
    "float64": torch.Tensor.double,
    "sparse": torch.Tensor.to_sparse_csr,
    "row sums": lambda x: x / x.sum(dim=1, keepdim=True).clamp_min(1e-9),
    "row norms": lambda x: x / x.norm(dim=1, keepdim=True).clamp_min(1e-9),
    "sparse row sums": lambda x: (x / x.sum(dim=1, keepdim=True).clamp_min(1e-9)).to_sparse_csr(),
}


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("name", CHANGES)
def test_a_bag_is_the_same_bag_whatever_it_was_multiplied_by(name, counts):
    x = bag(counts)
    if counts and name == "small":
        pytest.skip("small multiples of counts are not whole numbers")
    edges = torch.tensor([[0], [1]])
    given = CHANGES[name](x)
    data, expected = (read_data(Data(x=v, edge_index=edges)) for v in (given, x))
    assert [c.kind for c in data.columns] == [c.kind for c in expected.columns]
    factor = 2 if counts and name == "doubled" else 1  # doubled counts are counts of another unit
    ratio = torch.where(torch.tensor([c.kind == "count" for c in data.columns]), factor, 1)
    torch.testing.assert_close(data.block(0, 60), ratio * expected.block(0, 60))
    dense = given.to_dense() if given.layout != torch.strided else given
    torch.testing.assert_close(data.original(0, 60), dense.float())


def test_features_that_are_no_normalized_bags_stay_as_they_are():
    generator = torch.Generator().manual_seed(0)
    weights = torch.rand(100, 40, generator=generator) * (torch.rand(100, 40, generator=generator) < 0.2)
    assert row_units(weights / weights.sum(dim=1, keepdim=True).clamp_min(1e-9)) is None  # no multiples of a unit
    prices = 0.5 * torch.randint(0, 9, (100, 40), generator=generator) * (weights > 0)
    assert row_units(prices) is None  # rows of different size
    assert row_units(bag(False)) is None  # 0/1 as it is


def test_features_in_files_are_judged_as_those_in_memory(tmp_path, monkeypatch):
    data = datasets.synthetic(200, 8, kind="continuous", seed=0)
    expected = detection.make("auto").fit(data).probability_
    np.save(tmp_path / "x.npy", data.x.numpy())
    pd.DataFrame(data.x.numpy()).rename(columns=str).to_parquet(tmp_path / "x.parquet")
    before = (tmp_path / "x.npy").read_bytes()
    for name in ("x.npy", "x.parquet"):
        found = detection.make("auto").fit(Data(x=str(tmp_path / name), edge_index=data.edge_index))
        assert torch.equal(found.probability_, expected)
    assert (tmp_path / "x.npy").read_bytes() == before
    sp.save_npz(tmp_path / "x.npz", sp.csr_matrix(data.x.numpy()))
    sp.save_npz(tmp_path / "by_column.npz", sp.csc_matrix(data.x.numpy()))
    for name in ("x.npz", "by_column.npz"):
        assert np.array_equal(feature_matrix(tmp_path / name).toarray(), data.x)
    sp.save_npz(tmp_path / "other.npz", sp.coo_matrix(data.x.numpy()))
    with pytest.raises(ValueError, match=r"other.npz', which cannot be read .*CSR or CSC"):
        feature_matrix(tmp_path / "other.npz")
    with pytest.raises(ValueError, match=r"x.txt'; files are .npy"):
        feature_matrix(tmp_path / "x.txt")
    with pytest.raises(ValueError, match="cannot be read"):
        feature_matrix(tmp_path / "absent.npy")
