"""``-q``, ``-v`` and ``--json`` mean the same in every command."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from magnet.cli import app

runner = CliRunner()
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def test_options_have_one_name_in_all_commands() -> None:
    for name, command in COMMANDS.items():
        long = {option for parameter in command.params for option in parameter.opts}
        assert not long & {"--out", "--silent", "--format", "--debug"}, name
        for short, full in (("-q", "--quiet"), ("-v", "--verbose"), ("-o", "--output")):
            assert (short in long) == (full in long), f"{name}: {short} without {full}, or the other way round"
    assert {name for name, command in COMMANDS.items() if any("--json" in p.opts for p in command.params)} >= {
        "apply",
        "check",
        "corrupt",
        "datasets",
        "demo",
        "doctor",
        "review",
    }


def test_datasets_and_corrupt_speak_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAGNET_CACHE", str(tmp_path))
    listed = json.loads(runner.invoke(app, ["datasets", "--json"]).stdout)
    digits = next(entry for entry in listed if entry["name"] == "digits")
    assert (digits["nodes"], digits["features"], digits["where"]) == (1797, 64, "built in")
    words = ["corrupt", "digits", "--kind", "cells-outlier", "--ratio", "0.01", "-o"]
    result = runner.invoke(app, [*words, str(tmp_path / "a.npz"), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["output"] == str(tmp_path / "a.npz")
    assert runner.invoke(app, [*words, str(tmp_path / "b.npz"), "-q"]).output == ""
    assert (tmp_path / "b.npz").exists()


def test_apply_says_as_much_as_it_is_asked(tmp_path: Path) -> None:
    table = "id,age\na,40\nb,4100\n"
    (tmp_path / "nodes.csv").write_text(table)
    cell = {"row": 1, "column": "age", "suggested": "41", "accept": True}
    content = {"format": "magnet decisions", "version": 1, "cells": [cell], "nodes": "nodes.csv"}
    content["sha256"] = hashlib.sha256(table.encode()).hexdigest()
    (tmp_path / "d.json").write_text(json.dumps(content))
    words = ["apply", str(tmp_path / "d.json"), "-o"]
    spoken = runner.invoke(app, [*words, str(tmp_path / "a.csv"), "--json"])
    assert json.loads(spoken.stdout) == {"output": str(tmp_path / "a.csv"), "changed": 1, "left": 0}
    assert runner.invoke(app, [*words, str(tmp_path / "b.csv"), "-q"]).output == ""
    assert (tmp_path / "b.csv").read_text() == table.replace("4100", "41")
