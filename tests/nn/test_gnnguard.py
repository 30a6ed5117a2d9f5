"""GNNGuard by hand and in its limits."""

from __future__ import annotations

from typing import Any

import torch

from magnet import nn

EDGES = torch.tensor([[0, 1, 2], [1, 2, 3]])


def test_guard_on_features_that_are_alike_is_the_mean_over_the_neighborhood(set_identity: Any) -> None:
    model = nn.GNNGuard(1, 1, layers=1).eval()
    set_identity(model)
    # alike in direction, so that the guard is the same everywhere while the values differ
    x = torch.tensor([[1.0], [2.0], [3.0], [10.0]])
    expected = torch.tensor([[1.5], [2.0], [5.0], [6.5]])
    assert torch.allclose(model(x, EDGES), expected, atol=1e-6)


def test_guard_by_hand_and_pruned_edges(set_identity: Any) -> None:
    model = nn.GNNGuard(2, 2, layers=1).eval()
    set_identity(model)
    x = torch.tensor([[1.0, 0.0], [3.0, 4.0], [0.0, 1.0], [-1.0, 0.0]])
    # similarities 0.6 (0-1), 0.8 (1-2), 0 (2-3): the last edge is cut
    expected = torch.stack(
        [
            x[0] / 2 + x[1] / 2,
            x[1] / 3 + (2 / 3) * (0.6 * x[0] + 0.8 * x[2]) / 1.4,
            x[2] / 2 + x[1] / 2,
            x[3],
        ]
    )
    assert torch.allclose(model(x, EDGES), expected, atol=1e-6)


def test_guard_with_full_memory_keeps_the_guard_of_the_first_layer(small: Any) -> None:
    data, graph = small
    model = nn.GNNGuard(40, 3, hidden=8, memory=1.0).eval()
    features = nn.Features.of(data.x, model.like)
    first = model.prepare(features, graph).extra.first
    one, two = model.layers
    expected = two.shifted(first @ two.product((one.shifted(first @ features.linear(one.weight))).relu()))
    assert torch.allclose(model(data.x, data.edge_index), expected[:, 0], atol=1e-5)


def test_guard_forms_no_square_matrix() -> None:
    nodes = 100_000  # a similarity matrix would take 40 GB
    ring = torch.stack([torch.arange(nodes), (torch.arange(nodes) + 1) % nodes])
    x = torch.rand(nodes, 4, generator=torch.Generator().manual_seed(0))
    assert torch.isfinite(nn.GNNGuard(4, 2, hidden=4).eval()(x, ring)).all()
