from __future__ import annotations

import contextlib
import csv
import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from magnet.cli import app
from magnet.experiments import exhibits
from magnet.experiments.exhibits import Document, Options
from magnet.experiments.exhibits.base import Cell, Summary, Table, summarize
from magnet.experiments.exhibits.classification import Setting, relative
from magnet.experiments.exhibits.make import jobs_of, make_exhibits
from magnet.experiments.exhibits.page import write_page
from magnet.experiments.exhibits.render import cell_text
from magnet.experiments.store import RESULT_VERSIONS, Store, result_version

ACCURACY = {"gcn": 0.7, "magnet-gae": 0.78, "appnp": 0.6, "magnet": 0.8}


class Pretend:
    """Accuracies that depend on method and seed in a known way."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def __call__(self, configs: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        for config in configs:
            self.seen.append(config)
            mean = 0.8 if config["corruption"] == "none" else ACCURACY[config["method"]]
            yield config, {"test_accuracy": mean + 0.01 * (config["seed"] - 1), "seconds": 1.0, "device": "cpu"}


OPTIONS = Options(
    datasets=("cora",), methods=("appnp", "magnet-gae", "magnet"), corruptions=("inject-random",), repeats=3
)


def test_table1_beside_the_paper(tmp_path: Path) -> None:
    run = Pretend()
    make_exhibits(["table1"], tmp_path / "a.sqlite", tmp_path, OPTIONS, run=run)
    assert len(run.seen) == 3 * 5  # the three methods, and the GCN on clean and on corrupted data for the scores
    with (tmp_path / "table1.csv").open() as file:
        lines = {line["method"]: line for line in csv.DictReader(file)}
    ours = lines["magnet-gae"]
    assert float(ours["mean"]) == pytest.approx(78)
    assert float(ours["std"]) == pytest.approx(1)
    half = 4.302653 / math.sqrt(3)
    assert (float(ours["low"]), float(ours["high"])) == pytest.approx((78 - half, 78 + half), abs=1e-3)
    assert float(ours["paper"]) == 79.07
    assert float(ours["difference"]) == pytest.approx(-1.07)
    assert float(ours["relative_score"]) == pytest.approx(0.8)
    assert float(lines["appnp"]["relative_score"]) == pytest.approx(-1)
    text = (tmp_path / "table1.md").read_text()
    assert "▲ 78.00 ± 1.00<br>[75.52, 80.48]<br>paper 79.07 (-1.07)" in text
    assert "▼ 60.00 ± 1.00" in text
    summary, _, details = text.partition("## Details")
    assert "| Cora | 80.0 (paper 81.3) | 70.0 (paper 69.1) | 78.0 (paper 79.1) | 80.0 | 60.0 APPNP |" in summary
    assert "▲ 78.00" in details
    assert "80.0 (paper" not in (tmp_path / "table1.csv").read_text()  # the file holds every cell once
    assert (tmp_path / "table1-inject-random.png").stat().st_size > 2000
    assert "<svg" in (tmp_path / "table1-inject-random.svg").read_text()[:1000]


def test_models_that_were_still_getting_better_say_so(tmp_path: Path) -> None:
    def run(configs: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        for config in configs:
            epochs = config.get("epochs", 200)
            best = epochs if config["method"] == "appnp" else epochs // 2
            yield config, {"test_accuracy": 0.7, "epoch": best, "seconds": 1.0, "device": "cpu"}

    make_exhibits(["table1"], tmp_path / "a.sqlite", tmp_path, OPTIONS, run=run)
    lines = (tmp_path / "table1.md").read_text().splitlines()
    rows = {line.split(" | ")[0]: line for line in lines}
    assert ["still rising" in rows[f"| {name}"] for name in ("APPNP", "MAGnet-gae")] == [True, False]


def test_finished_runs_are_not_repeated_and_missing_ones_are_shown_as_missing(tmp_path: Path) -> None:
    first = Pretend()
    make_exhibits(["table1"], tmp_path / "a.sqlite", None, OPTIONS, run=first)
    again = Pretend()
    more = Options(**{**OPTIONS.__dict__, "repeats": 4})
    make_exhibits(["table1"], tmp_path / "a.sqlite", None, more, run=again)
    assert {config["seed"] for config in again.seen} == {3}
    nothing = Pretend()
    wider = Options(**{**more.__dict__, "repeats": 6, "methods": ("magnet", "appnp", "mlp")})
    (document,) = make_exhibits(["table1"], tmp_path / "a.sqlite", None, wider, run=nothing, show_only=True).documents
    assert nothing.seen == []
    cells = {cell.row: cell for cell in document.tables[0].cells}
    assert cells["MLP"].ours is None
    found = cells["MAGnet (ours)"].ours
    assert found is not None
    assert (found.runs, cells["MAGnet (ours)"].planned) == (4, 6)


def test_tables_share_their_runs(tmp_path: Path) -> None:
    run = Pretend()
    documents = make_exhibits(["table1", "table6"], tmp_path / "a.sqlite", None, OPTIONS, run=run).documents
    assert len(run.seen) == len({repr(sorted(config.items())) for config in run.seen}) == 15
    cells = [cell for table in documents[1].tables for cell in table.cells if cell.row == "MAGnet-gae"]
    absolute, relative_score = cells
    assert absolute.ours is not None
    assert relative_score.ours is not None
    assert absolute.ours.mean == pytest.approx(100 * 8 / 70)
    assert relative_score.ours.mean == pytest.approx(80)
    assert relative_score.paper is not None
    assert relative_score.paper.value == 82.05


def test_a_cell_stands_on_one_result_version(tmp_path: Path) -> None:
    configs = [{"kind": "x", "dataset": "cora", "seed": seed} for seed in range(3)]
    newer = {**RESULT_VERSIONS, "networks": 99}
    for versions, seeds, value in ((RESULT_VERSIONS, (0, 1, 2), 0.5), (newer, (0,), 0.9)):
        with Store(tmp_path / "a.sqlite", versions) as store:
            for seed in seeds:
                store.add(configs[seed], {"test_accuracy": value})
    with Store(tmp_path / "a.sqlite", newer) as store:
        results = exhibits.Results(store)
        assert results.values(configs, "test_accuracy") == [0.5, 0.5, 0.5]
        assert results.used == {result_version(configs[0])}
        assert results.values(configs[:1], "test_accuracy") == [0.9]  # as many: the newer


def test_settings_that_are_the_defaults_may_be_left_out(tmp_path: Path) -> None:
    run = {"kind": "classify", "dataset": "cora", "corruption": "inject-random", "method": "gcn", "seed": 0}
    said = {**run, "hidden": 64, "learning_rate": 5e-3}
    assert sum(len(job.configs) for job in jobs_of([run, said, {**run, "hidden": 16}])) == 2
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
    ours = [
        job for job in shared if any(config["method"] == "magnet" and "batch" not in config for config in job.configs)
    ]
    assert len(ours) == 1
    assert {config["method"] for config in ours[0].configs} >= {"magnet", "fp", "magnet-appnp", "magnet-gae"}
    assert all(len(job.configs) == 1 for job in shared if "batch" in job.configs[0])
    assert len(jobs_of(needed, on_gpu=True)) < len(shared)
    gae = [job for job in shared if job.configs[0].get("detector_options") == {"epochs": 1000}]
    assert [len(job.configs) for job in gae if "batch" not in job.configs[0]] == [2 + 9 * 2]


def test_pictures_are_read_once_and_timed_runs_are_by_themselves() -> None:
    images = jobs_of(exhibits.EXHIBITS["fig-image"].configs(Options(datasets=("bsd68/1", "bsd68/2"))))
    assert [{config["dataset"] for config in job.configs} for job in images] == [{"bsd68/1"}, {"bsd68/2"}]
    timed = jobs_of(exhibits.EXHIBITS["table4"].configs(Options(datasets=("cora",), methods=("gcn",), repeats=3)))
    assert [len(job.configs) for job in timed] == [1, 1, 1]


@pytest.mark.parametrize("name", exhibits.EXHIBITS)
def test_every_exhibit_names_its_runs_and_shows_what_is_missing(name: str, tmp_path: Path) -> None:
    for options in (Options(), Options(quick=True, repeats=2)):
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


def test_the_papers_numbers_and_the_stand_ins() -> None:
    found = Setting("cora", "inject-random").paper("table1", "magnet-gae")
    assert found is not None
    assert found.value == 79.07
    assert Setting("amazon-computers", "inject-random").paper("table1", "gcn") is None
    assert Setting("amazon-computers", "inject-random").title == "Amazon-Computers (for Wiki-CS)"
    assert relative(Summary(1.0), 2.0, 2.0) is None


def test_quick_from_the_command_line(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    command = ["reproduce", "table1", "--quick", "--repeats", "1", "--methods", "gcn", "--store", str(store)]
    result = CliRunner().invoke(app, [*command, "--device", "cpu", "--folder", str(tmp_path / "kept")])
    assert result.exit_code == 0, result.output
    with sqlite3.connect(store) as file:
        rows = file.execute("SELECT key, finished_at, dataset FROM runs").fetchall()
    assert len(rows) == 2
    assert {row[2] for row in rows} == {"digits"}
    shown = CliRunner().invoke(app, [*command, "--show"])
    assert shown.exit_code == 0
    assert "GCN, untouched" in shown.output
    with sqlite3.connect(store) as file:
        assert file.execute("SELECT key, finished_at, dataset FROM runs").fetchall() == rows
    text = (tmp_path / "table1.md").read_text()
    assert "Digits" in text


def _rows(path: Path) -> int:
    """Finished runs, without touching the file."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
            return int(file.execute("SELECT COUNT(*) FROM runs").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def test_reproduce_is_killed_and_continues(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    words = ["reproduce", "fig-level", "--quick", "--store", str(store), "--methods", "gcn", "--device", "cpu"]
    words += ["--folder", str(tmp_path / "kept")]
    command = [sys.executable, "-c", "from magnet.cli import app; app()", *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not _rows(store):
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with Store(store) as opened:
        before = {run.key: run.finished_at for run in opened.runs()}
    assert before
    assert CliRunner().invoke(app, words).exit_code == 0
    with Store(store) as opened:
        after = {run.key: run.finished_at for run in opened.runs()}
    assert before.items() <= after.items()
    assert len(after) == 2 * 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["table9"], "unknown exhibit 'table9'"),
        (["table1", "--datasets", "nowhere"], "'nowhere' is not part of this exhibit"),
        (["table1", "--methods", "nothing", "--quick"], "'nothing' is not part of this exhibit"),
        (["table1", "--show", "--store", "missing.sqlite"], "does not exist; run without --show"),
        (["table1", "--search", "4", "--quick"], "cannot be combined with --quick"),
        (["table1", "--settings", "best"], "--settings: best does not exist"),
        (["table1", "--search", "4", "--defaults"], "cannot be combined with --defaults"),
    ],
)
def test_wrong_arguments(arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["reproduce", *arguments])
    assert result.exit_code == 2
    assert words in result.output


