"""The search: validation only, every setting once, and it goes on where it was interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from magnet.experiments import methods, run_many
from magnet.experiments.tuning import search, settings
from magnet.experiments.tuning.search import Batch, Search

optuna = pytest.importorskip("optuna")


def fake(setting: dict[str, Any]) -> float:
    """Best at a rate of 0.005 and 64 hidden units."""
    return 0.9 - abs(setting["learning_rate"] - 0.005) * 10 - (0.1 if setting["hidden"] != 64 else 0.0)


def test_the_search_finds_the_best_setting_and_tries_each_once(tmp_path: Path) -> None:
    study = Search("gcn", "cora", path=tmp_path / "study.jsonl")
    for _ in range(3):
        batch = study.ask(8)
        study.tell(batch, [fake(setting) for setting in batch.settings])
    tried = [tuple(trial.settings.items()) for trial in study.trials]
    assert len(tried) == len(set(tried)) == 24
    assert study.trials[0].settings == {name: methods.get("gcn").defaults[name] for name in study.space}
    assert study.best().settings["learning_rate"] == 0.005
    assert all(setting["weight_decay"] in study.space["weight_decay"] for setting in batch.settings)


def test_an_interrupted_study_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    first = Search("appnp", "cora", path=path)
    batch = first.ask(5)
    first.tell(batch, [0.1, 0.2, 0.9, 0.3, 0.4])
    path.write_text(path.read_text() + '{"settings": {"learning_rate": 0.0')
    again = Search("appnp", "cora", path=path)
    assert len(again.trials) == 5
    assert again.best().settings == batch.settings[2]
    seen = [trial.settings for trial in again.trials]
    assert all(setting not in seen for setting in again.ask(5).settings)


def test_ranges_are_sampled_within_their_bounds() -> None:
    study = Search("gcn", "cora", space={"learning_rate": (1e-4, 1e-1, "log"), "hidden": [8, 16]})
    study.tell(Batch("gcn", "cora", "none", [{"learning_rate": 0.01, "hidden": 8}]), [0.5])
    rates = [setting["learning_rate"] for setting in study.ask(10).settings]
    assert all(1e-4 <= learning_rate <= 1e-1 for learning_rate in rates)
    assert min(rates) < 5e-3


def test_scores_are_mean_validation_accuracies(tmp_path: Path) -> None:
    batch = Batch("gcn", "digits", "none", [{"epochs": 10}, {"epochs": 10, "learning_rate": 0.05}])
    scores = search.evaluate(batch.as_dict(), seeds=[0, 1], device="cpu")
    common = {"dataset": "digits", "corruption": "none", "method": "gcn", "epochs": 10, "learning_rate": 0.05}
    rows = [row for _, row in run_many([{**common, "seed": seed} for seed in (0, 1)], "cpu")]
    assert scores[1] == pytest.approx(sum(row["val_accuracy"] for row in rows) / 2, abs=0.01)
    assert scores[1] != pytest.approx(sum(row["test_accuracy"] for row in rows) / 2, abs=1e-4)


def test_wrong_use_is_named() -> None:
    study = Search("gcn", "cora")
    with pytest.raises(ValueError, match="no finished trial"):
        study.best()
    with pytest.raises(ValueError, match="scores holds 1 numbers; the batch has 2"):
        study.tell(study.ask(2), [0.5])


def test_settings_are_written_and_found_again(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    entry = {
        "val_accuracy": 0.8,
        "settings": {"learning_rate": 0.01, "scaling": "rows", "norm": "l21", "lambdas": [1.0, 3.0]},
    }
    settings.write({"gcn": {"cora": {"none": entry, "meta": {"settings": {"learning_rate": 0.1}}}}}, path)
    assert settings.tuned("gcn", "cora", "none", path) == entry["settings"]
    assert settings.tuned("gcn", "cora", "meta", path) == {"learning_rate": 0.1}
    assert settings.tuned("gcn", "nowhere", "none", path) == {}
    assert settings.tuned("gcn", "texas", "none", path) == settings.tuned("gcn", "texas", "none") != {}
    assert settings.tuned("gcn", "cora", "none") != entry["settings"]


def test_the_settings_that_are_shipped_fit_their_methods() -> None:
    for name, method in methods.METHODS.items():
        for dataset in ("cora", "citeseer", "pubmed", "coauthor-cs", "wisconsin", "texas"):
            for corruption in ("none", "inject-random", "meta"):
                found = settings.tuned(name, dataset, corruption)
                method.config(found)
                assert all(value in method.space.get(key, [value]) for key, value in found.items())
    assert settings.tuned("gcn", "cora", "none")
    assert (
        settings.tuned("magnet-gcn", "cora", "inject-far")
        == settings.tuned("magnet-gcn", "cora", "inject-random")
        != {}
    )
