"""The search: validation only, every setting once, run and resumed like any other run, the best kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from magnet.experiments import methods, run_many
from magnet.experiments.exhibits import Options, Results
from magnet.experiments.exhibits.classification import Classification, Setting, config, searches
from magnet.experiments.store import RESULT_VERSIONS, Store
from magnet.experiments.store.jobs import execute
from magnet.experiments.tuning import settings
from magnet.experiments.tuning.search import Trial, ask, best, choose, plan, race, trials_in

PLACE = {"kind": "classify", "seed": 0, "dataset": "cora", "corruption": "meta", "method": "magnet-one"}


def fake(setting: dict[str, Any]) -> float:
    """Best at a rate of 0.005 and 64 hidden units."""
    return 0.9 - abs(setting["learning_rate"] - 0.005) * 10 - (0.1 if setting["hidden"] != 64 else 0.0)


def test_the_search_finds_the_best_setting_and_tries_each_once() -> None:
    trials: list[Trial] = []
    method = methods.get("gcn")
    for _ in range(3):
        trials += [Trial(setting, fake(setting)) for setting in ask("gcn", trials, 8)]
    tried = [tuple(trial.settings.items()) for trial in trials]
    assert len(tried) == len(set(tried)) == 24
    assert trials[0].settings == {name: method.defaults[name] for name in method.space}
    assert best(trials).settings["learning_rate"] == 0.005
    assert all(trial.settings["weight_decay"] in method.space["weight_decay"] for trial in trials)


def test_scores_are_mean_validation_accuracies() -> None:
    trials = [{"epochs": 10}, {"epochs": 10, "learning_rate": 0.05}]
    search = {"method": "gcn", "dataset": "digits", "corruption": "none", "trials": trials, "repeats": 2}
    slow, fast = race([search], device="cpu")[0]
    assert (slow.pruned, fast.pruned) == (True, False)  # ten epochs are too few for the default learning rate
    common = {"dataset": "digits", "corruption": "none", "method": "gcn", "epochs": 10, "learning_rate": 0.05}
    rows = [row for _, row in run_many([{**common, "seed": seed} for seed in (0, 1)], "cpu")]
    assert fast.score == pytest.approx(sum(row["val_accuracy"] for row in rows) / 2, abs=0.01)
    assert fast.score != pytest.approx(sum(row["test_accuracy"] for row in rows) / 2, abs=1e-4)


def test_without_a_finished_trial_none_is_best() -> None:
    with pytest.raises(ValueError, match="no finished trial"):
        best([Trial({"hidden": 8}, 0.9, pruned=True)])


def pretend(configs: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The best trial has 128 hidden units and nu0 = 100; a better one was pruned."""
    for each in configs:
        scores = [0.5 + 0.1 * (s["hidden"] == 128) + 0.2 * (s["nu0"] == 100.0) for s in each["trials"]]
        trials = [
            {"settings": s, "score": score, "pruned": False} for s, score in zip(each["trials"], scores, strict=True)
        ]
        trials[0] |= {"score": 0.99, "pruned": True}
        yield each, {"trials": trials, "seconds": 1.0}


