"""The sum of each row."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from magnet.detection.baselines.row_sum import RowSum


def test_long_rows_are_suspicious_and_missing_values_count_nothing():
    x = torch.rand(100, 4, generator=torch.Generator().manual_seed(0))
    x[5], x[6, 1:] = 20.0, float("nan")
    found = RowSum().fit(Data(x=x, edge_index=torch.tensor([[0], [1]])))
    torch.testing.assert_close(found.node_scores_, x.nansum(dim=1))
    assert found.swapped_rows_.nonzero().flatten().tolist() == [5]
