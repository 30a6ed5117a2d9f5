"""The features of a batch of models."""

from __future__ import annotations

import torch

from magnet import nn


def test_row_normalized_rows_sum_to_one_in_either_layout() -> None:
    x = torch.tensor([[1.0, 3.0, 0.0], [0.0, 0.0, 0.0], [0.2, 0.3, 0.0]])
    expected = torch.tensor([[0.25, 0.75, 0.0], [0.0, 0.0, 0.0], [0.2, 0.3, 0.0]])
    assert torch.allclose(nn.row_normalized(x), expected)
    assert torch.allclose(nn.row_normalized(x.to_sparse_csr()).to_dense(), expected)
