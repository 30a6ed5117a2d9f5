"""Context probabilities against the equations."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from magnet.detection.cells.context_model import ContextModel
from magnet.detection.data.read import read_data


def test_probability_is_the_mixture_of_column_one_hop_and_two_hop_means():
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(40, 25, generator=generator) < 0.2).float()
    edge_index = torch.randint(0, 38, (2, 90), generator=generator)
    data = read_data(Data(x=x, edge_index=edge_index))
    assert data.is_bag
    w = torch.rand(40, generator=generator).clamp_min(0.1)
    context = ContextModel(data, w)
    A = torch.from_numpy(data.graph.adjacency.toarray()).float()
    base = (w[:, None] * x).sum(0) / w.sum()
    two = A @ A
    two.fill_diagonal_(0.0)
    one_hop = (A @ (w[:, None] * x) + 0.5 * base) / ((A @ w)[:, None] + 0.5)
    two_hop = (two @ (w[:, None] * x) + 0.5 * base) / ((two @ w)[:, None] + 0.5)
    a = context.mixture
    assert abs(float(a.sum()) - 1) < 1e-5
    torch.testing.assert_close(context.probability(0, 25), a[0] * base + a[1] * one_hop + a[2] * two_hop)
    likelihood = lambda v: float((x * (v[0] * base + v[1] * one_hop + v[2] * two_hop).log()).sum())  # noqa: E731
    for other in ([1, 0, 0], [0, 1, 0], [0.3, 0.3, 0.4]):
        assert likelihood(a) >= likelihood(torch.tensor(other, dtype=torch.float32).clamp_min(1e-6)) - 0.05


def test_means_written_row_by_row_are_the_means(small_data):
    weights = torch.rand(small_data.num_nodes, generator=torch.Generator().manual_seed(0)) + 0.1
    y = torch.randn(small_data.num_nodes, 5, generator=torch.Generator().manual_seed(1))
    context = ContextModel(small_data, weights)
    _, *expected = context.means(y)
    found = torch.empty(2, *y.shape)
    context._write_means(y, None, *found)
    assert torch.equal(found, torch.stack(expected))
