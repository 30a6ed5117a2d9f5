"""Repetitions of an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from magnet.experiments import run_one


def test_the_small_graphs_change_their_split_with_the_repetition(raw_data: Path, repeat: Any) -> None:
    rows = repeat("texas", "none", "mlp", [0, 1], epochs=30, device="cpu")
    alone = run_one("texas", "none", "mlp", 1, epochs=30, device="cpu")
    assert rows[1]["test_accuracy"] == pytest.approx(alone["test_accuracy"], abs=0.03)
    first = repeat("texas", "none", "mlp", [0, 1], split=0, epochs=30, device="cpu")
    assert first[0]["test_auroc"] == pytest.approx(rows[0]["test_auroc"], abs=0.05)
    assert first[1]["test_auroc"] != pytest.approx(rows[1]["test_auroc"], abs=1e-6)


def test_a_graph_without_labels_is_refused(small: Any) -> None:
    data = small.clone()
    del data.y
    with pytest.raises(ValueError, match="has no y"):
        run_one(data, "none", "gcn")
