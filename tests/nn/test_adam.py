"""Adam with rates and decays of each model."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from magnet.nn.adam import Adam, kernel


def test_a_model_that_diverged_does_not_stop_those_beside_it() -> None:
    weight = torch.zeros(3, 2, 4, requires_grad=True)
    optimizer = Adam([weight], [0.1, 0.2], [[0.0, 0.0]])
    for _ in range(3):
        weight.grad = torch.ones(3, 2, 4)
        weight.grad[:, 0] = float("nan")
        weight.grad[0, 1] = 0.0
        optimizer.step()
    assert torch.isnan(weight[:, 0]).all()
    assert torch.equal(weight[0, 1], torch.zeros(4))
    assert torch.allclose(weight[1:, 1], torch.full((2, 4), -0.6), atol=1e-5)


@pytest.mark.skipif(kernel() is None, reason="needs Numba")
def test_several_steps_are_those_of_torch_for_every_model() -> None:
    step = kernel()
    rng = np.random.default_rng(0)
    start = rng.normal(size=(2, 3, 4)).astype(np.float32)
    rates, decays = (np.array(v, dtype=np.float32) for v in ([0.1, 0.01, 0.3], [0.0, 0.5, 0.01]))
    p, m, v = start.copy(), np.zeros_like(start), np.zeros_like(start)
    theirs = [torch.tensor(start[:, s].copy(), requires_grad=True) for s in range(3)]
    optimizers = [
        torch.optim.Adam([w], lr=float(rate), weight_decay=float(decay))
        for w, rate, decay in zip(theirs, rates, decays, strict=True)
    ]
    for t in range(1, 6):
        g = rng.normal(size=start.shape).astype(np.float32)
        step(p, g, m, v, rates, decays, 1 - 0.9**t, np.sqrt(1 - 0.999**t))
        for s, (w, optimizer) in enumerate(zip(theirs, optimizers, strict=True)):
            w.grad = torch.tensor(g[:, s].copy())
            optimizer.step()
    for s, w in enumerate(theirs):
        np.testing.assert_allclose(p[:, s], w.detach().numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.skipif(kernel() is None, reason="needs Numba")
def test_without_gradient_and_decay_nothing_moves() -> None:
    step = kernel()
    p = np.ones((1, 2, 3), dtype=np.float32)
    zeros, rates = np.zeros_like(p), np.array([0.1, 0.2], dtype=np.float32)
    step(p, zeros, zeros.copy(), zeros.copy(), rates, 0 * rates, 0.1, 0.03)
    assert (p == 1).all()
