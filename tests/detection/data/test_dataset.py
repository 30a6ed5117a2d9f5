"""What kind of data these are, and sums over neighbors."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from magnet.detection.data.read import read_data


@pytest.mark.parametrize("sparse", [False, True])
def test_full_rows_among_bags_do_not_hide_that_they_are_bags(sparse):
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(200, 40, generator=generator) < 0.3).float()
    x[:90] = 1.0  # more than half of the cells are filled now
    assert float((x != 0).float().mean()) > 0.5
    edge_index = torch.randint(0, 200, (2, 600), generator=generator)
    assert read_data(Data(x=x.to_sparse_csr() if sparse else x, edge_index=edge_index)).is_bag
    x[:120] = 1.0
    assert not read_data(Data(x=x.to_sparse_csr() if sparse else x, edge_index=edge_index)).is_bag


@pytest.mark.parametrize("sparse", [False, True])
def test_numbers_in_their_own_units_beside_one_hot_columns_are_no_bag(sparse):
    rng = np.random.default_rng(0)
    x = np.hstack([rng.normal(2000, 300, (200, 2)).round(), np.eye(20)[rng.integers(0, 20, 200)]])
    edge_index = torch.from_numpy(rng.integers(0, 200, (2, 600)))

    def is_bag(x: np.ndarray) -> bool:
        features = torch.from_numpy(x).float()
        return read_data(Data(x=features.to_sparse_csr() if sparse else features, edge_index=edge_index)).is_bag

    assert not is_bag(x)  # heights in meters, and a category
    words = x[:, 2:].copy()
    assert is_bag(words)
    words[3, 4] = 1e6  # one wild cell does not change what the columns are
    assert is_bag(words)


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


def test_zeros_beside_numbers_that_hardly_recur_are_a_group_of_their_own():
    rng = np.random.default_rng(0)
    amounts = np.where(rng.random(200) < 0.4, 0, np.exp(rng.normal(size=200)))
    grades = rng.choice([0, 0.5, 1.5, 2.5], 200)
    few_zeros = np.where(rng.random(200) < 0.02, 0, np.exp(rng.normal(size=200)))
    x = torch.from_numpy(np.stack([amounts, grades, few_zeros], axis=1)).float()
    data = read_data(Data(x=x, edge_index=torch.from_numpy(rng.integers(0, 200, (2, 600)))))
    assert data.spike.isnan().tolist() == [False, True, True]
    assert data.spike[0] == 0
