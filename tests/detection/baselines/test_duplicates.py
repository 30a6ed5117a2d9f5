"""Rows that occur more than once."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from magnet.detection.baselines.duplicates import Duplicates


def test_of_equal_rows_at_most_one_is_right():
    x = torch.rand(50, 8, generator=torch.Generator().manual_seed(0))
    x[[7, 9]] = x[3].clone()
    found = Duplicates().fit(Data(x=x, edge_index=torch.tensor([[0], [1]])))
    expected = torch.zeros(50)
    expected[[3, 7, 9]] = 2 / 3
    torch.testing.assert_close(found.node_probability_, expected)
    assert found.flagged_rows().nonzero().flatten().tolist() == [3, 7, 9]
