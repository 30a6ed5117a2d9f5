"""Layers of several models side by side."""

from __future__ import annotations

import pytest
import torch

from magnet import nn
from magnet.graph import Graph


def test_batch_norm_is_that_of_torch(path: Graph) -> None:
    torch.manual_seed(0)
    h = torch.randn(9, 2, 3)
    ours, theirs = nn.BatchNorm(2, 3), torch.nn.BatchNorm1d(3)
    out = ours(h)
    assert torch.allclose(out[:, 1], theirs(h[:, 1]), atol=1e-5)
    assert torch.allclose(ours.mean[0, 1], theirs.running_mean, atol=1e-6)
    assert torch.allclose(ours.variance[0, 1], theirs.running_var, atol=1e-6)
    ours.eval(), theirs.eval()
    assert torch.allclose(ours(h)[:, 1], theirs(h[:, 1]), atol=1e-5)


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
