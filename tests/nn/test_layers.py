"""Layers of several models side by side."""

from __future__ import annotations

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
