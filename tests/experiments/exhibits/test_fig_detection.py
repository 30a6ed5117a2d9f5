"""Detected cells against the threshold, from made-up counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from magnet.experiments.exhibits import EXHIBITS, Document, Options
from magnet.experiments.protocol.detect import TAUS


def result_of(config: dict[str, Any]) -> dict[str, Any]:
    """Of 1000 cells 100 are wrong; 200 are above a low threshold, 80 of them wrong, and none above a high one."""
    low = [tau <= 0.3 for tau in TAUS]
    areas = {"cell_auroc": 0.9, "cell_auprc": 0.5, "node_auroc": 0.8}
    counts = {"cells": 1000, "true_cells": 100, "hit_cells": 60, "flagged_cells": 75}
    curves = {"taus": list(TAUS), "above": [200 * x for x in low], "true_positives": [80 * x for x in low]}
    return {**areas, **counts, **curves}


def test_shares_above_the_threshold(rendered: Callable[..., Document], tmp_path: Path) -> None:
    document = rendered("fig-sparsity", Options(datasets=("cora",)), result_of)
    means = {cell.column: cell.ours and cell.ours.mean for cell in document.tables[0].cells}
    assert means["tau = 0.1"] == 20.0
    assert means["tau = 0.5"] == 0.0
    assert means["truly wrong"] == 10.0
    document.figures[0].draw(tmp_path / "a.svg")
    assert "untrusted cells" in (tmp_path / "a.svg").read_text()


def test_recall_and_precision(rendered: Callable[..., Document], tmp_path: Path) -> None:
    document = rendered("fig-errors", Options(datasets=("cora",)), result_of)
    cells = {(cell.row, cell.column): cell.ours for cell in document.tables[0].cells}
    means = {key: None if ours is None else ours.mean for key, ours in cells.items()}
    assert means["Cora, MSE", "recall at 0.3"] == pytest.approx(0.8)
    assert means["Cora, MSE", "precision at 0.3"] == pytest.approx(0.4)
    assert means["Cora, MSE", "recall at 0.5"] == 0
    assert means["Cora, MSE", "precision at 0.5"] is None  # nothing is flagged
    assert means["Cora, ours", "recall at its own"] == pytest.approx(0.6)
    assert means["Cora, ours", "precision at its own"] == pytest.approx(0.8)
    document.figures[0].draw(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 2000


def test_the_small_version_runs_one_repetition_of_the_autoencoder() -> None:
    configs = EXHIBITS["fig-errors"].configs(Options(quick=True, repeats=2))
    assert [(config["method"], config["seed"]) for config in configs] == [("gae", 0), ("gae", 0)]
    assert [config["options"]["loss"] for config in configs] == ["mae", "mse"]
