"""The features of a batch of models."""

from __future__ import annotations

import pytest
import scipy.sparse as sp
import torch

from magnet import nn
from magnet.nn.features import column_scaled, has_dominant_column


def test_row_normalized_rows_sum_to_one_in_either_layout() -> None:
    x = torch.tensor([[1.0, 3.0, 0.0], [0.0, 0.0, 0.0], [0.2, 0.3, 0.0]])
    expected = torch.tensor([[0.25, 0.75, 0.0], [0.0, 0.0, 0.0], [0.2, 0.3, 0.0]])
    assert torch.allclose(nn.row_normalized(x), expected)
    assert torch.allclose(nn.row_normalized(x.to_sparse_csr()).to_dense(), expected)
    assert nn.row_normalized(sp.csr_matrix([[1, 3, 0], [0, 0, 0]])).toarray().tolist() == expected[:2].tolist()


def test_columns_in_different_units_get_scales_of_their_own() -> None:
    generator = torch.Generator().manual_seed(0)
    plain = torch.randn(400, 6, generator=generator)
    units = torch.tensor([1.0, 10.0, 1000.0, 1.0, 0.1, 1.0])
    assert not has_dominant_column(plain)
    assert has_dominant_column(plain * units)
    assert has_dominant_column((plain.relu() * units).to_sparse_csr())
    scaled = column_scaled(plain * units + 7)
    torch.testing.assert_close(scaled, column_scaled(plain), rtol=1e-3, atol=1e-3)
    assert float(scaled.var(dim=0, correction=0).sum()) == pytest.approx(1.0, rel=1e-4)


def test_outliers_do_not_set_the_scale_of_their_column() -> None:
    x = torch.randn(400, 3, generator=torch.Generator().manual_seed(0))
    wrong = x.clone()
    wrong[:4, 0] = 1e6
    first, second = column_scaled(wrong)[4:, :2].std(dim=0).tolist()
    assert first == pytest.approx(second, rel=0.1)
    assert wrong[0, 0] == 1e6  # the input is left as it was


def test_a_constant_column_becomes_zero() -> None:
    x = torch.stack([torch.ones(50), torch.arange(50.0)], dim=1)
    assert column_scaled(x)[:, 0].abs().max() == 0
