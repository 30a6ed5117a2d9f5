"""Accuracy against the level of corruption, and with either loss, from made-up runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from magnet.experiments.exhibits import EXHIBITS, Document, Options, Results


def ratio(config: dict[str, Any]) -> float:
    return float(config.get("corruption_options", {}).get("ratio", 0.5))


def test_levels_are_a_curve_of_which_the_middle_is_table_1(rendered: Callable[..., Document], tmp_path: Path) -> None:
    options = Options(datasets=("cora",), methods=("gcn",), repeats=4)
    document = rendered("fig-level", options, lambda config: {"test_accuracy": 1 - ratio(config) / 2})
    means = {cell.facts["ratio"]: cell.ours and cell.ours.mean for cell in document.tables[0].cells}
    assert means == pytest.approx({0.1: 95, 0.3: 85, 0.5: 75, 0.7: 65, 0.9: 55})
    table1 = [str(config) for config in EXHIBITS["table1"].configs(Options(datasets=("cora",), repeats=4))]
    shared = [config for config in EXHIBITS["fig-level"].configs(options) if str(config) in table1]
    assert {ratio(config) for config in shared} == {0.5}
    (figure,) = document.figures
    figure.draw(tmp_path / "level.svg")
    assert "ratio of injected rows" in (tmp_path / "level.svg").read_text()


def test_a_single_level_is_not_drawn() -> None:
    options = Options(datasets=("cora",), methods=("gcn",), repeats=1)
    assert EXHIBITS["fig-level"].document(Results(), options).figures == []


def test_losses_differ_in_the_options_of_the_detector(rendered: Callable[..., Document], tmp_path: Path) -> None:
    def result_of(config: dict[str, Any]) -> dict[str, Any]:
        return {"test_accuracy": 0.6 if config["detector_options"].get("loss") == "mae" else 0.7}

    document = rendered("fig-loss", Options(datasets=("cora",), repeats=2), result_of)
    assert {cell.row: cell.ours and cell.ours.mean for cell in document.tables[0].cells} == {"MAE": 60.0, "MSE": 70.0}
    document.figures[0].draw(tmp_path / "loss.png")
    assert (tmp_path / "loss.png").stat().st_size > 2000
