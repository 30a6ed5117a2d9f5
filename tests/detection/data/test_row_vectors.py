"""Rows as vectors, and duplicates."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from magnet.detection.data.dataset import DetectionData
from magnet.detection.data.read import read_data
from magnet.detection.data.row_vectors import duplicate_counts, low_rank_rows, unit_rows

EDGE = torch.tensor([[0], [1]])


def prepare(x: torch.Tensor) -> DetectionData:
    return read_data(Data(x=x, edge_index=EDGE))


def test_duplicates_count_only_where_they_are_no_coincidence():
    x = torch.rand(40, 6, generator=torch.Generator().manual_seed(0))
    x[7] = x[3]
    x[9] = x[3]
    assert duplicate_counts(prepare(x)).tolist() == [3.0 if i in (3, 7, 9) else 1.0 for i in range(40)]
    flags = (torch.rand(200, 3, generator=torch.Generator().manual_seed(0)) < 0.5).float()  # eight possible rows
    assert duplicate_counts(prepare(flags)).max() == 1
    bag = (torch.rand(300, 60, generator=torch.Generator().manual_seed(0)) < 0.2).float()
    bag[5] = bag[2]
    for layout in (bag, bag.to_sparse_csr()):
        counted = duplicate_counts(prepare(layout))
        assert counted[2] == counted[5] == 2
        assert counted.sum() == 302


def test_low_rank_rows_keep_the_angles_of_a_low_rank_table():
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(400, 5, generator=generator) @ torch.randn(5, 200, generator=generator)
    data = prepare(z)
    rows = low_rank_rows(data, rank=20)
    standard = data.scales.standardize(z).clamp(-5, 5)
    unit = standard / standard.norm(dim=1, keepdim=True)
    torch.testing.assert_close(rows.dense @ rows.dense.T, unit @ unit.T, atol=0.08, rtol=0)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_unit_rows_have_norm_one(layout, small_data):
    data = small_data if layout == "dense" else prepare(small_data.x.to_sparse_csr())
    rows = unit_rows(data)
    norm = small_data.x.norm(dim=1)
    torch.testing.assert_close(rows.square, (norm > 0).float())
    some = torch.tensor([4, 17])
    torch.testing.assert_close(rows.select(some), small_data.x[some] / norm[some, None])
    mean = (small_data.x / norm[:, None]).mean(dim=0)
    torch.testing.assert_close(rows.mean(torch.ones(30)), mean)
