from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest

from magnet.tables.write import whole_folder, write_cells


def test_only_text_that_a_spreadsheet_would_run_is_marked(tmp_path: Path) -> None:
    cells = pd.DataFrame(
        {
            "node": ["=cmd|' /C calc'!A0", "n\n1", " =1"],
            "observed": pd.Series(["-12.5", -3.25, None], dtype=object),
            "suggested": pd.Series(["+49 30", 41, "@x"], dtype=object),
            "probability": [0.5, 1.0, float("nan")],
        }
    )
    write_cells(cells, tmp_path / "c.csv")
    with (tmp_path / "c.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[1] == ["'=cmd|' /C calc'!A0", "-12.5", "'+49 30", "0.5"]
    assert rows[2] == ["n\n1", "-3.25", "41", "1"]
    assert rows[3] == ["' =1", "", "'@x", ""]


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "out"

    def stop_half_way() -> None:
        with whole_folder(target) as work:
            (work / "a.txt").write_text("half")
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        stop_half_way()
    assert list((tmp_path / "deep").iterdir()) == []
    with whole_folder(target) as work:
        (work / "a.txt").write_text("done")
        assert not target.exists()
    assert (target / "a.txt").read_text() == "done"


def test_what_lies_in_the_folder_is_not_lost(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "a.txt").write_text("old")
    (target / "mine.txt").write_text("precious")
    with pytest.raises(FileExistsError, match="--force"), whole_folder(target):
        pytest.fail("never gets here")
    with whole_folder(target, force=True) as work:
        (work / "a.txt").write_text("new")
    assert {path.name: path.read_text() for path in target.iterdir()} == {"a.txt": "new", "mine.txt": "precious"}
    with pytest.raises(FileExistsError, match="is a file"), whole_folder(target / "a.txt"):
        pytest.fail("never gets here")
