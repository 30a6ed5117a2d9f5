"""Tables of databases: read without touching the file, written as a copy with nothing else changed."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from magnet.cli import app
from magnet.tables import BadTable, read
from magnet.tables.readers.database import read_database


def people(path: Path, more: str = "") -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """
            CREATE TABLE people (id TEXT PRIMARY KEY, city TEXT, age INTEGER, photo BLOB, mixed);
            CREATE TABLE log (what TEXT);
            CREATE TRIGGER noisy AFTER UPDATE ON people BEGIN INSERT INTO log VALUES ('changed'); END;
            """
            + more
        )
        rows = [(f"p{k}", ("Rome", "Oslo")[k % 2], 20 + k % 40, b"x", k if k % 2 else "n/a") for k in range(60)]
        rows[7] = ("p7", "Olso", 27, None, 7)
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)
        connection.commit()
    return path


def rows_of(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_a_table_is_read_and_a_changed_copy_is_written(tmp_path: Path) -> None:
    path = people(tmp_path / "a.sqlite")
    before = path.read_bytes()
    source = read_database(Path(f"{path}::people"))
    assert source.frame["age"].tolist()[:3] == [20, 21, 22]
    assert source.frame["mixed"].tolist()[:2] == ["n/a", "1"]
    assert set(source.left_alone) == {"photo"}
    changes = {"city": (np.array([7]), ["Oslo"]), "age": (np.array([0, 1]), ["30", 31])}
    source.write(tmp_path / "b.sqlite", changes)
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.sqlite", "b.sqlite"]
    old, new = (rows_of(tmp_path / name, "SELECT * FROM people") for name in ("a.sqlite", "b.sqlite"))
    assert [k for k in range(60) if old[k] != new[k]] == [0, 1, 7]
    assert (new[7][1], new[0][2], new[1][2]) == ("Oslo", 30, 31)
    assert rows_of(tmp_path / "b.sqlite", "SELECT * FROM log") == []  # no trigger ran
    assert rows_of(tmp_path / "b.sqlite", "SELECT name FROM sqlite_master WHERE type = 'trigger'") == [("noisy",)]


def test_tables_without_row_numbers_and_computed_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """
            CREATE TABLE t ("a b" TEXT, n INT, twice AS (2 * n), PRIMARY KEY ("a b")) WITHOUT ROWID;
            INSERT INTO t VALUES ('x', 1), ('y', 2);
            CREATE TABLE odd (rowid TEXT, n INT);
            INSERT INTO odd VALUES ('u', 5), ('v', 6);
            """
        )
    source = read_database(Path(f"{path}::t"))
    assert source.left_alone == {"twice": "computed by the database"}
    source.write(tmp_path / "b.db", {"n": (np.array([1]), [7])})
    assert rows_of(tmp_path / "b.db", "SELECT * FROM t") == [("x", 1, 2), ("y", 7, 14)]
    read_database(Path(f"{path}::odd")).write(tmp_path / "c.db", {"n": (np.array([0]), [9])})
    assert rows_of(tmp_path / "c.db", "SELECT * FROM odd") == [("u", 9), ("v", 6)]


def test_a_change_that_the_database_refuses_leaves_one_sentence(tmp_path: Path) -> None:
    source = read_database(Path(f"{people(tmp_path / 'a.sqlite')}::people"))
    with pytest.raises(BadTable, match="refuses a change"):
        source.write(tmp_path / "b.sqlite", {"id": (np.array([0]), ["p1"])})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.sqlite", "the table must be named; write a.sqlite::TABLE"),
        ("a.sqlite::folk", "there is no table 'folk'"),
        ("a.sqlite::fts", "'fts' is a virtual table"),
        ("text.db", "neither a SQLite nor a DuckDB database"),
        ("cut.sqlite::people", "cannot be read as a SQLite database"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(tmp_path: Path, name: str, words: str) -> None:
    path = people(tmp_path / "a.sqlite", "CREATE VIRTUAL TABLE fts USING fts5(x);")
    (tmp_path / "text.db").write_text("no database")
    (tmp_path / "cut.sqlite").write_bytes(path.read_bytes()[:3000])
    with pytest.raises(BadTable, match=words):
        read(tmp_path / name)


def test_a_database_that_is_being_written_is_refused(tmp_path: Path) -> None:
    path = people(tmp_path / "a.sqlite")
    (tmp_path / "a.sqlite-wal").write_bytes(b"changes")
    with pytest.raises(BadTable, match="not merged yet"):
        read_database(Path(f"{path}::people"))


def test_clean_and_apply_take_a_table_of_a_database(tmp_path: Path) -> None:
    path = people(tmp_path / "a.sqlite")
    links = "CREATE TABLE links (source TEXT, target TEXT);" + "".join(
        f"INSERT INTO links VALUES ('p{k}', 'p{(k + 2) % 60}');" for k in range(60)
    )
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(links)
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    words = ["clean", f"{path}::people", "--edges", f"{path}::links", "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert rows_of(tmp_path / "out/cleaned.sqlite", "SELECT city FROM people WHERE id = 'p7'") == [("Oslo",)]
    run = json.loads((tmp_path / "out/run.json").read_text())
    assert run["inputs"]["nodes"] == {"path": f"{path}::people", "sha256": before}
    assert run["table"]["edges used"] == 60
    cell = {"row": 7, "column": "city", "suggested": "Rome", "accept": True}
    content = {
        "format": "magnet decisions",
        "version": 1,
        "nodes": f"{path}::people",
        "sha256": before,
        "cells": [cell],
    }
    (tmp_path / "d.json").write_text(json.dumps(content))
    done = CliRunner().invoke(app, ["apply", str(tmp_path / "d.json"), "-o", str(tmp_path / "new.sqlite")])
    assert done.exit_code == 0, done.output
    assert rows_of(tmp_path / "new.sqlite", "SELECT city FROM people WHERE id = 'p7'") == [("Rome",)]
    assert CliRunner().invoke(app, ["check", f"{path}::people", "--max-wrong", "0.5"]).exit_code == 0
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before


def test_duckdb_tables_keep_their_types(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (id VARCHAR, n SMALLINT, day DATE, parts INTEGER[])")
        connection.execute("INSERT INTO t VALUES ('x', 1, '2024-01-02', [1]), ('y', 2, NULL, NULL)")
    before = path.read_bytes()
    source = read_database(path)
    assert set(source.left_alone) == {"parts"}
    with pytest.raises(ValueError, match="70000"):
        source.parser("n")("70000")
    source.write(tmp_path / "b.duckdb", {"n": (np.array([1]), ["7"]), "day": (np.array([1]), ["2024-02-03"])})
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.duckdb", "b.duckdb"]
    with duckdb.connect(str(tmp_path / "b.duckdb"), read_only=True) as connection:
        rows = connection.execute("SELECT id, n, CAST(day AS VARCHAR), parts FROM t ORDER BY id").fetchall()
    assert rows == [("x", 1, "2024-01-02", [1]), ("y", 7, "2024-02-03", None)]


def test_without_duckdb_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.duckdb").write_bytes(bytes(8) + b"DUCK" + bytes(4000))
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    result = CliRunner().invoke(app, ["clean", str(tmp_path / "a.duckdb"), "--dry-run"])
    assert result.exit_code == 1
    assert "pip install 'magnet-gnn[database]'" in result.output
