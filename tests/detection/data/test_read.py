"""What detectors accept as data."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from magnet import datasets, detection
from magnet.detection.data.read import read_data


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": None}, "data.x is missing"),
        ({"x": np.array([["a"], ["b"]])}, "data.x is a ndarray of <U1"),
        ({"x": torch.zeros(2, 1, dtype=torch.complex64)}, "complex64"),
        ({"x": torch.zeros(3)}, "shape"),
        ({"x": torch.tensor([[float("inf")], [0.0]])}, "inf at node 0, feature 0"),
        (
            {"x": torch.tensor([[0.0], [1e200]], dtype=torch.double)},
            r"1e\+200 at node 1, feature 0; .* single precision",
        ),
        ({"edge_index": None}, "no edge_index"),
    ],
)
def test_bad_data_is_named(change, message):
    parts = {"x": torch.zeros(2, 1), "edge_index": torch.tensor([[0], [1]])} | change
    with pytest.raises(ValueError, match=message):
        detection.make("zscore").fit(Data(**parts))


@pytest.mark.parametrize(("shape", "message"), [((5,), "trusted has shape"), ((4, 9), "trusted has shape")])
def test_bad_trusted(shape, message):
    data = datasets.synthetic(100, 4)
    with pytest.raises(ValueError, match=message):
        detection.make("zscore").fit(data, trusted=torch.zeros(shape, dtype=torch.bool))


@pytest.mark.parametrize(
    "make_x", [torch.Tensor.bool, torch.Tensor.long, torch.Tensor.double, np.asarray, sp.csr_matrix]
)
def test_features_of_any_type_give_the_same_answer(make_x, replaced):
    other = replaced.data.clone()
    other.x = make_x(replaced.data.x)
    found, expected = detection.make("cell").fit(other), detection.make("cell", rounds=1).fit(replaced.data)
    if make_x is not sp.csr_matrix:  # sparse features take one round
        expected = detection.make("cell").fit(replaced.data)
    torch.testing.assert_close(found.node_probability_, expected.node_probability_, atol=2e-3, rtol=0)
    assert [c.kind for c in found.columns_] == ["binary"] * replaced.data.num_features


@pytest.mark.parametrize("kind", [np.float64, np.int64])
def test_a_column_that_single_precision_rounds_away_is_named(kind):
    data = datasets.synthetic(nodes=80, features=4, kind="continuous", seed=0)
    x = (100 * data.x.double().numpy()).round()
    data.x = x.astype(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_data(data)
    x[:, 2] += 1.7e12  # milliseconds since 1970
    data.x = x.astype(kind)
    with pytest.warns(UserWarning, match=r"feature 2: values around 1\.7e\+12 differ by less than single precision"):
        read_data(data)
    x[:, 2] -= 1.7e12 - 1e5
    x[:, 1], x[5, 1], x[:, 3] = 0, 2**25 + 1, 2**25 + 1  # rare large numbers, and a constant
    data.x = x.astype(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_data(data)
