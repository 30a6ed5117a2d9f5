from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

TABLE = 'id,age,"city"\r\na,40,"Rome"\r\nb,4100,Oslo\r\nc,,Bern\r\n'


Run = Callable[..., tuple[int, str, str]]


def cell(row: int, column: str, suggested: Any, accept: bool = True) -> dict[str, Any]:
    return {"row": row, "node": "?", "column": column, "observed": "", "suggested": suggested, "accept": accept}


@pytest.fixture
def decisions(tmp_path: Path) -> Path:
    nodes = tmp_path / "nodes.csv"
    nodes.write_bytes(TABLE.encode())
    content = {
        "format": "magnet decisions",
        "version": 1,
        "nodes": "nodes.csv",
        "sha256": hashlib.sha256(TABLE.encode()).hexdigest(),
        "encoding": "utf-8",
        "cells": [cell(1, "age", "41"), cell(2, "age", "39", accept=False), cell(0, "city", "Cork")],
    }
    path = tmp_path / "decisions.json"
    path.write_text(json.dumps(content))
    return path


def test_accepted_suggestions_are_written_and_nothing_else(run: Run, decisions: Path, tmp_path: Path) -> None:
    code, text, _ = run("apply", decisions, "-o", tmp_path / "new.csv")
    assert code == 0
    assert "2 cells changed, 1 left as they were" in text
    expected = TABLE.replace("4100", "41").replace('"Rome"', '"Cork"').encode()
    assert (tmp_path / "new.csv").read_bytes() == expected
    assert run("apply", tmp_path, "-o", tmp_path / "again.csv")[0] == 0
    assert (tmp_path / "again.csv").read_bytes() == expected
    assert (tmp_path / "nodes.csv").read_bytes() == TABLE.encode()


def test_typed_tables_keep_their_types(run: Run, tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": ["a", "b"], "n": [1, 200], "v": [0.5, 1.5]})
    frame.to_parquet(tmp_path / "n.parquet")
    digest = hashlib.sha256((tmp_path / "n.parquet").read_bytes()).hexdigest()
    cells = [cell(1, "n", 2), cell(0, "v", 0.25)]
    content = {"format": "magnet decisions", "version": 1, "sha256": digest, "cells": cells}
    (tmp_path / "d.json").write_text(json.dumps(content))
    assert run("apply", tmp_path / "d.json", tmp_path / "n.parquet", "-o", tmp_path / "m.parquet")[0] == 0
    expected = frame.assign(n=[1, 2], v=[0.25, 1.5])
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "m.parquet"), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "is not a decisions file"),
        ({"version": 2}, "has version 2"),
        ({"sha256": "0" * 64}, "may not be the table of these decisions"),
        ({"nodes": None}, "does not name its table"),
        ({"nodes": "gone.csv"}, "gone.csv does not exist"),
        ({"cells": [cell(9, "age", "1")]}, "row is 9; the table has rows 0 to 2"),
        ({"cells": [cell(0, "height", "1")]}, "the table has no column 'height'"),
        ({"cells": [cell(0, "age", {"a": 1})]}, "cannot be written to column 'age'"),
        ({"cells": [{"row": 0}]}, "has no 'accept'"),
    ],
)
def test_bad_decisions_are_refused(
    run: Run, decisions: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    decisions.write_text(json.dumps(json.loads(decisions.read_text()) | change))
    code, _, error = run("apply", decisions, "-o", tmp_path / "new.csv")
    assert code == 2
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "new.csv").exists()


def test_the_table_itself_is_never_overwritten(run: Run, decisions: Path, tmp_path: Path) -> None:
    code, _, error = run("apply", decisions, "-o", tmp_path / "nodes.csv", "--force")
    assert code == 2
    assert "never changed" in error
    code, _, error = run("apply", decisions, "-o", tmp_path / "new.parquet")
    assert code == 2
    assert "the output must be a .csv file" in error
    decisions.write_text("{" * 5)
    assert run("apply", decisions)[0] == 2
