"""One row of a table, and many at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from magnet.experiments import run_many, run_one

QUICK: dict[str, Any] = {"epochs": 15, "device": "cpu"}


def test_a_row_says_what_was_run_and_what_came_out(small: Any, tmp_path: Path) -> None:
    row = run_one(small, "inject-random", "gcn", seed=3, folder=tmp_path, corruption_options={"ratio": 0.3}, **QUICK)
    assert {"dataset", "corruption", "method", "seed", "detection", "device", "peak_memory", "epoch"} <= set(row)
    assert (row["corruption"], row["method"], row["seed"], row["chosen"]) == ("inject-random", "gcn", 3, "as it is")
    assert 0.3 < row["test_accuracy"] <= 1
    assert 0.5 < row["test_auroc"] <= 1
    assert row["config"]["epochs"] == 15
    assert row["corruption_options"] == {"ratio": 0.3}
    assert row["seconds"] > 0
    assert row["peak_memory"] > 1 << 20
    assert 1 <= row["epoch"] <= 15


@pytest.mark.parametrize("method", ["gcn", "propagation-one", "fp-true"])
def test_many_rows_are_each_row_alone(small: Any, tmp_path: Path, method: str, repeat: Any) -> None:
    many = repeat(small, "inject-random", method, [0, 1, 2], folder=tmp_path, **QUICK)
    alone = run_one(small, "inject-random", method, 2, folder=tmp_path, **QUICK)
    assert many[2]["chosen"] == alone["chosen"]
    assert many[2]["test_accuracy"] == pytest.approx(alone["test_accuracy"], abs=0.02)
    assert many[2]["test_auroc"] == pytest.approx(alone["test_auroc"], abs=1e-3)
    assert len({row["checksum"] for row in many}) == 3


def test_a_fixed_corruption_is_the_same_for_all(small: Any, tmp_path: Path, repeat: Any) -> None:
    rows = repeat(small, "inject-random", "gcn", [0, 1], fixed_corruption=5, folder=tmp_path, **QUICK)
    assert rows[0]["checksum"] == rows[1]["checksum"]
    assert rows[0]["test_auroc"] != rows[1]["test_auroc"]


def test_the_truth_is_worth_something(small: Any, tmp_path: Path, repeat: Any) -> None:
    options: dict[str, Any] = {"corruption_options": {"ratio": 1.0}, "folder": tmp_path, **QUICK, "epochs": 60}
    untouched = repeat(small, "inject-random", "gcn", range(4), **options)
    repaired = repeat(small, "inject-random", "fp-true", range(4), truth="rows", **options)
    means = [np.mean([row["test_accuracy"] for row in rows]) for rows in (untouched, repaired)]
    assert means[1] > means[0] + 0.03


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("gcn", [{"learning_rate": 0.01}, {"learning_rate": 0.05, "dropout": 0.2}, {"hidden": 8}]),
        (
            "magnet-true",
            [
                {"p": 1.0, "q": 2.0},
                {"p": 0.0, "q": 1.0, "nu0": 100.0},
                {"p": 1.0, "q": 1.0, "learning_rate": 0.01, "scaling": "rows"},
            ],
        ),
    ],
)
def test_settings_at_once_are_each_setting_alone(
    small: Any, tmp_path: Path, method: str, settings: list[dict[str, Any]], repeat: Any
) -> None:
    common = {"dataset": small, "corruption": "inject-random", "method": method, "epochs": 15}
    requests = [{**common, **each, "seed": seed} for each in settings for seed in (0, 1)]
    rows = dict(run_many(requests, "cpu", tmp_path))
    for place, each in enumerate(settings):
        together = [rows[2 * place], rows[2 * place + 1]]
        alone = repeat(small, "inject-random", method, [0, 1], folder=tmp_path, epochs=15, **each)
        for name in ("config", "chosen"):
            assert [row[name] for row in together] == [row[name] for row in alone]
        assert [row["test_auroc"] for row in together] == pytest.approx([row["test_auroc"] for row in alone], abs=1e-3)
        assert all(row["train_seconds"] > 0 and row["seconds"] > row["repair_seconds"] for row in together)


def test_methods_and_corruptions_at_once_are_each_alone(tmp_path: Path) -> None:
    base: dict[str, Any] = {"dataset": "digits", "epochs": 10}
    asked = [
        {**base, "corruption": "none", "method": "gcn", "seed": 1},
        {**base, "corruption": "inject-random", "method": "propagation-one", "seed": 0, "lambdas": [3.0]},
        {**base, "corruption": "inject-random", "method": "gcn", "seed": 0, "corruption_options": {"ratio": 0.9}},
        {**base, "corruption": "inject-random", "method": "mlp", "seed": 0, "fixed_corruption": 4},
        {**base, "corruption": "inject-random", "method": "fp-true", "seed": 0, "learning_rate": 0.02},
    ]
    together = dict(run_many(asked, "cpu", tmp_path))
    for number, each in enumerate(asked):
        alone = run_one(**each, device="cpu", folder=tmp_path)  # type: ignore[arg-type]
        assert together[number]["test_auroc"] == pytest.approx(alone["test_auroc"], abs=1e-3)
        same = ("method", "corruption", "seed", "config", "checksum", "chosen", "corruption_options")
        assert {name: together[number][name] for name in same} == {name: alone[name] for name in same}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "gat"}, "unknown method 'gat'"),
        ({"corruption": "inject"}, "unknown corruption 'inject'"),
        ({"hiden": 8}, "gcn has no setting 'hiden'; it has"),
        ({"settings": "best"}, "settings is 'best'"),
        ({"device": "cuda"}, "no CUDA device") if not torch.cuda.is_available() else ({"seed": "x"}, "seed"),
    ],
)
def test_wrong_names_are_named(small: Any, change: dict[str, Any], message: str, repeat: Any) -> None:
    given: dict[str, Any] = {"corruption": "none", "method": "gcn", **change}
    with pytest.raises(ValueError, match=message):
        run_one(small, given.pop("corruption"), given.pop("method"), 0, **given)
    with pytest.raises(ValueError, match="configs is empty"):
        repeat(small, "none", "gcn", [])
    with pytest.raises(ValueError, match="batch is -1"):
        repeat(small, "none", "gcn", [0], batch=-1)
