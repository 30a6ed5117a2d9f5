"""Rows against their contexts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from magnet import corruption, datasets, detection
from magnet.detection.rows.context import Context


@pytest.mark.parametrize("kind", ["binary", "continuous"])
@pytest.mark.parametrize("ratio", [0.1, 0.5])
def test_replaced_rows_are_found(kind, ratio):
    data = datasets.synthetic(1500, 150, 5, 10.0, 0.9, kind, signal=0.8, seed=3)
    bad = corruption.inject_attributes(data, ratio=ratio, candidates=1, select="random", seed=1)
    found = Context().fit(bad.data)
    assert found.gate_.open
    # a tenth to a fifth of replaced rows come from the same class: no context can tell them
    assert detection.areas(bad.nodes, found.node_scores_)[0] > 0.85
    flagged = found.swapped_rows_
    assert float(bad.nodes[flagged].float().mean()) > 0.9
    assert abs(found.share_ - float(bad.nodes.float().mean())) < 0.12


def test_clean_graphs_are_left_alone():
    for seed in range(3):
        data = datasets.synthetic(1200, 100, 5, 8.0, 0.85, signal=0.7, seed=seed)
        assert float(Context().fit(data).swapped_rows_.float().mean()) <= 0.02


def test_isolated_and_empty_rows_are_trusted():
    data = datasets.synthetic(600, 80, 4, 8.0, 0.9, signal=0.8, seed=0)
    keep = (data.edge_index != 5).all(dim=0)
    data.edge_index = data.edge_index[:, keep]
    data.x[9] = 0
    found = Context().fit(data)
    assert found.node_probability_[5] == 0
    assert found.node_probability_[9] == 0
    assert not found.swapped_rows_[[5, 9]].any()


@pytest.mark.data
@pytest.mark.parametrize(("name", "select", "bar"), [("cora", "random", 0.91), ("cora", "farthest", 0.935)])
def test_bars_on_cora(raw_data, name, select, bar):
    bad = corruption.inject_attributes(datasets.load(name), ratio=0.5, select=select, seed=0)
    assert detection.areas(bad.nodes, Context().fit(bad.data).node_scores_)[0] >= bar


@pytest.mark.parametrize("seed", [0, 1])
def test_duplicated_rows_do_not_support_one_another(seed):
    """Two of five rows replaced by one of eight long rows: counted one by one they would look like the right ones."""
    rng = np.random.default_rng(seed)
    graph = datasets.synthetic(1000, 16, 5, 8.0, 0.8, seed=seed)
    rate = 0.5 * rng.uniform(0.05, 0.8, 150) + 0.5 * rng.uniform(0.05, 0.8, (5, 150))
    length = np.exp(rng.normal(0, 0.5, 1000))[:, None]
    true = (rng.random((1000, 150)) < (rate[graph.y.numpy()] * length).clip(0, 0.98)).astype(np.float32)
    x, wrong = true.copy(), rng.permutation(1000)[:400]
    x[wrong] = true[rng.choice(np.argsort(-true.sum(axis=1))[:8], 400)]
    found = detection.make("context", gated=False).fit(Data(x=torch.from_numpy(x), edge_index=graph.edge_index))
    measured = detection.metrics(found, torch.from_numpy(x != true))
    assert measured["node_auroc"] > 0.9
    assert measured["node_recall"] > 0.9


def test_two_wrong_rows_in_a_hundred_are_found_among_rows_that_fit_badly():
    data = datasets.synthetic(2500, 150, 6, 8.0, 0.85, signal=0.8, seed=4)
    bad = corruption.inject_attributes(data, ratio=0.02, candidates=1, select="random", seed=0)
    found = detection.make("context").fit(bad.data)
    flagged = found.swapped_rows_
    assert float(bad.nodes[flagged].float().mean()) > 0.75
    assert float(flagged[bad.nodes].float().mean()) > 0.5
    assert not bool(detection.make("context").fit(data).swapped_rows_.float().mean() > 0.002)


def test_trusted_rows_count_as_evidence(replaced, fitted):
    """Knowing the right rows must not make the others harder to find."""
    plain = fitted("context", replaced.data)
    told = fitted("context", replaced.data, trusted=~replaced.nodes & (torch.arange(800) % 2 == 0))
    hidden = replaced.nodes | (torch.arange(800) % 2 == 1)
    area = lambda det: detection.areas(replaced.nodes[hidden], det.node_scores_[hidden])[0]  # noqa: E731
    assert area(told) > area(plain) - 0.005
