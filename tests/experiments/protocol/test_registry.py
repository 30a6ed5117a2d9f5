"""Kinds of runs."""

from __future__ import annotations

from typing import Any

import pytest

from magnet.experiments.protocol import registry
from magnet.experiments.protocol.registry import compute


def test_the_counts_of_a_dataset() -> None:
    config = {"kind": "statistics", "dataset": "digits", "corruption": "none", "method": "", "seed": 0}
    ((asked, counts),) = compute([config])
    assert asked is config
    expected = {"nodes": 1797, "edges": 9929, "features": 64, "classes": 10, "train": 200, "val": 500, "test": 1000}
    assert {name: counts[name] for name in expected} == expected
    assert counts["label_rate"] == pytest.approx(200 / 1797)
    assert counts["homophily"] == pytest.approx(0.961, abs=5e-4)
    assert (counts["low"], counts["high"]) == (0.0, 1.0)


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(ValueError, match=r"unknown kind of run \['dance'\]; there are classify, image"):
        list(compute([{"kind": "dance"}]))


def test_every_run_comes_back_with_its_own_config(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are computed in groups of one dataset, in whatever order their rows are finished."""
    groups = []

    def run_many(configs: list[dict[str, Any]], device: Any, folder: Any) -> Any:
        groups.append([config["dataset"] for config in configs])
        return [(number, {"row_of": configs[number]["seed"]}) for number in reversed(range(len(configs)))]

    monkeypatch.setattr("magnet.experiments.protocol.run.run_many", run_many)
    common = {"kind": "classify", "corruption": "none", "method": "gcn"}
    configs = [{**common, "dataset": name, "seed": seed} for seed in (0, 1) for name in ("cora", "digits")]
    found = list(compute(configs))
    assert groups == [["cora", "cora"], ["digits", "digits"]]
    assert all(config["seed"] == row["row_of"] for config, row in found)
    assert len(found) == 4
    assert set(registry.KINDS) == {"classify", "image", "detect", "statistics", "search"}