def test_a_search_is_run_resumed_and_its_best_setting_written(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    settings.write({"gcn": {"cora": {"none": {"settings": {"learning_rate": 0.1}}}}}, path)
    with Store(tmp_path / "a.sqlite") as store:
        first = plan(store, [{**PLACE, "gamma": 3.0}], trials=12)
        asked = first[0]["trials"]
        assert len(asked) == 12
        assert all(trial["gamma"] == 3.0 for trial in asked)
        execute(store, [first], pretend)
        again = plan(store, [PLACE], trials=16)
        assert len(again[0]["trials"]) == 4
        execute(store, [again], pretend)
        assert plan(store, [PLACE], trials=16) == []
        assert choose(store, path) == 1
    found = settings.tuned("magnet-one", "cora", "meta", path)
    assert (found["hidden"], found["nu0"]) == (128, 100.0)
    assert "gamma" not in found  # it was given, not found
    entry = settings.read(path)["magnet-one"]["cora"]["meta"]
    assert (entry["trials"], entry["pruned"]) == (16, 2)
    assert settings.tuned("gcn", "cora", "meta", path) == {"learning_rate": 0.1}


def test_a_setting_that_none_beats_stays(tmp_path: Path) -> None:
    """Exported scores have six digits: what was a little better may be equal when it is read again."""
    path = tmp_path / "settings.toml"
    with Store(tmp_path / "a.sqlite") as store:
        (asked,) = plan(store, [PLACE], trials=3)
        scores = (0.8123456, 0.8123457, 0.8)
        trials = [{"settings": s, "score": c, "pruned": False} for s, c in zip(asked["trials"], scores, strict=True)]
        store.add(asked, {"trials": trials})
        for old, new in ((None, 1), (0, 0), (1, 1), (2, 1)):  # the numbers of trials
            there = {} if old is None else {"meta": {"settings": asked["trials"][old]}}
            settings.write({"magnet-one": {"cora": there}}, path)
            choose(store, path)
            assert settings.tuned("magnet-one", "cora", "meta", path) == asked["trials"][new]


def test_trials_of_superseded_versions_do_not_count(tmp_path: Path) -> None:
    for version in (1, 2):
        with Store(tmp_path / "a.sqlite", {**RESULT_VERSIONS, "networks": version}) as store:
            job = plan(store, [PLACE], trials=4) or plan(Store(tmp_path / "b.sqlite"), [PLACE], 4)
            execute(store, [job], pretend)
            assert len(trials_in(store)["magnet-one", "cora", "meta"]) == 4


def test_the_worse_half_is_dropped_after_the_first_repetition(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, int, int]] = []

    def rows(asked: Sequence[dict[str, Any]], device: Any, folder: Any) -> Any:
        for number, each in enumerate(asked):
            ran.append((each["method"], each["hidden"], each["seed"]))
            yield number, {"val_accuracy": each["hidden"] / 100 + each["seed"]}

    monkeypatch.setattr("magnet.experiments.tuning.search.run_many", rows)
    place = {"method": "gcn", "dataset": "cora", "corruption": "none", "repeats": 3}
    searches = [{**place, "trials": [{"hidden": h} for h in sizes]} for sizes in ((10, 40, 20, 30), (90, 80))]
    first, second = race(searches)
    assert [trial.pruned for trial in first] == [True, False, True, False]
    assert [trial.score for trial in first] == pytest.approx([0.1, 1.4, 0.2, 1.3])
    assert [trial.pruned for trial in second] == [False, True]
    later = {(40, 1), (40, 2), (30, 1), (30, 2), (90, 1), (90, 2)}
    assert {(hidden, seed) for _, hidden, seed in ran if seed} == later


def test_every_tuned_row_is_searched_and_runs_with_what_was_found(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    options = Options(datasets=("cora",), settings=path)
    searched = {(place["method"], place["corruption"]) for place in searches(options)}
    assert ("magnet-gcn", "inject-random") in searched
    assert ("gcn", "inject-random") in searched
    assert not any(method in ("magnet", "magnet-appnp") or c != "inject-random" for method, c in searched)
    chosen = {"appnp": {"alpha": 0.3}, "magnet-gcn": {"hidden": 7}}
    found: dict[str, Any] = {name: {"cora": {"inject-random": {"settings": each}}} for name, each in chosen.items()}
    found["magnet-gcn"]["cora"]["meta"] = {"settings": {"hidden": 9}}
    settings.write(found, path)
    far = Setting("cora", "inject-far")
    assert config(options, far, "magnet-appnp", 0)["alpha"] == 0.3
    assert config(options, far, "magnet-gcn", 0)["hidden"] == 7
    assert config(options, Setting("cora", "meta"), "magnet-gcn", 0)["hidden"] == 9
    assert "alpha" not in config(Options(settings=path, defaults=True), far, "appnp", 0)
    assert set(config(options, far, "magnet", 0)) == {"kind", "dataset", "corruption", "method", "seed"}
    digits = Setting("digits", "inject-random")
    runs = Classification(Results(), options)
    assert runs.comparable(far, "appnp")
    assert runs.comparable(far, "magnet-appnp")
    assert runs.comparable(digits, "propagation-one")
    assert not runs.comparable(digits, "appnp")
    found["appnp"]["digits"] = found["appnp"]["cora"]
    settings.write(found, tmp_path / "own.toml")
    own = Classification(Results(), Options(settings=tmp_path / "own.toml"))
    assert own.comparable(digits, "appnp")  # tuned by the user
