from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from magnet.experiments.protocol.detect import TAUS, _picture, judge_detector, unpack_grid, unpack_region


def test_pictures_come_back_as_they_were() -> None:
    cells = torch.rand(500, 300, generator=torch.Generator().manual_seed(1)) < 0.1
    packed = _picture(cells)
    top, left = packed["corner"]
    assert np.array_equal(unpack_region(packed["region"]), cells[top : top + 200, left : left + 200].numpy())
    grid = unpack_grid(packed["grid"])
    assert grid.shape == (160, 160)
    assert grid.mean() == pytest.approx(0.1, abs=0.01)


def test_a_detector_against_the_truth(tmp_path: Path) -> None:
    found = judge_detector("digits", "inject-random", "gae", 0, {"epochs": 5}, device="cpu", folder=str(tmp_path))
    assert found["true_share"] == pytest.approx(0.39, abs=0.02)
    assert len(found["above"]) == len(found["true_positives"]) == len(TAUS)
    assert all(a >= b for a, b in zip(found["above"], found["above"][1:], strict=False))
    assert all(hit <= above for hit, above in zip(found["true_positives"], found["above"], strict=True))
    at_tau = found["above"][TAUS.index(0.1)]
    assert at_tau == pytest.approx(found["flagged_cells"], rel=0.01)
    assert found["pictures"]["truth"]["share"] == pytest.approx(found["true_cells"] / found["cells"])
