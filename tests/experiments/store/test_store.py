from __future__ import annotations

import multiprocessing
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from magnet.experiments.store import RESULT_VERSIONS, Store, canonical_key, result_version, run_key
from magnet.experiments.store.store import CLAIM_SECONDS

NEWER = {**RESULT_VERSIONS, "networks": 99}


def config(seed: int, **more: object) -> dict[str, object]:
    return {"kind": "classify", "dataset": "cora", "corruption": "none", "method": "gcn", "seed": seed, **more}


def test_a_row_is_there_once_and_stays_as_it_was(tmp_path: Path) -> None:
    with Store(tmp_path / "a.sqlite") as store:
        assert store.add(config(0), {"test_accuracy": 0.5, "seconds": 2.0, "device": "cpu"})
        assert not store.add(config(0), {"test_accuracy": 0.9})
    assert not (tmp_path / "a.sqlite-wal").exists()
    with sqlite3.connect(tmp_path / "a.sqlite") as plain:
        with pytest.raises(sqlite3.DatabaseError, match="never changed"):
            plain.execute("UPDATE runs SET result = '{}'")
        with pytest.raises(sqlite3.DatabaseError, match="never deleted"):
            plain.execute("DELETE FROM runs")
        rows = plain.execute("SELECT key, finished_at, dataset, seed, seconds, code FROM runs").fetchall()
    assert len(rows) == 1
    assert rows[0][0] == run_key(config(0))
    assert rows[0][1].startswith("20")
    assert rows[0][2:] == ("cora", 0, 2.0, result_version(config(0)))


def test_the_key_depends_on_every_setting_and_on_the_code(tmp_path: Path) -> None:
    keys = {run_key(c, code) for c in (config(0), config(1), config(0, hidden=1), config(0, hidden=2)) for code in "ab"}
    assert len(keys) == 8
    with Store(tmp_path / "a.sqlite") as old:
        old.add(config(0), {"test_accuracy": 0.1})
    with Store(tmp_path / "a.sqlite", NEWER) as new:
        assert new.get(config(0)) is None
        new.add(config(0), {"test_accuracy": 0.2})
        assert [run.result["test_accuracy"] for run in new.runs()] == [0.1, 0.2]


def test_a_claimed_run_is_left_to_its_owner_until_that_dies(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    script = (
        "import sys, time; from magnet.experiments.store import Store; store = Store(sys.argv[1]);"
        "print(store.claim(['a', 'b']), flush=True); time.sleep(60)"
    )
    other = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == "['a', 'b']"
        with Store(path) as store:
            assert store.running() == {"a", "b"}
            assert store.claim(["a", "b", "c"]) == ["c"]
            other.kill()
            other.wait()
            assert store.claim(["a", "b", "c"]) == ["a", "b"]
            store.release(["a"])
            assert store.running() == {"b", "c"}
    finally:
        other.kill()


def test_a_claim_from_another_machine_ends_when_it_falls_silent(tmp_path: Path) -> None:
    with Store(tmp_path / "a.sqlite") as store:
        with sqlite3.connect(tmp_path / "a.sqlite") as plain:
            for key, age in (("fresh", 0.0), ("stale", CLAIM_SECONDS + 1)):
                plain.execute("INSERT INTO claims VALUES (?, ?, ?, ?)", (key, "elsewhere", 1, time.time() - age))
        assert store.claim(["fresh", "stale"]) == ["stale"]


def _add_many(path: Path, worker: int) -> None:
    with Store(path) as store:
        for seed in range(50):
            store.add(config(seed), {"worker": worker})


def test_processes_write_at_the_same_time(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_add_many, args=(tmp_path / "a.sqlite", i)) for i in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    with Store(tmp_path / "a.sqlite") as store:
        assert sorted(run.config["seed"] for run in store.runs()) == list(range(50))


def test_failures_are_noted_and_not_finished(tmp_path: Path) -> None:
    with Store(tmp_path / "a.sqlite") as store:
        store.claim([store.key(config(0))])
        store.fail(config(0), "out of memory")
        assert store.failed() == {store.key(config(0)): "out of memory"}
        assert store.finished() == set()
        assert store.running() == set()
        store.add(config(0), {})
        assert store.failed() == {}


def test_export_and_load(tmp_path: Path) -> None:
    with Store(tmp_path / "a.sqlite") as a, Store(tmp_path / "b.sqlite") as b:
        a.add(config(0), {"test_accuracy": 0.1})
        b.add(config(0), {"test_accuracy": 0.2})
        b.add(config(1), {"test_accuracy": 0.3})
        assert b.export(tmp_path / "b.csv") == 2
        assert a.load(tmp_path / "b.csv") == 1  # what is there already stays
        assert a.export(tmp_path / "a.csv") == 2
        assert [run.result["test_accuracy"] for run in a.runs()] == [0.1, 0.3]
        with Store(tmp_path / "c.sqlite") as c:
            assert c.load(tmp_path / "a.csv") == 2
            assert c.load(tmp_path / "a.csv") == 0
            assert list(c.runs()) == list(a.runs())
            assert c.finished() == a.finished()
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("key,finished_at,kind,dataset")


def test_an_export_is_short_and_loses_nothing_that_is_shown(tmp_path: Path) -> None:
    result = {
        "test_accuracy": 0.8100000619888306,
        "seconds": 1.25,
        "device": "cpu",
        "seed": 0,
        "config": {"learning_rate": 0.1},
    }
    with Store(tmp_path / "a.sqlite") as a, Store(tmp_path / "b.sqlite") as b:
        a.add(config(0), {**result, "above": [1, 123456789], "detection": {"share": float("nan"), "gate": "open"}})
        a.export(tmp_path / "a.csv")
        b.load(tmp_path / "a.csv")
        (run,) = b.runs()
        assert (run.key, canonical_key(run.config)) == (a.key(config(0)), canonical_key(config(0)))
        assert run.result.pop("detection")["share"] != 0.0
        assert run.result == {"test_accuracy": 0.81, "seconds": 1.25, "device": "cpu", "above": [1, 123456789]}
        assert b.export(tmp_path / "b.csv") == 1
    assert (tmp_path / "b.csv").read_bytes() == (tmp_path / "a.csv").read_bytes()


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").write_text("no database, but long enough to have a header " * 10)
    with pytest.raises(ValueError, match="cannot be used as a result store"):
        Store(tmp_path / "a.sqlite")
    assert os.path.getsize(tmp_path / "a.sqlite") == 460
    with pytest.raises(ValueError, match="is a folder"):
        Store(tmp_path)


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("table", ["CREATE TABLE songs (name TEXT)", "CREATE TABLE runs (distance REAL)"])
def test_a_foreign_database_is_refused_and_left_as_it_is(tmp_path: Path, table: str, read_only: bool) -> None:
    path = tmp_path / "a.sqlite"
    with sqlite3.connect(path) as file:
        file.execute(table)
    file.close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match="is not a result store"):
        Store(path, read_only=read_only)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["a.sqlite"]


def test_a_store_that_is_only_read(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with pytest.raises(ValueError, match="cannot be used"):
        Store(path, read_only=True)
    path.touch()
    with pytest.raises(ValueError, match="holds no runs yet"):
        Store(path, read_only=True)
    with Store(path) as store:  # an empty file is a store without runs
        store.add(config(0), {"test_accuracy": 0.5})
    before = path.read_bytes()
    with Store(path, read_only=True) as store:
        assert store.get(config(0)) is not None
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            store.add(config(1), {})
    assert path.read_bytes() == before
