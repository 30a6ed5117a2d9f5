"""The unrolled denoiser: it is the ADMM, and it learns."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from magnet import nn
from magnet.framelets import FrameletTransform
from magnet.recovery import recover


def test_the_layer_is_so_many_steps_of_recover(small: Any) -> None:
    data, graph = small
    W = FrameletTransform(graph)
    layer = nn.FrameletDenoise(W.num_bands, steps=4, nu=0.3, gamma=2.0)
    assert torch.allclose(layer.nu.detach(), torch.tensor([0.0, 0.3, 0.075]), atol=1e-5)
    trust = (torch.arange(150) % 7 > 0).float()
    expected = recover(
        data.x,
        trust,
        W,
        nu0=torch.tensor([0.0, 0.3, 0.075]),
        gamma=2.0,
        max_iter=4,
        tol=0.0,
        degree_weights=False,
        backend="torch",
    ).x
    assert torch.allclose(layer(data.x, W, trust), expected, atol=1e-4)


def test_gradients_reach_weights_and_features_and_agree_with_differences(small: Any) -> None:
    data, graph = small
    W = FrameletTransform(graph)
    layer = nn.FrameletDenoise(W.num_bands, steps=3, nu=0.2).double()
    x = data.x[:, :3].double().requires_grad_()
    target = torch.zeros_like(x)

    def loss() -> torch.Tensor:
        return (layer(x, W) - target).square().sum()

    loss().backward()
    assert torch.isfinite(x.grad).all()
    for parameter in (layer.raw_nu, layer.raw_gamma):
        gradient = parameter.grad.flatten()[0].item()
        with torch.no_grad():
            parameter.view(-1)[0] += 1e-5
            above = loss().item()
            parameter.view(-1)[0] -= 2e-5
            below = loss().item()
            parameter.view(-1)[0] += 1e-5
        assert gradient == pytest.approx((above - below) / 2e-5, rel=1e-3, abs=1e-6)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="bands is 1"):
        nn.FrameletDenoise(1)
    with pytest.raises(ValueError, match="nu is 0"):
        nn.FrameletDenoise(3, nu=0.0)
