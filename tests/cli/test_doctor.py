from __future__ import annotations

import json
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

import magnet
from magnet.cli import app, doctor

runner = CliRunner()


def test_version_is_the_package_s():
    result = runner.invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output == f"magnet {magnet.__version__}\n"


def test_doctor_tells_versions_devices_and_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MAGNET_DATA", str(tmp_path))
    monkeypatch.setenv("MAGNET_CACHE", str(tmp_path / "cache"))
    result = runner.invoke(app, ["doctor", "--json"])
    found = json.loads(result.output)
    assert result.exit_code == 0
    assert found["packages"]["numpy"] == metadata.version("numpy")
    assert found["devices"][0] == "cpu"
    assert found["data"]["MAGNET_DATA"] == str(tmp_path)
    assert found["data"]["found"] == ["digits"]
    assert "cora" in found["data"]["to download"]
    text = runner.invoke(app, ["doctor"]).output
    assert f"MAGNET_DATA is {tmp_path}" in text
    assert "not found: " in text


def test_doctor_names_what_is_missing_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = [
        "numpy>=1.26",
        "no-such-package",
        "no-such-server>=2; extra == 'agent'",
        "duckdb>=1.1; extra == 'database'",
    ]
    monkeypatch.setattr(metadata, "requires", lambda name: needs)
    result = runner.invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert "MISSING: no-such-package" in result.output
    assert "pip install 'magnet-gnn[agent]'" in result.output
    assert "[database]" not in result.output


def test_completion_is_offered() -> None:
    assert "--install-completion" in runner.invoke(app, ["--help"]).output


def test_doctor_knows_every_extra() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {name.replace("-", "_") for name in doctor.required()} == {
        line.split(">=")[0].replace("-", "_") for line in project["dependencies"]
    }
    assert set(doctor.EXTRAS) == set(project["optional-dependencies"]) - {"dev", "docs"}
