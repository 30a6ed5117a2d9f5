"""APPNP against PyG, its closed form and its limits."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.nn import APPNP as PygAPPNP

from magnet import nn

EDGES = torch.tensor([[0, 1, 2], [1, 2, 3]])

BOTH = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])

WEIGHT = torch.tensor([2.0, 2.0, 0.5, 0.5, 1.0, 1.0])


def test_appnp_with_alpha_one_is_the_mlp() -> None:
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(nn.APPNP(5, 3, alpha=1.0).eval()(x, EDGES), nn.MLP(5, 3).eval()(x, EDGES), atol=1e-6)


def test_appnp_equals_pyg_and_its_closed_form(path_matrix: torch.Tensor) -> None:
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    h = nn.MLP(5, 3).eval()(x, EDGES)
    model = nn.APPNP(5, 3, alpha=0.2, steps=7).eval()
    assert torch.allclose(model(x, BOTH, WEIGHT), PygAPPNP(7, 0.2)(h, BOTH, WEIGHT), atol=1e-5)
    limit = 0.2 * torch.linalg.inv(torch.eye(4) - 0.8 * path_matrix) @ h
    assert torch.allclose(nn.APPNP(5, 3, alpha=0.2, steps=200).eval()(x, EDGES), limit, atol=1e-5)


@pytest.mark.parametrize("kind", [nn.APPNP, nn.ElasticGNN, nn.AirGNN])
def test_blocks_without_steps_are_an_mlp(kind: Any) -> None:
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    expected = nn.MLP(5, 3, layers=3).eval()(x, EDGES)
    assert torch.allclose(kind(5, 3, blocks=3, steps=0).eval()(x, EDGES), expected, atol=1e-6)
    assert not torch.allclose(kind(5, 3, blocks=3, steps=2).eval()(x, EDGES), expected, atol=1e-2)
