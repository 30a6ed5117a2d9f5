"""Trust from a detector or from the truth."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from magnet.experiments.methods import trust
from magnet.experiments.protocol.data import Repetition


def test_truth_of_cells_and_of_rows(case: Repetition) -> None:
    cells, rows = trust.true_trust(case, "cells"), trust.true_trust(case, "rows")
    assert case.corruption is not None
    assert torch.equal(cells == 0, case.corruption.cells)
    assert torch.equal((rows == 0).any(dim=1), case.corruption.nodes)
    assert torch.equal((rows == 0).all(dim=1), case.corruption.nodes)
    with pytest.raises(ValueError, match="truth is 'columns'"):
        trust.true_trust(case, "columns")


def test_a_detector_runs_once_for_the_methods_that_share_it(
    case: Repetition, monkeypatch: pytest.MonkeyPatch, found: Any
) -> None:
    calls = []
    monkeypatch.setattr(trust, "_detect", lambda c, name, options: calls.append(name) or found(c))
    config = {"detector": "auto", "detector_options": {"threshold": "posterior"}}
    assert trust.detected(case, config) is trust.detected(case, config)
    trust.detected(case, {**config, "detector": "context"})
    assert calls == ["auto", "context"]
