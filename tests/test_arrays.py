from __future__ import annotations

import numpy as np
import pytest
import torch

from magnet import arrays
from magnet.arrays import checksum, density, is_binary, like, to_scipy, to_torch_csr


def matrix() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return (torch.rand(50, 7, generator=generator) < 0.2).float()


def test_layouts_convert_into_each_other() -> None:
    x = matrix()
    for form in (x, x.numpy(), to_scipy(x), x.to_sparse_csr(), x.to_sparse_coo()):
        assert np.array_equal(to_scipy(form).toarray(), x.numpy())
    assert torch.equal(to_torch_csr(to_scipy(x)).to_dense(), x)
    assert like(to_scipy(x), x).layout == torch.strided
    assert like(to_scipy(x), x.to_sparse_csr()).layout == torch.sparse_csr


def test_to_scipy_never_shares_memory() -> None:
    x = matrix().to_sparse_csr()
    copy = to_scipy(x)
    copy.data[:] = 9
    assert float(x.values().max()) == 1


def test_checksum_depends_on_values_and_places_only(monkeypatch: pytest.MonkeyPatch) -> None:
    x = matrix()
    whole = checksum(x)
    monkeypatch.setattr(arrays, "CELLS_PER_BLOCK", 21)
    moved = x.clone()
    moved[[0, 1]] = moved[[1, 0]]
    assert checksum(x.double()) == checksum(x.to_sparse_csr()) == checksum(x)
    assert checksum(moved) != checksum(x)
    assert checksum(x.reshape(25, 14)) != checksum(x)
    assert len(whole) == 64


def test_binary_and_density() -> None:
    x = matrix()
    assert is_binary(x)
    assert is_binary(x.to_sparse_csr())
    assert not is_binary(0.5 * x)
    assert not is_binary((2 * x).to_sparse_csr())
    assert density(x) == density(x.to_sparse_csr()) == pytest.approx(float(x.mean()))
