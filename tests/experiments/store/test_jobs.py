from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from magnet.experiments.store import Store
from magnet.experiments.store.jobs import Job, execute, missing

# A runner that other processes can import. It leaves a file for every start, so that repeated work would show.
PRETEND = """
import os, time, uuid
from pathlib import Path

def run(configs, folder, seconds=0.0, crash_once=False):
    for config in configs:
        (Path(folder) / f"{config['seed']}-{uuid.uuid4().hex}").touch()
        if crash_once and config["seed"] == 1:
            try:
                (Path(folder) / "crashed").mkdir()
                os._exit(9)
            except FileExistsError:
                pass
        if config["seed"] == 13:
            raise ValueError("an unlucky seed")
        time.sleep(seconds)
        yield config, {"value": config["seed"] ** 2, "process": os.getpid()}
"""
SCRIPT = """
import functools, sys
from pretend import run
from magnet.experiments.store.jobs import execute
from magnet.experiments.store import Store
path, started, seconds, processes = sys.argv[1:]
jobs = [[{"seed": 2 * i}, {"seed": 2 * i + 1}] for i in range(5)]
with Store(path) as store:
    execute(store, jobs, functools.partial(run, folder=started, seconds=float(seconds)), int(processes))
"""


@pytest.fixture
def pretend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Path]]:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "pretend.py").write_text(PRETEND)
    (tmp_path / "started").mkdir()
    monkeypatch.syspath_prepend(tmp_path / "code")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "code"), prepend=os.pathsep)
    monkeypatch.delitem(sys.modules, "pretend", raising=False)
    import pretend as found

    yield found, tmp_path / "started"
    sys.modules.pop("pretend", None)


def jobs_of(*groups: tuple[int, ...]) -> list[Job]:
    return [[{"seed": seed} for seed in group] for group in groups]


def starts(folder: Path) -> list[int]:
    return sorted(int(path.name.split("-")[0]) for path in folder.glob("*-*"))


def test_only_what_is_missing_runs(tmp_path: Path, pretend: tuple[Any, Path]) -> None:
    import functools

    found, folder = pretend
    run = functools.partial(found.run, folder=folder)
    with Store(tmp_path / "a.sqlite") as store:
        store.add({"seed": 1}, {"value": "kept"})
        jobs = jobs_of((0, 1), (2,))
        assert missing(store, jobs) == [[{"seed": 0}], [{"seed": 2}]]
        execute(store, jobs, run)
        assert starts(folder) == [0, 2]
        assert sorted(str(run.result["value"]) for run in store.runs()) == ["0", "4", "kept"]
        execute(store, jobs, run)
        assert starts(folder) == [0, 2]


def test_a_failing_run_is_noted_and_the_others_go_on(tmp_path: Path, pretend: tuple[Any, Path]) -> None:
    import functools

    found, folder = pretend
    with Store(tmp_path / "a.sqlite") as store:
        execute(store, jobs_of((0, 13, 14), (2,)), functools.partial(found.run, folder=folder))
        assert {run.config["seed"] for run in store.runs()} == {0, 2}
        failed = store.failed()
        assert set(failed) == {store.key({"seed": 13}), store.key({"seed": 14})}
        assert all("ValueError: an unlucky seed (pretend.py line" in message for message in failed.values())


def test_processes_share_the_work_and_survive_a_crash(tmp_path: Path, pretend: tuple[Any, Path]) -> None:
    import functools

    found, folder = pretend
    run = functools.partial(found.run, folder=folder, seconds=0.3, crash_once=True)
    with Store(tmp_path / "a.sqlite") as store:
        execute(store, jobs_of(*((i,) for i in range(12))), run, processes=2)
        rows = list(store.runs())
    assert sorted(row.config["seed"] for row in rows) == list(range(12))
    assert all(row.result["value"] == row.config["seed"] ** 2 for row in rows)
    assert len({row.result["process"] for row in rows}) >= 2
    assert starts(folder) == sorted([*range(12), 1])  # the crashed one twice, the others once


def test_a_killed_process_continues_where_it_was(tmp_path: Path, pretend: tuple[Any, Path]) -> None:
    _, folder = pretend
    path = tmp_path / "a.sqlite"
    command = [sys.executable, "-c", SCRIPT, str(path), str(folder)]
    first = subprocess.Popen([*command, "0.4", "1"])
    with Store(path) as store:
        while len(before := {run.key: run.finished_at for run in store.runs()}) < 3:
            time.sleep(0.02)
        first.send_signal(signal.SIGKILL)
        first.wait()
        before = {run.key: run.finished_at for run in store.runs()}
        assert 3 <= len(before) < 10
        subprocess.run([*command, "0", "1"], check=True)
        after = {run.key: run.finished_at for run in store.runs()}
    assert len(after) == 10
    assert before.items() <= after.items()
    assert 10 <= len(starts(folder)) <= 11  # at most the one that was under way ran twice


def test_two_processes_on_one_store_do_not_repeat_one_another(tmp_path: Path, pretend: tuple[Any, Path]) -> None:
    _, folder = pretend
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "a.sqlite"), str(folder), "0.1", "1"]
    both = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert starts(folder) == list(range(10))
    with Store(tmp_path / "a.sqlite") as store:
        assert len({run.result["process"] for run in store.runs()}) == 2


TERMINATED = """
import sys, time
from magnet.experiments.store import Store
from magnet.experiments.store.jobs import execute

def run(configs):
    open(sys.argv[2] + "/" + str(__import__("os").getpid()), "w").close()
    time.sleep(60)
    yield configs[0], {}

if __name__ == "__main__":
    with Store(sys.argv[1]) as store:
        configs = [{"kind": "x", "dataset": "d", "corruption": "none", "method": "", "seed": s} for s in range(2)]
        execute(store, [[config] for config in configs], run, processes=2)
"""


def test_a_terminated_process_ends_its_workers(tmp_path: Path) -> None:
    script, seen = tmp_path / "script.py", tmp_path / "seen"
    script.write_text(TERMINATED)
    seen.mkdir()
    parent = subprocess.Popen([sys.executable, str(script), str(tmp_path / "a.sqlite"), str(seen)])
    patience = time.monotonic() + 120
    while len(list(seen.iterdir())) < 2 and time.monotonic() < patience:
        time.sleep(0.1)
    workers = [int(path.name) for path in seen.iterdir()]
    assert len(workers) == 2
    parent.terminate()
    assert parent.wait(60) == 128 + signal.SIGTERM
    for worker in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)
