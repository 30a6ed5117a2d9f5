from __future__ import annotations

import pytest
import torch

from magnet.datasets import homophily, info, load


def test_counts_of_the_embedded_dataset() -> None:
    data, facts = load("digits"), info("digits")
    assert (data.num_nodes, data.num_features, data.edge_index.shape[1]) == (
        facts.nodes,
        facts.features,
        2 * facts.edges,
    )
    assert homophily(data) == pytest.approx(facts.homophily, abs=5e-4)
    assert (float(data.x.min()), float(data.x.max())) == (0.0, 1.0)
    degree = torch.bincount(data.edge_index[0])
    assert int(degree.min()) >= 8


def test_splits_are_seeded_disjoint_and_balanced() -> None:
    first, again, other = load("digits"), load("digits"), load("digits", split=1)
    assert torch.equal(first.train_mask, again.train_mask)
    assert not torch.equal(first.train_mask, other.train_mask)
    assert torch.bincount(first.y[first.train_mask]).tolist() == [20] * 10
    total = first.train_mask.long() + first.val_mask.long() + first.test_mask.long()
    assert int(total.max()) == 1
    assert (int(first.val_mask.sum()), int(first.test_mask.sum())) == (500, 1000)
