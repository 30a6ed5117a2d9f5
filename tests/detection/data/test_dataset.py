"""What detectors accept as data."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from magnet import datasets, detection
from magnet.detection.data.dataset import DetectionData


@pytest.mark.parametrize("sparse", [False, True])
def test_full_rows_among_bags_do_not_hide_that_they_are_bags(sparse):
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(200, 40, generator=generator) < 0.3).float()
    x[:90] = 1.0  # more than half of the cells are filled now
    assert float((x != 0).float().mean()) > 0.5
    edge_index = torch.randint(0, 200, (2, 600), generator=generator)
    assert DetectionData.from_data(Data(x=x.to_sparse_csr() if sparse else x, edge_index=edge_index)).is_bag
    x[:120] = 1.0
    assert not DetectionData.from_data(Data(x=x.to_sparse_csr() if sparse else x, edge_index=edge_index)).is_bag


@pytest.mark.parametrize("sparse", [False, True])
def test_numbers_in_their_own_units_beside_one_hot_columns_are_no_bag(sparse):
    rng = np.random.default_rng(0)
    x = np.hstack([rng.normal(2000, 300, (200, 2)).round(), np.eye(20)[rng.integers(0, 20, 200)]])
    edge_index = torch.from_numpy(rng.integers(0, 200, (2, 600)))

    def is_bag(x: np.ndarray) -> bool:
        features = torch.from_numpy(x).float()
        return DetectionData.from_data(
            Data(x=features.to_sparse_csr() if sparse else features, edge_index=edge_index)
        ).is_bag

    assert not is_bag(x)  # heights in meters, and a category
    words = x[:, 2:].copy()
    assert is_bag(words)
    words[3, 4] = 1e6  # one wild cell does not change what the columns are
    assert is_bag(words)


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
        DetectionData.from_data(data)
    x[:, 2] += 1.7e12  # milliseconds since 1970
    data.x = x.astype(kind)
    with pytest.warns(UserWarning, match=r"feature 2: values around 1\.7e\+12 differ by less than single precision"):
        DetectionData.from_data(data)
    x[:, 2] -= 1.7e12 - 1e5
    x[:, 1], x[5, 1], x[:, 3] = 0, 2**25 + 1, 2**25 + 1  # rare large numbers, and a constant
    data.x = x.astype(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DetectionData.from_data(data)


def test_sums_over_two_hops_row_by_row_are_those_of_all_rows(small_data):
    values = torch.randn(small_data.num_nodes, 7, generator=torch.Generator().manual_seed(0))
    one, two = small_data.neighbor_sums(values)
    assert torch.equal(small_data.neighbor_sum(values), one)
    for rows in (slice(0, 3), slice(3, small_data.num_nodes)):
        assert torch.equal(small_data.far_sums(one, values, rows), two[rows])
    dense = torch.from_numpy(small_data.graph.adjacency.toarray()).float()
    square = dense @ dense
    square.fill_diagonal_(0)
    torch.testing.assert_close(two, square @ values, atol=1e-3, rtol=1e-4)
