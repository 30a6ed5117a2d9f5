"""``magnet reproduce``."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from magnet.cli import app
from magnet.cli.reproduce import NAMES
from magnet.experiments.exhibits import EXHIBITS
from magnet.experiments.store import Store


def test_help_names_every_exhibit() -> None:
    assert NAMES.split(", ") == [*EXHIBITS, "all"]


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
