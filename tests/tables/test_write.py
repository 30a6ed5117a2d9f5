from __future__ import annotations

import csv
import errno
import multiprocessing
import os
import signal
from pathlib import Path

import pandas as pd
import pytest

from magnet.files import complete_or_absent
from magnet.tables.write import check_target, whole_folder, write_cells


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


def test_an_error_names_the_folder(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"No space left on device: '.*new'"), whole_folder(tmp_path / "new"):
        raise OSError(errno.ENOSPC, "No space left on device")


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


def test_list_and_table_write_numbers_alike(tmp_path: Path) -> None:
    values = [3038190000, 2**70, 1048936856106.3433, 0.1, 1e-7]
    cells = pd.DataFrame({"observed": pd.Series(values, dtype=object), "score": [0.123456789] * 5})
    write_cells(cells, tmp_path / "c.csv")
    with (tmp_path / "c.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert [row[0] for row in rows] == ["3038190000", str(2**70), "1048936856106.3433", "0.1", "0.0000001"]
    assert rows[0][1] == "0.123457"


def test_a_slower_run_does_not_overwrite_what_a_faster_one_wrote(tmp_path: Path) -> None:
    target = tmp_path / "out"

    def slow() -> None:
        with whole_folder(target) as work:
            (work / "a.txt").write_text("slow")
            with whole_folder(target) as other:
                (other / "a.txt").write_text("fast")

    with pytest.raises(FileExistsError, match="meanwhile"):
        slow()
    assert (target / "a.txt").read_text() == "fast"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_link_to_a_folder_and_a_folder_in_a_read_only_one_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with whole_folder(tmp_path / "link") as work:
        (work / "a.txt").write_text("through the link")
    assert (tmp_path / "real" / "a.txt").read_text() == "through the link"
    assert (tmp_path / "link").is_symlink()
    (tmp_path / "mounted").mkdir()
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path).name == "mounted")
    with whole_folder(tmp_path / "mounted") as work:
        assert work.parent.name == "mounted"
        (work / "a.txt").write_text("inside")
    assert [path.name for path in (tmp_path / "mounted").iterdir()] == ["a.txt"]


def _stop_half_way(path: Path, folder: bool) -> None:
    if folder:
        with whole_folder(path) as work:
            (work / "a.txt").write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    with complete_or_absent(path) as part:
        part.write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("folder", [True, False])
def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path, folder: bool) -> None:
    process = multiprocessing.get_context("fork").Process(target=_stop_half_way, args=(tmp_path / "out", folder))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 1
    if folder:
        check_target(tmp_path / "out")
        assert list(tmp_path.iterdir()) == []
    else:
        with complete_or_absent(tmp_path / "out") as part:
            part.write_text("whole")
        assert [path.read_text() for path in tmp_path.iterdir()] == ["whole"]
