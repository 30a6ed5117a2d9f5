"""The folder of a cleaning run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from magnet import tables
from magnet.report import folder as module
from magnet.report import write_folder
from magnet.tables.review import CleaningRecord


@pytest.fixture
def record(tmp_path: Path, make_record: Any) -> CleaningRecord:
    (tmp_path / "nodes.csv").write_text("id,town\na,Ulm\nb,Ulm\nc,Um\n")
    return make_record(tables.read(tmp_path / "nodes.csv"), [(2, "town", "Ulm", 0.99, 0.95)])


def test_the_four_files_agree(record: CleaningRecord, tmp_path: Path) -> None:
    written = write_folder(record, tmp_path / "out", {"title": "nodes.csv", "command": "magnet clean", "seconds": 1.5})
    assert [path.name for path in written] == ["cleaned.csv", "suspicious_cells.csv", "report.html", "run.json"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(path.name for path in written)
    assert (tmp_path / "out/cleaned.csv").read_text() == "id,town\na,Ulm\nb,Ulm\nc,Ulm\n"
    assert pd.read_csv(tmp_path / "out/suspicious_cells.csv")["observed"].tolist() == ["Um"]
    run = json.loads((tmp_path / "out/run.json").read_text())
    assert (run["command"], run["seconds"], run["counts"]["corrected"]) == ("magnet clean", 1.5, 1)
    assert run["share"] == pytest.approx(1 / 3)


def test_an_error_leaves_no_folder(record: CleaningRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(module, "write_report", full)
    with pytest.raises(OSError, match="no space left"):
        write_folder(record, tmp_path / "out", {})
    assert [path.name for path in tmp_path.iterdir()] == ["nodes.csv"]


def test_results_of_an_earlier_run_are_replaced_only_on_request(record: CleaningRecord, tmp_path: Path) -> None:
    write_folder(record, tmp_path / "out", {"command": "first"})
    with pytest.raises(FileExistsError):
        write_folder(record, tmp_path / "out", {"command": "second"})
    write_folder(record, tmp_path / "out", {"command": "second"}, force=True)
    assert json.loads((tmp_path / "out/run.json").read_text())["command"] == "second"
