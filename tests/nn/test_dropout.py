"""Dropout of several models, each with its own random numbers."""

from __future__ import annotations

import pytest
import torch

from magnet import nn


@pytest.mark.parametrize("p", [0.2, 0.5, 0.8])
def test_dropout_keeps_the_mean_and_each_model_has_its_own_stream(p: float) -> None:
    def draw(seeds: list[int]) -> torch.Tensor:
        dropout = nn.Dropout([p] * len(seeds), [torch.Generator().manual_seed(seed) for seed in seeds])
        return dropout.mask((301, 333), torch.zeros(0))

    mask = draw([5, 6])
    assert torch.unique(mask).tolist() == pytest.approx([0, 1 / (1 - p)], rel=1e-3)
    assert (mask == 0).float().mean().item() == pytest.approx(p, abs=0.005)
    assert mask.mean().item() == pytest.approx(1, abs=0.02)
    assert torch.equal(mask[1], draw([6])[0])
    both_dropped = ((mask[0] == 0) & (mask[1] == 0)).float().mean().item()
    assert both_dropped == pytest.approx(p * p, abs=0.01)
    rows = (mask[0] == 0).float()
    assert (rows[:, :-1] * rows[:, 1:]).mean().item() == pytest.approx(p * p, abs=0.01)
