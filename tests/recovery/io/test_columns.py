"""Features of any kind give what dense tensors give."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from magnet import FrameletTransform, recover


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(7)
    return FrameletTransform(rng.integers(0, 300, (2, 700)), 305).graph


@pytest.mark.parametrize("convert", [sp.csr_matrix, sp.csc_array, lambda a: torch.tensor(a).to_sparse_csr()])
def test_sparse_input_equals_dense(graph, new_problem, convert):
    W = FrameletTransform(graph)
    x, trust = new_problem(305, 40, dtype=torch.float32)
    x = torch.where(x > 1, x, 0.0)
    dense = recover(x, trust, W).x
    sparse = recover(convert(x.numpy()), convert(trust.numpy()), W, block_columns=16)
    assert torch.equal(torch.as_tensor(sparse.x), dense)
    assert isinstance(sparse.x, torch.Tensor) == isinstance(convert(x.numpy()), torch.Tensor)


def test_sparse_input_is_never_dense_as_a_whole(graph, monkeypatch):
    W = FrameletTransform(graph)
    widest = 0
    original = sp.csc_matrix.toarray

    def spy(self, *arguments, **options):
        nonlocal widest
        widest = max(widest, self.shape[1])
        return original(self, *arguments, **options)

    monkeypatch.setattr(sp.csc_matrix, "toarray", spy)
    x = sp.random(305, 400, density=0.02, format="csr", dtype=np.float32, random_state=0)
    recover(x, None, W, block_columns=32, max_iter=2)
    assert widest == 32
