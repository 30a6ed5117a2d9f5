"""Every prox against brute-force minimization on a fine grid."""

import numpy as np
import pytest
import torch

from magnet import prox

CASES = 30


def size(x, exponent):
    return (x != 0).astype(float) if exponent == 0 else np.abs(x) ** exponent


def brute_force(z, t, exponent):
    """The smallest value of 1/2 (x - z)^2 + t |x|^exponent over a grid that is refined around its best point."""
    center, width = 0.0, abs(z) + 0.1
    for _ in range(8):
        x = np.append(np.linspace(center - width, center + width, 4001), [0.0, z])
        value = 0.5 * (x - z) ** 2 + t * size(x, exponent)
        center, width = x[value.argmin()], width / 200
    return value.min()


def draw(seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=CASES) * 3
    t = rng.exponential(size=CASES) * rng.choice([0.01, 0.3, 1, 20], CASES)
    return z, t, rng


def assert_minimizes(found, z, t, exponent):
    for x, z_i, t_i in zip(found.numpy(), z, t, strict=True):
        value = 0.5 * (x - z_i) ** 2 + t_i * size(np.array(x), exponent)
        assert value <= brute_force(z_i, t_i, exponent) + 1e-9 * (1 + z_i**2)


@pytest.mark.parametrize("p", [0.0, 0.01, 0.25, 0.5, 0.6, 2 / 3, 0.9, 0.999, 1.0, None])
def test_lp_minimizes(p):
    z, t, rng = draw(0)
    p = rng.uniform() if p is None else p
    assert_minimizes(prox.lp(torch.tensor(z), torch.tensor(t), p), z, t, p)


@pytest.mark.parametrize("q", [1.0, 1.001, 1.05, 1.3, 1.5, 1.8, 1.99, 2.0, None])
def test_lq_minimizes(q):
    z, t, rng = draw(1)
    q = rng.uniform(1, 2) if q is None else q
    assert_minimizes(prox.lq(torch.tensor(z), torch.tensor(t), q), z, t, q)


def test_closed_forms_agree_with_newton():
    z = torch.linspace(-6, 6, 2001, dtype=torch.float64)
    for p in (0.5, 2 / 3):
        # a neighboring p takes the Newton path; near the jump the two may fall on different sides
        newton = prox.lp(z, 1.0, p + 1e-9)
        closed = prox.lp(z, 1.0, p)
        away = (z.abs() - 1.5).abs() > 0.5
        assert (newton - closed)[away].abs().max() < 1e-6


def test_both_hard_thresholds():
    z = torch.tensor([0.4, 0.6, 0.9, 1.1])
    assert prox.hard(z, 0.125).tolist() == pytest.approx([0, 0.6, 0.9, 1.1])  # sqrt(2 t) = 0.5
    assert prox.hard(z, 1.0, "paper").tolist() == pytest.approx([0, 0, 0, 1.1])


def test_zero_weight_is_the_identity():
    z = torch.tensor([-2.0, -0.1, 0.0, 0.3, 5.0], dtype=torch.float64)
    for p in (0.0, 0.3, 0.5, 2 / 3, 1.0):
        assert torch.allclose(prox.lp(z, 0.0, p), z)
    for q in (1.0, 1.4, 2.0):
        assert torch.allclose(prox.lq(z, 0.0, q), z)


def test_group_shrinks_rows_towards_zero():
    z = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    assert torch.allclose(prox.group(z, 1.0), torch.tensor([[2.4, 3.2], [0.0, 0.0], [0.0, 0.0]]))
    # minimizes 1/2 |x - z|^2 + t |x|: stationarity along the ray
    x = prox.group(z[:1], 1.0)
    assert torch.allclose(x - z[:1] + x / x.norm(), torch.zeros(1, 2), atol=1e-6)


@pytest.mark.parametrize("p", [0.3, 0.5, 2 / 3, 1.0])
def test_lp_gradient(p):
    z = torch.tensor([-4.0, 3.0, 5.0], dtype=torch.float64, requires_grad=True)
    t = torch.tensor([0.7, 0.2, 1.1], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z, t: prox.lp(z, t, p), (z, t))


@pytest.mark.parametrize("q", [1.0, 1.2, 1.5, 2.0])
def test_lq_gradient(q):
    z = torch.tensor([-4.0, 0.9, 5.0], dtype=torch.float64, requires_grad=True)
    t = torch.tensor([0.7, 3.0, 0.1], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z, t: prox.lq(z, t, q), (z, t))


def test_exponents_out_of_range_are_named():
    with pytest.raises(ValueError, match=r"p is 1.5; it must lie in \[0, 1\]"):
        prox.lp(torch.zeros(1), 1.0, 1.5)
    with pytest.raises(ValueError, match=r"q is 0.5; it must lie in \[1, 2\]"):
        prox.lq(torch.zeros(1), 1.0, 0.5)
