"""A random graph with isolated nodes for the fused ADMM kernels, and how far two results are apart."""

import numpy as np
import pytest

from magnet import FrameletTransform


@pytest.fixture(scope="package")
def graph():
    rng = np.random.default_rng(7)
    return FrameletTransform(rng.integers(0, 300, (2, 700)), 305).graph


@pytest.fixture(scope="package")
def relative():
    return lambda a, b: float((a - b).norm() / b.norm())
