"""Table 2 from made-up runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from magnet.experiments.exhibits import Document, Options


def result_of(config: dict[str, Any]) -> dict[str, Any]:
    """A GCN has 60 % on corrupted and 80 % on clean data; the recovery gains with p and q."""
    if config["method"] == "gcn":
        return {"test_accuracy": 0.8 if config["corruption"] == "none" else 0.6}
    return {"test_accuracy": 0.6 + 0.1 * config["p"] + 0.02 * config["q"]}


def test_every_pair_of_exponents_and_the_best_one(rendered: Callable[..., Document]) -> None:
    options = Options(datasets=("cora",), methods=("one",), corruptions=("inject-random",), repeats=2)
    document = rendered("table2", options, result_of)
    (table,) = document.tables
    assert len(table.cells) == 9
    cells = {(cell.facts["p"], cell.facts["q"]): cell for cell in table.cells}
    half = cells[0.5, 1.5]
    assert half.ours is not None
    assert half.ours.mean == pytest.approx(68)
    assert half.score == pytest.approx((0.68 - 0.6) / (0.8 - 0.6))
    assert half.paper is None
    assert cells[1.0, 2.0].paper is not None
    assert document.summary is not None
    texts = {cell.row: cell.text for cell in document.summary.cells}
    assert texts["one, the best"] == "74.0 (p = 1, q = 2)"
    assert texts["one, p = 1, q = 2"].startswith("74.0 (paper ")


def test_the_trust_of_our_detector_replaces_that_of_the_autoencoder(rendered: Callable[..., Document]) -> None:
    options = Options(datasets=("cora",), methods=("ours",), corruptions=("inject-random",), repeats=1, quick=True)
    detectors = set()

    def result(config: dict[str, Any]) -> dict[str, Any]:
        if config["method"] == "magnet-gae":
            detectors.add(config["detector"])
        return result_of(config)

    rendered("table2", options, result)
    assert detectors == {"auto"}
