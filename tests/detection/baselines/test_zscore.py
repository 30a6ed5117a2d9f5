"""The robust column z-score."""

from __future__ import annotations

import numpy as np
import torch
from torch_geometric.data import Data

from magnet.detection.baselines.zscore import ZScore

NO_EDGES = torch.zeros(2, 0, dtype=torch.long)


def test_score_is_the_distance_from_the_median_in_robust_spreads():
    x = torch.tensor([[-2.0], [-1.0], [0.0], [1.0], [50.0]])
    found = ZScore().fit(Data(x=x, edge_index=NO_EDGES))
    torch.testing.assert_close(found.scores_, (x.abs() / 1.4826))
    assert found.flagged_.flatten().tolist() == [False, False, False, False, True]


def test_zero_one_columns_have_no_outliers():
    x = torch.zeros(200, 1)
    x[0] = 1.0
    found = ZScore().fit(Data(x=x, edge_index=NO_EDGES))
    assert int(found.scores_.argmax()) == 0
    assert float(found.probability_.max()) == 0.0


def test_heavy_tails_and_mostly_empty_columns_are_no_outliers():
    rng = np.random.default_rng(0)
    heavy = rng.standard_t(1.5, size=(400, 6))
    spiked = np.where(rng.random((400, 20)) < 0.05, rng.gamma(2, size=(400, 20)), 0.0)
    x = torch.from_numpy(np.hstack([rng.normal(size=(400, 1)), heavy, spiked])).float()
    x[5, 0] = 40.0
    found = ZScore().fit(Data(x=x, edge_index=NO_EDGES))
    assert bool(found.flagged_[5, 0])
    assert float(found.flagged_nodes_.float().mean()) < 0.03
