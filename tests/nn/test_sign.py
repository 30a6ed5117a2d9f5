"""SIGN by hand, and where neighbors differ from each other."""

from __future__ import annotations

import pytest
import torch

from magnet import nn
from magnet.datasets import synthetic
from magnet.graph import Graph

PATH = torch.tensor([[0, 1, 2], [1, 2, 3]])


def test_the_node_its_neighbors_and_the_nodes_two_steps_away_have_a_third_of_the_units_each() -> None:
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    model = nn.SIGN(5, 3, hidden=6).eval()
    one, two = model.layers
    own, near, far = (x @ part for part in one.weight[:, 0].split(2, dim=1))
    neighbors = torch.tensor([[0, 1, 0, 0], [0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5], [0, 0, 1, 0]])
    two_steps = torch.eye(4)[[2, 3, 0, 1]]
    # white noise keeps its spread where each node has one node two steps away, and loses a quarter of its variance
    # where half of the nodes have two neighbors; the spreads are estimated
    hidden = torch.cat([own, 0.75**-0.5 * neighbors @ near, two_steps @ far], dim=1) + one.bias[0]
    assert torch.allclose(model(x, PATH), hidden.relu() @ two.weight[:, 0] + two.bias[0], atol=0.1)
    assert not torch.allclose(model(x, PATH), model(x, torch.zeros(2, 0, dtype=torch.long)), atol=0.1)


def test_a_node_alone_has_neither() -> None:
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    model = nn.SIGN(5, 3, hidden=6).eval()
    one, two = model.layers
    hidden = one.bias[0].expand(4, 6).clone()
    hidden[:, :2] += x @ one.weight[:, 0, :2]
    expected = hidden.relu() @ two.weight[:, 0] + two.bias[0]
    assert torch.allclose(model(x, torch.zeros(2, 0, dtype=torch.long)), expected, atol=1e-6)
    pair = model(x, torch.tensor([[0], [1]]))  # two nodes with one neighbor each: nobody is two steps away
    assert torch.allclose(pair[2:], expected[2:], atol=1e-6)
    assert not torch.allclose(pair[0], expected[0], atol=1e-2)


@pytest.mark.parametrize("homophily", [0.0, 0.9])
def test_neighbors_of_other_classes_are_as_good_as_neighbors_of_the_same(homophily: float) -> None:
    data = synthetic(nodes=400, features=40, classes=3, average_degree=6, homophily=homophily, words=5, seed=0)
    index = torch.arange(400)
    graph, masks = Graph.from_edges(data.edge_index, 400), (index < 200, (index >= 200) & (index < 260))
    right = {}
    for kind in (nn.GCN, nn.MLP, nn.SIGN):
        fitted = nn.fit(kind(40, 3, hidden=24), data.x, graph, data.y, *masks, epochs=60)
        right[kind] = float((fitted.logits[0].argmax(dim=1) == data.y)[260:].float().mean())
    assert right[nn.SIGN] > right[nn.MLP] + 0.03, right
    assert right[nn.SIGN] > right[nn.GCN] + (0.1 if homophily == 0 else -0.05)