def test_one_row_from_the_command_line(tmp_path: Path) -> None:
    import json

    command = ["run", "--dataset", "digits", "--corruption", "inject-random", "--method", "gcn", "--set", "epochs=3"]
    command += ["--store", str(tmp_path / "a.sqlite"), "--device", "cpu", "--folder", str(tmp_path), "--json"]
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0, first.output
    row = json.loads(first.output)
    assert row["config"]["epochs"] == 3
    assert 0 <= row["test_accuracy"] <= 1
    again = CliRunner().invoke(app, command)
    assert json.loads(again.output) == row
    said = CliRunner().invoke(app, command[:-1]).output
    assert f"test_accuracy: {row['test_accuracy']}" in said
    assert "config" not in said
    assert CliRunner().invoke(app, [*command[:-1], "-q"]).output == ""
    wrong = CliRunner().invoke(app, ["run", "--dataset", "digits", "--method", "gnc"])
    assert wrong.exit_code == 2
    assert "did you mean 'gcn'" in wrong.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "scaling=bogus"], "it must be one of none, rows, unit"),
        (["--set", "patience=-1"], "patience is -1; it must be a whole number, at least 1"),
        (["--set", "patience=1e400"], "patience is inf; it must be a whole number, at least 1"),
        (["--set", "learning_rate=-0.1"], "learning_rate is -0.1; it must be a number, at least 0"),
        (["--set", "epochs=1e400"], "epochs of gcn is inf"),
        (["--set", f"epochs={'9' * 5000}"], "must be of the kind of 200"),
        (["--set", f"epochs={'[' * 100_000}"], "must be of the kind of 200"),
        (["--set", "kind=search"], "kind is not a method setting"),
        (["--device", "bogus"], "it must be 'cpu', 'cuda'"),
        (["--seed", "-1"], "--seed"),
        (["--seed", str(10**20)], "--seed"),
    ],
)
def test_wrong_settings_of_a_run_are_refused(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(app, ["run", "--dataset", "digits", "--method", "gcn", *arguments])
    assert result.exit_code == 2
    assert words in result.output
    assert "internal error" not in result.output


def test_the_page_exports_what_is_shown_and_every_search(tmp_path: Path) -> None:
    config = {"kind": "classify", "dataset": "cora", "corruption": "none", "method": "gcn", "seed": 0}
    for version in (1, 2):
        with Store(tmp_path / "a.sqlite", {"datasets": 1, "networks": version}) as store:
            store.add(config, {"test_accuracy": 0.5, "seconds": 3600, "device": "cpu"})
            store.add({**config, "kind": "search"}, {"trials": []})
    options = Options(datasets=("cora",), methods=("gcn",), corruptions=("inject-random",), repeats=1)
    made = make_exhibits(["table1"], tmp_path / "a.sqlite", None, options, show_only=True)
    (tmp_path / "README.md").write_text("before\n<!-- made by magnet reproduce all -->\nold\n<!-- end -->\nafter\n")
    page = write_page(made.documents, tmp_path, tmp_path / "a.sqlite", made.shown).read_text()
    with (tmp_path / "runs.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert sorted((line["kind"], line["code"]) for line in lines) == [
        ("classify", "datasets 1, networks 2"),
        ("search", "datasets 1, networks 1"),
        ("search", "datasets 1, networks 2"),
    ]
    assert page.startswith("before\n")
    assert page.endswith("after\n")
    assert "3 finished runs (1.0 hours of computing) on cpu" in page


def test_the_page_counts_what_could_be_there(tmp_path: Path) -> None:
    cells = [
        Cell("a", "x", summarize([1.0, 2.0]), planned=2),
        Cell("a", "y", summarize([1.0]), planned=2),
        Cell("a", "z", planned=2),
        Cell("b", "x", planned=2, impossible="no files"),
        Cell("b", "y", text="yes"),
    ]
    with Store(tmp_path / "a.sqlite"):
        pass
    document = Document("table9", "Some table", [Table("t", cells)])
    page = write_page([document], tmp_path, tmp_path / "a.sqlite", set()).read_text()
    assert "| [table9](table9.md): Some table | 3 of 4 | 2 | - |" in page
    assert [cell_text(cell) for cell in cells[2:]] == ["—", "no files", "yes"]


def test_there_is_no_relative_score_where_nothing_was_lost(tmp_path: Path) -> None:
    def run(configs: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        for config in configs:
            yield config, {"test_accuracy": 0.7, "seconds": 1.0, "device": "cpu"}

    (document,) = make_exhibits(["table6"], tmp_path / "a.sqlite", None, OPTIONS, run=run).documents
    absolute, score = (cell for table in document.tables for cell in table.cells if cell.row == "APPNP")
    assert absolute.filled
    assert not absolute.impossible
    assert cell_text(score, "; ").startswith("n/a: nothing lost; paper")


def test_failed_runs_are_counted(tmp_path: Path) -> None:
    def run(configs: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        yield configs[0], {"test_accuracy": 0.7, "seconds": 1.0, "device": "cpu"}
        raise ValueError("no more")

    made = make_exhibits(["table1"], tmp_path / "a.sqlite", None, OPTIONS, run=run)
    assert len(made.failed) > 0
    assert all("no more" in message for message in made.failed.values())
    again = make_exhibits(["table1"], tmp_path / "a.sqlite", None, OPTIONS, run=Pretend())
    assert again.failed == {}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--store", "folder"], "is a folder"),
        (["--store", "folder", "--show"], "is a folder"),
        (["--store", "text.sqlite"], "cannot be used as a result store"),
        (["--store", "songs.sqlite", "--show"], "is not a result store"),
        (["--device", "cuda"], "no CUDA device"),
    ],
)
def test_unusable_files_and_devices(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "cuda" in arguments and torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.sqlite").write_text("no database " * 100)
    with contextlib.closing(sqlite3.connect(tmp_path / "songs.sqlite")) as file:
        file.execute("CREATE TABLE songs (name TEXT)")
    before = (tmp_path / "songs.sqlite").read_bytes()
    for command in (["reproduce", "table1", "--quick"], ["run", "--dataset", "digits", "--method", "gcn"]):
        if command[0] == "run" and "--show" in arguments:
            continue
        result = CliRunner().invoke(app, [*command, *arguments])
        assert result.exit_code == 2, result.output
        assert words in result.output
        assert len(result.output.strip().splitlines()) == 1
    assert (tmp_path / "songs.sqlite").read_bytes() == before
