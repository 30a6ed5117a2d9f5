"""``magnet review`` on the command line; its server is tested in ``tests/report/test_review.py``."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from magnet.cli import app


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What ``magnet clean`` writes about a table with a misspelled town."""
    towns = np.repeat(["Ulm", "Bonn", "Kiel"], 40)
    towns[5] = "Ulmm"
    pd.DataFrame({"town": towns, "code": np.repeat(["U", "B", "K"], 40)}).to_csv(tmp_path / "towns.csv", index=False)
    result = CliRunner().invoke(app, ["clean", str(tmp_path / "towns.csv"), "-o", str(tmp_path / "out"), "-q"])
    assert result.exit_code == 0
    return tmp_path / "out"


def test_the_command_serves_until_it_is_interrupted(folder: Path) -> None:
    command = [sys.executable, "-m", "magnet", "review", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().strip())
        assert address.hostname == "127.0.0.1"
        connection = http.client.HTTPConnection("127.0.0.1", address.port or 0, timeout=10)
        connection.request("POST", address.path + "decisions", json.dumps({"place": 0, "accept": True}))
        assert connection.getresponse().status == 200
        process.send_signal(2)
        rest = process.communicate(timeout=20)[0]
    assert process.returncode == 0
    assert "cells decided: 1 of " in rest
    assert "write the accepted ones with: magnet apply" in rest


def test_who_decides_nothing_leaves_it_to_the_threshold(folder: Path) -> None:
    missing = CliRunner().invoke(app, ["apply", str(folder / "decisions.json")])
    assert missing.exit_code == 2
    assert f"decisions.json does not exist; magnet review {folder} writes it" in missing.output
    command = [sys.executable, "-m", "magnet", "review", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().strip())
        connection = http.client.HTTPConnection("127.0.0.1", address.port or 0, timeout=10)
        connection.request("GET", address.path)
        assert connection.getresponse().status == 200
        process.send_signal(2)
        process.communicate(timeout=20)
    assert process.returncode == 0
    better = folder / "better.csv"
    assert CliRunner().invoke(app, ["apply", str(folder / "decisions.json"), "-o", str(better)]).exit_code == 0
    assert better.read_bytes() == (folder / "cleaned.csv").read_bytes()


def test_a_folder_without_a_report_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["review", str(tmp_path), "--no-browser"])
    assert result.exit_code == 2
    assert "report.html does not exist; name the folder that magnet clean wrote" in result.output
