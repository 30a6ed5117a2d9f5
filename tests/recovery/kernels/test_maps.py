import numpy as np
import torch

from magnet import prox
from magnet.recovery.kernels.maps import lp_scalar, lq_scalar


def test_scalar_maps_of_the_kernels_are_those_of_prox():
    rng = np.random.default_rng(0)
    z, t = rng.normal(size=200) * 3, rng.exponential(size=200)
    for p in (0.1, 0.4, 0.9):
        expected = prox.lp(torch.tensor(z), torch.tensor(t), p).numpy()
        assert np.allclose([lp_scalar(a, b, p) for a, b in zip(z, t, strict=True)], expected, atol=1e-12)
    for q in (1.01, 1.5, 1.9):
        expected = prox.lq(torch.tensor(z), torch.tensor(t), q).numpy()
        assert np.allclose([lq_scalar(a, b, q) for a, b in zip(z, t, strict=True)], expected, atol=1e-12)
