import numpy as np
import pytest
import torch

from magnet import FrameletTransform


@pytest.fixture(scope="session")
def W():
    """A weighted graph of 40 nodes with two isolated ones."""
    rng = np.random.default_rng(3)
    return FrameletTransform(rng.integers(0, 38, (2, 70)), 40, rng.uniform(0.2, 2, 70), degree=16)


def make_problem(n, d, seed=0, dtype=torch.float64, soft=True):
    """Random features and a random trust with zeros and ones in it."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, d, generator=generator, dtype=dtype)
    trust = torch.rand(n, d, generator=generator, dtype=dtype)
    trust = torch.where(trust < 0.2, 0.0, torch.where(trust > 0.5, 1.0, trust if soft else 1.0))
    return x, trust


@pytest.fixture
def problem():
    return make_problem(40, 5)


@pytest.fixture(scope="session")
def new_problem():
    return make_problem


@pytest.fixture(scope="session")
def graph():
    """A random graph of 305 nodes, of which the last five are isolated."""
    rng = np.random.default_rng(7)
    return FrameletTransform(rng.integers(0, 300, (2, 700)), 305).graph


@pytest.fixture(scope="session")
def relative():
    """The norm of the difference of two results, relative to the second."""
    return lambda a, b: float((a - b).norm() / b.norm())
