"""The multilayer perceptron."""

from __future__ import annotations

import torch

from magnet import nn

EDGES = torch.tensor([[0, 1, 2], [1, 2, 3]])


def test_mlp_does_not_look_at_the_graph() -> None:
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    model = nn.MLP(5, 3, hidden=6).eval()
    one, two = model.layers
    expected = (x @ one.weight[:, 0] + one.bias[0]).relu() @ two.weight[:, 0] + two.bias[0]
    assert torch.allclose(model(x, EDGES), expected, atol=1e-6)
    assert torch.equal(model(x, EDGES), model(x, torch.zeros(2, 0, dtype=torch.long)))
