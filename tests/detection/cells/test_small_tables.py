"""``cell`` and ``auto`` on small tables of correlated measurements that they were not calibrated on."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn import datasets
from torch_geometric.data import Data

from magnet import detection

TABLES = {"diabetes": datasets.load_diabetes, "breast cancer": datasets.load_breast_cancer, "wine": datasets.load_wine}


def linked(x: np.ndarray, seed: int) -> Data:
    """The rows with links drawn at random, so that only the column and the rest of the row tell anything."""
    links = np.random.default_rng(seed).integers(0, len(x), (2, 4 * len(x)))
    edges = np.concatenate([links, links[::-1]], axis=1)
    return Data(x=torch.from_numpy(x.astype(np.float32)), edge_index=torch.from_numpy(edges))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("detector", ["cell", "auto"])
def test_few_rows_of_a_clean_table_are_flagged(name, detector):
    found = detection.make(detector).fit(linked(TABLES[name]().data, seed=0))
    assert found.flagged_.any(dim=1).float().mean() <= 0.01


@pytest.mark.parametrize("name", TABLES)
def test_a_wrong_cell_does_not_convict_the_cells_predicted_from_it(name):
    x, rng = TABLES[name]().data, np.random.default_rng(1)
    wrong = rng.random(x.shape) < 0.02
    bad = np.where(wrong, x + 6 * x.std(axis=0) * rng.choice([-1, 1], x.shape), x)
    flagged = detection.make("cell").fit(linked(bad, seed=1)).flagged_.numpy()
    assert flagged[wrong].mean() > 0.75
    assert wrong[flagged].mean() > 0.75
    beside = flagged & ~wrong & wrong.any(axis=1)[:, None]
    assert beside.sum() < 0.25 * wrong.sum()


def test_usual_rows_of_a_wide_table_are_not_flagged_for_their_small_residuals():
    """Half of the rows follow their factors closely, the others loosely: nothing is wrong in either."""
    rng = np.random.default_rng(0)
    factors, loadings = rng.normal(size=(800, 6)), rng.normal(size=(6, 40))
    noise = rng.standard_t(4, size=(800, 40)) * np.where(np.arange(800) % 2, 0.1, 0.5)[:, None]
    for detector in ("cell", "auto"):
        found = detection.make(detector).fit(linked(factors @ loadings + noise, seed=2))
        assert found.flagged_.any(dim=1).float().mean() <= 0.02
