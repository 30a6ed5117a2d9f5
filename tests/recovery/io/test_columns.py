"""Features of any kind give what dense tensors give."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from magnet import FrameletTransform, recover


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


@pytest.mark.parametrize(
    "convert", [np.asarray, torch.as_tensor, sp.csr_matrix, lambda a: torch.tensor(a).to_sparse_csr()]
)
def test_complex_numbers_are_refused(graph, convert):
    W = FrameletTransform(graph)
    with pytest.raises(ValueError, match=r"x has dtype (torch\.)?complex64; it must hold real numbers"):
        recover(convert(np.ones((305, 3), np.complex64)), None, W)
    with pytest.raises(ValueError, match=r"trust has dtype (torch\.)?complex64; it must hold real numbers"):
        recover(np.ones((305, 3)), convert(np.ones((305, 3), np.complex64)), W)


@pytest.mark.parametrize("scale", [2.0**-85, 2.0**60, 2.0**100])
@pytest.mark.parametrize(
    "options",
    [{}, {"q": 1.5}, {"p": 0.0}, {"preset": "paper"}, {"penalty": "group"}, {"coordinates": "degree"}, {"q": 1.0}],
)
def test_any_scale_in_float32(graph, new_problem, scale, options):
    W = FrameletTransform(graph)
    x, trust = new_problem(305, 20, dtype=torch.float32)
    large = x.clone()
    large[:, :10] *= scale
    if options.get("preset") == "paper":
        nu0 = torch.tensor([0.0, 0.5, 0.1]).unsqueeze(1).repeat(1, 20)
        expected = recover(x, trust, W, **options | {"nu0": nu0})
        nu0 = torch.cat([nu0[:, :10] * scale, nu0[:, 10:]], dim=1)  # q - p = 1
        found = recover(large, trust, W, **options | {"nu0": nu0})
    elif options.get("penalty") == "group":
        large = x * scale
        expected, found = recover(x, trust, W, **options), recover(large, trust, W, **options)
        assert torch.allclose(found.x / scale, expected.x, atol=1e-5)
        return
    else:
        expected, found = recover(x, trust, W, **options), recover(large, trust, W, **options)
    assert torch.equal(found.x[:, 10:], expected.x[:, 10:])
    assert torch.allclose(found.x[:, :10] / scale, expected.x[:, :10], atol=1e-4)
    assert abs(found.column_iterations - expected.column_iterations).max() <= 2
    assert np.isfinite(found.objective).all()


def test_the_objective_follows_the_scale(graph, new_problem):
    W = FrameletTransform(graph)
    x, trust = new_problem(305, 20, dtype=torch.float32)
    expected = recover(x, trust, W, max_iter=10, tol=0.0)
    found = recover(x * 2.0**50, trust, W, max_iter=10, tol=0.0)
    assert np.allclose(found.objective, expected.objective * 2.0**100, rtol=1e-3)
    assert np.allclose(found.primal, expected.primal, rtol=1e-3)
    assert np.allclose(found.dual, expected.dual, rtol=1e-3)


@pytest.mark.parametrize("wrong", [1e6, 1e18, -3e38])
def test_what_an_untrusted_cell_holds_does_not_matter(graph, new_problem, wrong):
    W = FrameletTransform(graph)
    x, trust = new_problem(305, 20, dtype=torch.float32)
    expected = recover(torch.where(trust == 0, torch.nan, x), trust, W)
    found = recover(torch.where(trust == 0, wrong, x), trust, W)
    linked = torch.as_tensor(~graph.isolated)
    assert torch.equal(found.x[linked], expected.x[linked])
    assert (found.x[~linked][trust[~linked] == 0] == torch.tensor(wrong)).all()
