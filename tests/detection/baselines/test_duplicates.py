"""Rows that occur more than once."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from magnet.detection.baselines.duplicates import Duplicates


def test_equal_rows_are_flagged_pairs_too():
    x = torch.rand(50, 8, generator=torch.Generator().manual_seed(0))
    x[[7, 9]] = x[3].clone()
    x[20] = x[21]
    found = Duplicates().fit(Data(x=x, edge_index=torch.tensor([[0], [1]])))
    expected = torch.zeros(50)
    expected[[3, 7, 9]], expected[[20, 21]] = 3 / 4, 2 / 3
    torch.testing.assert_close(found.node_probability_, expected)
    assert found.swapped_rows_.nonzero().flatten().tolist() == [3, 7, 9, 20, 21]
