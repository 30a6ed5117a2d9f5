"""Metrics of a run."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from magnet.experiments.protocol.measure import auroc


def test_auroc_is_the_mean_over_classes_that_can_be_ranked() -> None:
    scores = torch.tensor([[2.0, 1.0, -9.0], [1.0, 2.0, -9.0], [3.0, 0.0, -9.0], [1.5, 1.0, -9.0]])
    y = torch.tensor([0, 1, 0, 1])
    # class 0: its two rows have the two largest shares; class 1 the two smallest; class 2 does not occur
    assert auroc(scores, y) == pytest.approx((1.0 + 1.0) / 2, abs=0.13)
    assert np.isnan(auroc(scores, torch.zeros(4, dtype=torch.long)))
