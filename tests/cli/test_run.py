"""``magnet run``."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from magnet.cli import app


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
    assert f"test_accuracy: {row['test_accuracy']:.4g}\n" in said
    assert f"peak_memory: {row['peak_memory'] / 1e6:.0f} MB\n" in said
    assert "remark" not in said
    assert "config" not in said
    assert CliRunner().invoke(app, [*command[:-1], "-q"]).output == ""
    wrong = CliRunner().invoke(app, ["run", "--dataset", "digits", "--method", "gnc"])
    assert wrong.exit_code == 2
    assert "did you mean 'gcn'" in wrong.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "scaling=bogus"], "it must be one of 'none', 'rows', 'unit'"),
        (["--set", "patience=-1"], "patience is -1; it must be a whole number, at least 1"),
        (["--set", "patience=1e400"], "patience is inf; it must be a whole number, at least 1"),
        (["--set", "learning_rate=-0.1"], "learning_rate is -0.1; it must be a number, at least 0"),
        (["--set", "epochs=1e400"], "epochs of gcn is inf"),
        (["--set", f"epochs={'9' * 5000}"], "it must be a number like 200"),
        (["--set", f"epochs={'[' * 100_000}"], "it must be a number like 200"),
        (["--set", "kind=search"], "kind is not a method setting"),
        (["--device", "bogus"], "it must be cpu, cuda or cuda:N"),
        (["--seed", "-1"], "--seed"),
        (["--seed", str(10**20)], "--seed"),
    ],
)
def test_wrong_settings_of_a_run_are_refused(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(app, ["run", "--dataset", "digits", "--method", "gcn", *arguments])
    assert result.exit_code == 2
    assert words in result.output
    assert "internal error" not in result.output
