"""What the neighbors leave unexplained."""

from __future__ import annotations

import pytest
import torch

from magnet import corruption, datasets, detection


@pytest.fixture(scope="module")
def graph():
    return datasets.synthetic(400, 24, 4, 8.0, 0.95, "continuous", signal=2.0, seed=0)


def test_values_that_propagation_does_not_predict_are_suspicious(graph):
    bad = corruption.corrupt_cells(graph, 0.02, "outlier", seed=0)
    found = detection.make("fp-residual").fit(bad.data)
    assert detection.areas(bad.cells.flatten(), found.scores_.flatten())[0] > 0.9
    again = detection.make("fp-residual").fit(bad.data)
    assert torch.equal(found.scores_, again.scores_)


def test_hidden_values_do_not_predict_themselves(graph):
    """Two nodes that only know each other: a hidden value is filled in from the other one."""
    pair = graph.clone()
    pair.edge_index = torch.tensor([[0], [1]])
    pair.x = graph.x[:2].clone()
    spread = 1.4826 * (pair.x - pair.x.median(dim=0).values).abs().median(dim=0).values
    found = detection.make("fp-residual", folds=2).fit(pair)
    gap = (pair.x[0] - pair.x[1]).abs()
    where = spread > 0
    torch.testing.assert_close(found.scores_[0, where], (gap / spread)[where], rtol=1e-3, atol=1e-3)


def test_rows_unlike_their_neighbors_have_large_residuals(graph):
    bad = corruption.inject_attributes(graph, ratio=0.1, candidates=1, select="random", seed=0)
    found = detection.make("row-residual").fit(bad.data)
    assert detection.areas(bad.nodes, found.node_scores_)[0] > 0.7
