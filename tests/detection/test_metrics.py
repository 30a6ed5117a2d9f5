"""Areas and precision against the exact truth."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score, roc_auc_score

from magnet import detection
from magnet.datasets import synthetic


def test_areas_are_scikit_learns():
    rng = np.random.default_rng(0)
    for _ in range(5):
        truth, scores = rng.random(200) < 0.2, rng.integers(0, 12, 200) / 10  # many ties
        found = detection.areas(torch.from_numpy(truth), torch.from_numpy(scores))
        expected = roc_auc_score(truth, scores), average_precision_score(truth, scores)
        np.testing.assert_allclose(found, expected, atol=1e-9)
    assert np.isnan(detection.areas(torch.zeros(3, dtype=torch.bool), torch.rand(3))[0])


def test_a_truth_of_another_shape_is_named():
    fitted = detection.make("rowsum").fit(synthetic(nodes=60, features=5))
    with pytest.raises(ValueError, match=r"cells has shape \[60, 4\]; the detector judged \[60, 5\]"):
        detection.metrics(fitted, np.zeros((60, 4), bool))
    with pytest.raises(ValueError, match=r"nodes has shape \[5\]; the detector judged \[60\]"):
        detection.metrics(fitted, np.zeros((60, 5), bool), np.zeros(5, bool))
