"""``-q``, ``-v`` and ``--json`` mean the same in every command."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from magnet.cli import app
from magnet.cli.options import Output, command, seed_number

runner = CliRunner()

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_every_word_of_every_option(name: str) -> None:
    shown = runner.invoke(app, [name, "--help"], env={"COLUMNS": "400", "TERM": "dumb"}).output
    for parameter in COMMANDS[name].params:
        words = [getattr(parameter, "help", None), getattr(parameter, "show_default", None)]
        for text in (word for word in words if isinstance(word, str)):
            assert text in shown, f"{parameter.name}: {text!r} is taken for markup"


def test_a_seed_is_a_number_that_torch_accepts() -> None:
    assert [seed_number(text) for text in (0, "7", str(2**63 - 1))] == [0, 7, 2**63 - 1]
    for text in (-1, "x", "", "1.5", str(2**63), "9" * 5000):
        with pytest.raises(typer.BadParameter, match="is not a whole number from 0 to"):
            seed_number(text)


def test_options_have_one_name_in_all_commands() -> None:
    for name, known in COMMANDS.items():
        long = {option for parameter in known.params for option in parameter.opts}
        assert not long & {"--out", "--silent", "--format", "--debug"}, name
        for short, full in (("-q", "--quiet"), ("-v", "--verbose"), ("-o", "--output")):
            assert (short in long) == (full in long), f"{name}: {short} without {full}, or the other way round"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_quiet_talkative_and_speaks_json(name: str) -> None:
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert {"-q", "-v", "--json"} <= options


def test_output_says_what_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    @command
    def speak(out: Output, text: str) -> None:
        out.line(text)
        out.detail("more")
        out.result({"number": 1})

    def said(**how: bool) -> str:
        speak(text="text", **how)
        return capsys.readouterr().out

    assert said() == "text\n"
    assert said(verbose=True) == "text\nmore\n"
    assert said(quiet=True) == said(quiet=True, verbose=True) == ""
    assert json.loads(said(as_json=True)) == json.loads(said(as_json=True, quiet=True)) == {"number": 1}


def test_a_bar_shows_what_is_left_and_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")

    def shown(terminal: bool, quiet: bool = False) -> str:
        stream = io.StringIO()
        stream.isatty = lambda: terminal  # type: ignore[method-assign]
        monkeypatch.setattr("sys.stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        with Output(quiet=quiet).progress() as stage:
            stage("reading")
            stage("judging", 0.5)
        return stream.getvalue()

    assert "judging" in shown(True)
    assert "left:" in shown(True)
    assert shown(False) == shown(True, quiet=True) == ""


def test_bench_doctor_and_the_agent_speak_json(tmp_path: Path) -> None:
    assert "recovery" in json.loads(runner.invoke(app, ["bench", "--json"]).stdout)
    for words in (["bench", "-q"], ["datasets", "-q"], ["doctor", "-q"]):
        assert runner.invoke(app, words).output == ""
    assert "ftfy" in runner.invoke(app, ["doctor", "-v"]).output
    served = json.loads(runner.invoke(app, ["mcp", str(tmp_path), "--json"]).stdout)
    assert served["mcpServers"]["magnet"]["args"] == ["mcp", str(tmp_path)]


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
