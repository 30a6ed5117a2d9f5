"""What all models have in common."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from magnet import nn


def test_gradients_reach_the_features_and_a_graph_serves_as_edges(small: Any) -> None:
    data, graph = small
    model = nn.GCN(40, 3, hidden=8).eval()
    scores = model(data.x, data.edge_index)
    assert torch.equal(model(data.x, graph), scores)
    x = data.x.clone().requires_grad_()
    again = model(x, graph)
    assert torch.allclose(again, scores, atol=1e-5)
    again.square().sum().backward()
    assert float(x.grad.abs().sum()) > 0


def test_a_trained_model_can_be_copied(small: Any) -> None:
    data, _ = small
    model = nn.GCN(40, 3, hidden=8)
    model(data.x, data.edge_index)
    again = copy.deepcopy(model)
    assert torch.equal(again.eval()(data.x, data.edge_index), model.eval()(data.x, data.edge_index))
    with torch.no_grad():
        again.layers[0].weight.zero_()
    assert not torch.equal(again(data.x, data.edge_index), model(data.x, data.edge_index))


@pytest.mark.parametrize("kind", [nn.GCN, nn.APPNP, nn.GNNGuard, nn.ElasticGNN, nn.AirGNN])
def test_without_edges_every_model_is_an_mlp(kind: Any) -> None:
    x = torch.rand(5, 4, generator=torch.Generator().manual_seed(0))
    model, perceptron = kind(4, 3, hidden=6).eval(), nn.MLP(4, 3, hidden=6).eval()
    perceptron.load_state_dict(model.state_dict())
    none = torch.zeros(2, 0, dtype=torch.long)
    assert torch.allclose(model(x, none), perceptron(x, none), atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (nn.GCN, {"hidden": 0}, "hidden"),
        (nn.GCN, {"layers": 0}, "layers is 0"),
        (nn.GCN, {"dropout": [0.5, 0.5]}, "dropout holds 2 numbers; there are 1 models"),
        (nn.APPNP, {"alpha": 1.5}, "alpha is 1.5"),
        (nn.ElasticGNN, {"lambda1": -1.0}, "lambda1 is -1.0"),
        (nn.ElasticGNN, {"norm": "l2"}, "norm is 'l2'"),
        (nn.AirGNN, {"amplitude": 1.0}, "amplitude is 1.0"),
        (nn.SIGN, {"layers": 1}, "layers is 1"),
        (nn.GNNGuard, {"memory": 2.0}, "memory is 2.0"),
    ],
)
def test_wrong_arguments_are_named(kind: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(4, 2, **options)


def test_random_numbers_go_on_from_where_they_were() -> None:
    model = nn.GCN(4, 2, seeds=[1, 2])
    states = [generator.get_state() for generator in model.generators]
    drawn = [torch.rand(3, generator=generator) for generator in model.generators]
    model.continue_from(states)
    again = [torch.rand(3, generator=generator) for generator in model.generators]
    assert all(torch.equal(left, right) for left, right in zip(drawn, again, strict=True))
    assert not torch.equal(drawn[0], drawn[1])
