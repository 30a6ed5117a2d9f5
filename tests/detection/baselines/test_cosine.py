"""Cosines between a row and its neighbors."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from magnet.detection.baselines.cosine import Cosine

# a path 0 - 1 - 2 and an isolated node
PATH = torch.tensor([[0, 1], [1, 2]])
X = torch.zeros(4, 20)  # bags of words
X[0, :3] = X[1, 2:6] = X[2, 1:4] = X[3, 7:9] = 1.0


def test_score_is_minus_the_cosine_to_the_mean_of_the_neighbors():
    found = Cosine().fit(Data(x=X, edge_index=PATH))
    unit = X / X.norm(dim=1, keepdim=True)
    near = torch.stack([unit[1], unit[0] + unit[2], unit[1]])
    expected = -torch.nn.functional.cosine_similarity(unit[:3], near)
    torch.testing.assert_close(found.node_scores_[:3], expected)
    assert float(found.node_scores_[3]) == -1.0  # no evidence
    assert float(found.node_probability_[3]) < 1e-6


def test_centering_takes_the_mean_row_off_both_sides():
    found = Cosine(centered=True).fit(Data(x=X, edge_index=PATH))
    unit = X / X.norm(dim=1, keepdim=True)
    z = unit - unit.mean(dim=0)
    near = torch.stack([z[1], z[0] + z[2], z[1]])
    expected = -torch.nn.functional.cosine_similarity(z[:3], near)
    torch.testing.assert_close(found.node_scores_[:3], expected, atol=1e-5, rtol=1e-5)
