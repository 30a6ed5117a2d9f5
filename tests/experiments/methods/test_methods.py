"""The registry of methods, and what each does with a case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from magnet.experiments import methods, run_many
from magnet.nn.members import TRAINING

NAMES = {
    *("gcn", "mlp", "appnp", "gnnguard", "elasticgnn", "airgnn"),
    *("magnet-one", "magnet-gae", "magnet-true", "magnet", "propagation-one", "fp", "fp-true"),
    *("magnet-gcn", "magnet-appnp", "magnet-elasticgnn", "gadc", "ugd"),
}


def test_every_method_of_the_design_is_there_and_builds_its_model() -> None:
    assert set(methods.METHODS) == NAMES
    for name, method in methods.METHODS.items():
        assert method.name == name
        assert set(method.space) <= set(method.defaults)
        assert method.source
        for recipe in method.recipes(None, method.config({})):
            options = {key: value for key, value in recipe.settings.items() if key not in TRAINING}
            model = recipe.model(6, 3, seeds=[0, 1], **options)
            assert model.seeds == [0, 1]
            assert model.out_channels == 3
    assert {name for name, method in methods.METHODS.items() if "truth" in method.defaults} == {
        "magnet-true",
        "fp-true",
    }


def test_the_space_of_every_method_contains_that_of_the_paper() -> None:
    for method in methods.METHODS.values():
        if method.settings_of or method.committee:
            assert method.space == {}
            continue
        for name in ("learning_rate", "weight_decay", "hidden", "epochs", "dropout"):
            assert set(methods.PAPER_SPACE[name]) <= set(method.space[name]), (method.name, name)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Two methods with a real detector, which is fitted once."""
    place = {"dataset": "digits", "corruption": "inject-random", "seed": 0}
    asked = [{**place, "method": "fp", "epochs": 20}, {**place, "method": "magnet", "epochs": 15, "lambdas": [3.0]}]
    return {row["method"]: row for _, row in run_many(asked, "cpu", tmp_path_factory.mktemp("rows"))}


def test_a_row_with_a_real_detector_reports_how_good_it_was(rows: dict[str, Any]) -> None:
    row = rows["fp"]
    assert row["detection"]["node_auroc"] > 0.9
    assert row["detection"]["gate_open"]
    assert abs(row["detection"]["share"] - row["detection"]["true_share"]) < 0.15


def test_wrong_names_are_named() -> None:
    with pytest.raises(ValueError, match="unknown method 'magnett'; did you mean 'magnet'"):
        methods.get("magnett")


def test_a_detection_that_was_shared_still_counts_in_the_time(tmp_path: Path) -> None:
    request = {"dataset": "digits", "corruption": "inject-random", "method": "fp", "seed": 0, "detector": "cosine"}
    requests = [{**request, "epochs": epochs} for epochs in (3, 4)]
    rows = dict(run_many(requests, "cpu", tmp_path))
    assert rows[0]["detection"]["seconds"] == rows[1]["detection"]["seconds"] > 0
    assert all(row["repair_seconds"] >= row["detection"]["seconds"] for row in rows.values())


def test_the_committee_is_an_average_of_networks_on_repairs(rows: dict[str, Any]) -> None:
    row = rows["magnet"]
    assert row["detection"] == rows["fp"]["detection"]  # found once
    assert sum(row["members"].values()) == pytest.approx(1, abs=0.01)
    networks = {name.split(" + ")[1].split(",")[0].split()[-1] for name in row["members"]}
    assert networks == {"gcn", "appnp", "elasticgnn", "airgnn", "mlp"}
    assert row["chosen"] in row["members"]
    assert row["test_accuracy"] > 0.9
