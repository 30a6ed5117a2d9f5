"""Adam with rates and decays of each model."""

from __future__ import annotations

import torch

from magnet.nn.adam import Adam


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
