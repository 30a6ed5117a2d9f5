"""The last steps of the loaders: undirected graphs and splits."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from magnet.datasets import homophily
from magnet.datasets.build import make_data, random_split, sorted_unique, undirected


def test_edges_outside_the_graph_are_refused() -> None:
    with pytest.raises(ValueError, match="outside 0 to 2"):
        undirected([[0, 1], [1, 3]], 3)
    assert undirected(np.zeros((2, 0)), 3).shape == (2, 0)


def test_unique_keys_are_those_of_numpy() -> None:
    keys = np.random.default_rng(0).integers(50, size=200)
    assert (sorted_unique(keys) == np.unique(keys)).all()


def test_a_split_has_no_node_twice_and_shrinks_on_small_graphs() -> None:
    y = np.repeat([0, 1, 2], [30, 20, 3])
    train, val, test = random_split(y, per_class=20, val=500, test=1000, seed=1)
    assert not (train & val).any()
    assert not ((train | val) & test).any()
    assert (train | val | test).all()
    assert [int(train[y == c].sum()) for c in range(3)] == [15, 10, 2]
    assert int(val.sum()) == (53 - 27) // 3
    assert (random_split(y, seed=1)[0] == train).all()
    assert not (random_split(y, seed=2)[0] == train).all()


def test_homophily_is_the_share_of_edges_within_a_class() -> None:
    data = make_data(torch.zeros(4, 1), [[0, 1, 2], [1, 2, 3]], [0, 0, 1, 1])
    assert homophily(data) == pytest.approx(2 / 3)


def test_validation_and_test_nodes_have_the_same_classes_unless_drawn_in_order() -> None:
    y = np.repeat([0, 1, 2], [2000, 300, 60])
    for in_order, small in ((False, 40 / 2300), (True, 0.0)):
        shares = [
            np.mean(y[random_split(y, per_class=20, val=200, test=1000, seed=seed, in_order=in_order)[1]] == 2)
            for seed in range(10)
        ]
        assert np.mean(shares) == pytest.approx(small, abs=0.006)
    in_order, drawn = (random_split(y, seed=3, in_order=value) for value in (True, False))
    assert (in_order[0] == drawn[0]).all()  # training nodes are the same
