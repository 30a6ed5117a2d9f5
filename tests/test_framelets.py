import numpy as np
import pytest
import torch

from magnet.framelets import BANKS, FrameletTransform, sparse_product
from magnet.graph import Graph

#: What the Chebyshev series of degree 8 and 16 claim for each bank, over the levels below.
CLAIMED = {"haar": (2e-7, 1e-12), "linear": (2e-5, 1e-11), "quadratic": (3e-4, 1e-9)}
LEVELS = (1, 2, 3, 5)


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(0)
    # 58 and 59 are isolated
    return Graph.from_edges(rng.integers(0, 58, (2, 120)), 60, rng.uniform(0.1, 3, 120))


@pytest.mark.parametrize("bank", BANKS)
@pytest.mark.parametrize("levels", LEVELS)
def test_exact_transform_is_tight_and_adjoint(graph, bank, levels):
    W = FrameletTransform(graph, levels=levels, bank=bank, method="exact")
    x = torch.randn(60, 3, dtype=torch.float64)
    assert (W.synthesis(W.analysis(x)) - x).abs().max() < 1e-10
    assert W.adjoint_error() < 1e-10
    assert np.allclose(W.frame_bounds(), 1, atol=1e-10)
    assert W.analysis(x).shape == (1 + BANKS[bank]().num_high * levels, 60, 3)


@pytest.mark.parametrize("bank", BANKS)
@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("which", [0, 1])
def test_chebyshev_matches_exact_at_the_claimed_order(graph, bank, levels, which):
    claimed = CLAIMED[bank][which]
    W = FrameletTransform(graph, levels=levels, bank=bank, degree=(8, 16)[which])
    exact = FrameletTransform(graph, levels=levels, bank=bank, method="exact")
    x = torch.randn(60, 3, dtype=torch.float64)
    x = x / x.norm()
    assert (W.analysis(x) - exact.analysis(x)).abs().max() < claimed
    v = torch.randn(W.num_bands, 60, 3, dtype=torch.float64)
    v = v / v.norm()
    assert (W.synthesis(v) - exact.synthesis(v)).abs().max() < claimed
    assert W.adjoint_error() < 1e-10
    lower, upper = W.frame_bounds()
    assert 1 - claimed < lower <= upper < 1 + claimed


def test_default_identity_holds_to_four_parts_in_a_hundred_million(graph):
    lower, upper = FrameletTransform(graph).frame_bounds()
    assert max(upper - 1, 1 - lower) < 4.1e-8


def test_two_nodes_by_hand():
    # L = [[1, -1], [-1, 1]]: eigenvalue 0 for (1, 1), 2 for (1, -1); one Haar level
    W = FrameletTransform([[0], [1]], num_nodes=2, levels=1, method="exact")
    c = W.analysis(torch.tensor([[3.0], [1.0]], dtype=torch.float64))
    assert torch.allclose(c[0].flatten(), torch.tensor([2.0, 2.0], dtype=torch.float64))
    assert torch.allclose(c[1].flatten(), torch.tensor([1.0, -1.0], dtype=torch.float64))


def test_bands_are_ordered_by_level_and_smooth_signals_are_low_pass(graph):
    W = FrameletTransform(graph, levels=3, bank="linear")
    assert W.band_levels.tolist() == [0, 1, 1, 2, 2, 3, 3]
    smooth = torch.as_tensor(np.sqrt(graph.degree_weights)).unsqueeze(1)
    c = W.analysis(smooth)
    assert (c[0] - smooth).norm() / smooth.norm() < 1e-4
    assert c[1:].norm() / smooth.norm() < 1e-4


def test_float32_stays_float32(graph):
    W = FrameletTransform(graph)
    x = torch.randn(60, 4)
    c = W.analysis(x)
    assert c.dtype == torch.float32
    assert (W.synthesis(c) - x).abs().max() < 1e-5


def test_recorded_and_plain_paths_agree(graph):
    W = FrameletTransform(graph, levels=3, bank="linear")
    x = torch.randn(60, 4, dtype=torch.float64)
    tracked = x.clone().requires_grad_()
    assert torch.allclose(W.analysis(tracked), W.analysis(x), atol=1e-14)
    v = torch.randn(W.num_bands, 60, 4, dtype=torch.float64)
    assert torch.allclose(W.synthesis(v.clone().requires_grad_()), W.synthesis(v), atol=1e-14)
    assert torch.autograd.gradcheck(W.analysis, tracked[:, :1].detach().requires_grad_())
    assert torch.autograd.gradcheck(W.synthesis, v[..., :1].clone().requires_grad_())


def test_estimated_lambda_max_keeps_it_tight(graph):
    tight = Graph(graph.adjacency, graph.estimate_lambda_max())
    x = torch.randn(60, 3, dtype=torch.float64)
    W = FrameletTransform(tight, degree=16)
    assert (W.synthesis(W.analysis(x)) - x).abs().max() < 1e-10


def test_bad_arguments_are_named(graph):
    for arguments, message in [
        ({"levels": 0}, "levels is 0"),
        ({"degree": 0}, "degree is 0"),
        ({"bank": "db4"}, "bank is 'db4'"),
        ({"method": "fast"}, "method is 'fast'"),
        ({"lambda_max": 2.0}, "belong to the Graph"),
    ]:
        with pytest.raises(ValueError, match=message):
            FrameletTransform(graph, **arguments)
    W = FrameletTransform(graph)
    with pytest.raises(ValueError, match=r"x has shape \[59, 2\]"):
        W.analysis(torch.zeros(59, 2))
    with pytest.raises(ValueError, match="coefficients has shape"):
        W.synthesis(torch.zeros(2, 60, 2))
    with pytest.raises(ValueError, match="floating-point"):
        W.analysis(torch.zeros(60, 2, dtype=torch.long))


def test_product_carries_the_gradient_back():
    g = Graph.from_edges([[0, 1, 2], [1, 2, 3]], num_nodes=5)
    x = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    operator = g.operator("normalized", x)
    assert torch.autograd.gradcheck(lambda x: sparse_product(operator, operator, x), x)
