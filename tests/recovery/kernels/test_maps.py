import numpy as np
import pytest
import torch
from numba import njit

from magnet import prox
from magnet.recovery.kernels import TABLE
from magnet.recovery.kernels.maps import lq_scalar, move, rest
from magnet.recovery.kernels.simd import LANES, bits_of, load, splat, store
from magnet.recovery.kernels.tables import scalar_maps


@njit
def shrunk(z, t, how, out):
    scratch = np.empty(2 * LANES, z.dtype)
    whole = bits_of(scratch)
    for at in range(0, z.size, LANES):
        value = load(z, at)
        store(out, at, value - rest(value, load(t, at), how, scratch, whole))


@njit
def moved(z, t, how, out):
    scratch = np.empty(2 * LANES, z.dtype)
    whole = bits_of(scratch)
    for at in range(0, z.size, LANES):
        value = load(z, at)
        store(out, at, move(value, splat(z.dtype.type(0)), load(t, at), how, scratch, whole))


@pytest.fixture(scope="module")
def numbers():
    """Numbers and weights over many orders of magnitude, with zeros among both."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=4096) * 10.0 ** rng.uniform(-6, 6, 4096)
    t = 10.0 ** rng.uniform(-4, 4, 4096)
    z[::97], t[::89] = 0, 0
    return z, t


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [0.05, 0.3, 0.5, 2 / 3, 0.9])
def test_shrinking_is_the_prox_of_the_penalty(numbers, dtype, p):
    z, t = (part.astype(dtype) for part in numbers)
    how = scalar_maps(p, 2, dtype)[0]
    assert how.how == TABLE
    with np.errstate(divide="ignore"):
        found = np.empty_like(z)
        shrunk(z, (t.astype(np.float64) ** (-1 / (2 - p))).astype(dtype), how, found)
    expected = prox.lp(torch.tensor(z).double(), torch.tensor(t).double(), p).numpy()
    expected = np.where(t == 0, z, expected)
    # at the jump itself rounding decides: leave out what lies within a few units of it
    near = (2 * t * (1 - p)) ** (1 / (2 - p))
    with np.errstate(divide="ignore", invalid="ignore"):
        jump = np.where(t > 0, near + t * p * near ** (p - 1), -1)
    clear = np.abs(np.abs(z) - jump) > 1e-5 * jump
    precision = 1e-6 if dtype == np.float32 else 1e-13
    assert clear.mean() > 0.99
    assert np.all(np.abs(found - expected)[clear] <= precision * np.abs(z)[clear])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("q", [1.05, 1.2, 1.5, 1.8])
def test_moving_is_the_prox_of_the_fidelity(numbers, dtype, q):
    z, t = (part.astype(dtype) for part in numbers)
    if q > 1.5:
        t = np.clip(t, 1e-3, 1e3)  # the scale is the 5th power of the weight
    how = scalar_maps(1, q, dtype)[1]
    assert how.how == TABLE
    found = np.empty_like(z)
    with np.errstate(divide="ignore"):
        moved(z, ((q * t.astype(np.float64)) ** (-1 / (2 - q))).astype(dtype), how, found)
    expected = prox.lq(torch.tensor(z).double(), torch.tensor(t).double(), q).numpy()
    precision = 1e-6 if dtype == np.float32 else 1e-12
    assert np.all(np.abs(found - expected) <= precision * np.abs(z))


def test_infinite_and_zero_weights():
    z = np.linspace(-3, 3, LANES)
    out = np.empty_like(z)
    how_p, how_q = scalar_maps(0.5, 1.5, np.float64)
    moved(z, np.full(LANES, np.inf), how_q, out)  # no weight: everything moves
    assert np.array_equal(out, z)
    moved(z, np.zeros(LANES), how_q, out)  # an infinite weight: nothing moves
    assert not out.any()
    shrunk(z, np.full(LANES, np.inf), how_p, out)
    assert np.array_equal(out, z)


def test_newton_steps_near_one_and_two(numbers):
    z, t = (part[:400] for part in numbers)
    for q in (1.01, 1.03, 1.9, 1.99):
        expected = prox.lq(torch.tensor(z), torch.tensor(t), q).numpy()
        found = np.array([lq_scalar(a, b, q) for a, b in zip(z, t, strict=True)])
        assert np.all(np.abs(found - expected) <= 1e-10 * np.abs(z))
