"""Exhibits from runs that are made up: plan, run, render."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from magnet.experiments import exhibits
from magnet.experiments.exhibits import Options
from magnet.experiments.exhibits.make import jobs_of, make_exhibits
from magnet.experiments.store import Store


def test_finished_runs_are_not_repeated_and_missing_ones_are_shown_as_missing(
    tmp_path: Path, pretend: Any, options: Options
) -> None:
    first = pretend()
    make_exhibits(["table1"], tmp_path / "a.sqlite", None, options, run=first)
    again = pretend()
    more = Options(**{**options.__dict__, "repeats": 4})
    make_exhibits(["table1"], tmp_path / "a.sqlite", None, more, run=again)
    assert {config["seed"] for config in again.seen} == {3}
    nothing = pretend()
    wider = Options(**{**more.__dict__, "repeats": 6, "methods": ("magnet", "appnp", "mlp")})
    (document,) = make_exhibits(["table1"], tmp_path / "a.sqlite", None, wider, run=nothing, show_only=True).documents
    assert nothing.seen == []
    cells = {cell.row: cell for cell in document.tables[0].cells}
    assert cells["MLP"].ours is None
    found = cells["MAGnet (ours)"].ours
    assert found is not None
    assert (found.runs, cells["MAGnet (ours)"].planned) == (4, 6)


def test_settings_that_are_the_defaults_may_be_left_out(tmp_path: Path) -> None:
    run = {"kind": "classify", "dataset": "cora", "corruption": "inject-random", "method": "gcn", "seed": 0}
    said = {**run, "hidden": 64, "learning_rate": 5e-3}
    assert sum(len(job) for job in jobs_of([run, said, {**run, "hidden": 16}])) == 2
    with Store(tmp_path / "a.sqlite") as store:
        store.add(run, {"test_accuracy": 0.5})
        results = exhibits.Results(store)
        assert results.get(said) == {"test_accuracy": 0.5}
        assert results.get({**run, "hidden": 16}) is None
        assert results.get({**said, "dataset": "wordnet"}) is None


def test_runs_with_the_same_detector_are_one_job() -> None:
    options = Options(datasets=("cora",), corruptions=("inject-random",), repeats=2)
    needed = [config for name in ("table1", "table2", "table4") for config in exhibits.EXHIBITS[name].configs(options)]
    shared = jobs_of(needed)
    ours = [job for job in shared if any(config["method"] == "magnet" and "batch" not in config for config in job)]
    assert len(ours) == 1
    assert {config["method"] for config in ours[0]} >= {"magnet", "fp", "magnet-appnp", "magnet-gae"}
    assert all(len(job) == 1 for job in shared if "batch" in job[0])
    assert len(jobs_of(needed, on_gpu=True)) < len(shared)
    gae = [job for job in shared if job[0].get("detector_options") == {"epochs": 1000}]
    assert [len(job) for job in gae if "batch" not in job[0]] == [2 + 9 * 2]


def test_pictures_are_read_once_and_timed_runs_are_by_themselves() -> None:
    images = jobs_of(exhibits.EXHIBITS["fig-image"].configs(Options(datasets=("bsd68/1", "bsd68/2"))))
    assert [{config["dataset"] for config in job} for job in images] == [{"bsd68/1"}, {"bsd68/2"}]
    timed = jobs_of(exhibits.EXHIBITS["table4"].configs(Options(datasets=("cora",), methods=("gcn",), repeats=3)))
    assert [len(job) for job in timed] == [1, 1, 1]


@pytest.mark.parametrize("name", exhibits.EXHIBITS)
def test_every_exhibit_names_its_runs_and_shows_what_is_missing(name: str, tmp_path: Path) -> None:
    # the quick version uses a picture only if its file is there
    quick_datasets = ("bsd68/1",) if name == "fig-image" else None
    for options in (Options(), Options(quick=True, repeats=2, datasets=quick_datasets)):
        exhibit = exhibits.EXHIBITS[name]
        configs = exhibit.configs(options)
        assert len(configs) > 0 or name == "table3"
        assert len({repr(sorted(config.items())) for config in configs}) == len(configs)
        for config in configs:
            assert {"kind", "dataset", "corruption", "method", "seed"} <= config.keys()
        with Store(tmp_path / "empty.sqlite") as store:
            document = exhibit.document(exhibits.Results(store), options)
        assert document.name == name
        assert document.figures == []
        assert (document.summary is None) == all(len(table.rows) <= 12 for table in document.tables) or options.quick
        if name != "table3":
            assert all(cell.ours is None and not cell.text for table in document.tables for cell in table.cells)


def test_failed_runs_are_counted(tmp_path: Path, pretend: Any, options: Options) -> None:
    def run(configs: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        yield configs[0], {"test_accuracy": 0.7, "seconds": 1.0, "device": "cpu"}
        raise ValueError("no more")

    made = make_exhibits(["table1"], tmp_path / "a.sqlite", None, options, run=run)
    assert len(made.failed) > 0
    assert all("no more" in message for message in made.failed.values())
    again = make_exhibits(["table1"], tmp_path / "a.sqlite", None, options, run=pretend())
    assert again.failed == {}
