"""The GCN against numbers worked out by hand and PyG's layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch_geometric.nn import GCNConv

from magnet import nn

EDGES = torch.tensor([[0, 1, 2], [1, 2, 3]])

BOTH = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])

WEIGHT = torch.tensor([2.0, 2.0, 0.5, 0.5, 1.0, 1.0])


def test_one_gcn_layer_is_the_operator(path_matrix: torch.Tensor, set_identity: Any) -> None:
    model = nn.GCN(4, 4, layers=1).eval()
    set_identity(model)
    assert torch.allclose(model(torch.eye(4), EDGES), path_matrix, atol=1e-6)


def test_gcn_equals_two_pyg_layers_on_a_weighted_graph() -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 5)
    model = nn.GCN(5, 3, hidden=6, seeds=7).eval()
    one, two = GCNConv(5, 6), GCNConv(6, 3)
    with torch.no_grad():
        for conv, layer in zip((one, two), model.layers, strict=True):
            conv.lin.weight.copy_(layer.weight[:, 0].T)
            layer.bias.copy_(torch.randn(layer.bias.shape))
            conv.bias.copy_(layer.bias[0, 0])
    expected = two(one(x, BOTH, WEIGHT).relu(), BOTH, WEIGHT)
    assert torch.allclose(model(x, BOTH, WEIGHT), expected, atol=1e-5)


def test_gcn_computes_only_what_is_asked_for(small: Any) -> None:
    data, graph = small
    model = nn.GCN(40, 3, seeds=[0, 1]).eval()
    features = nn.Features.of(data.x, model.like)
    nodes = np.array([3, 77, 140])
    some = model.prepare(features, graph, nodes)
    assert some.features.nodes < 150
    assert torch.allclose(model.compute(some), model.compute(model.prepare(features, graph))[nodes], atol=1e-5)


def test_three_layer_gcn_with_batch_norm_learns(small: Any) -> None:
    data, graph = small
    model = nn.GCN(40, 3, layers=3, batch_norm=True, hidden=16, seeds=[0, 1])
    fitted = nn.fit(model, data.x, graph, data.y, data.train_mask, data.val_mask, epochs=60)
    assert (fitted.val_accuracy > 0.7).all()
