"""Kill -9 at random moments: what was there stays, what is written is whole, and the same command goes on.

A process of its own imports everything and forks: the child works and is killed, another child runs the same command
again, and the files are looked at. One line of JSON for each kill.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from typer.testing import CliRunner

import magnet
from magnet.cli import app
from magnet.corruption import Corruption
from magnet.datasets import synthetic

Work = Callable[[Path], None]
WORKS: dict[str, Work] = {}
LEFT_OVER = (".part", ".partial", ".journal")


def work(function: Work) -> Work:
    WORKS[function.__name__] = function
    return function


def _command(*arguments: str | Path) -> None:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exit_code:
        raise RuntimeError(result.stderr[-300:] or repr(result.exception))


@work
def clean(folder: Path) -> None:
    if not (folder / "out").exists():  # a finished run is not repeated
        _command("clean", folder / "nodes.csv", "--edges", folder / "edges.csv", "-o", folder / "out", "--fix", "all")


@work
def corrupt(folder: Path) -> None:
    _command("corrupt", "digits", "--kind", "cells-outlier", "-o", folder / "bad.npz", "--force")


@work
def save(folder: Path) -> None:
    data = synthetic(nodes=200, features=40, seed=0)
    model = magnet.MAGnet(detector="none").fit(data)
    for _ in range(40):
        model.save(folder / "model.npz")


@work
def recover(folder: Path) -> None:
    if (folder / "u.npy").exists():
        return
    data = synthetic(nodes=300, features=64, seed=0)
    trust = torch.from_numpy((np.random.default_rng(0).random((300, 64)) > 0.2).astype(np.float32))
    transform = magnet.FrameletTransform(magnet.Graph.from_edges(data.edge_index, 300))
    magnet.recover(data.x, trust, transform, out=folder / "u.npy", block_columns=2, threads=1, progress=False)


@work
def reproduce(folder: Path) -> None:
    store = folder / "runs.sqlite"
    _command(
        "reproduce", "table1", "--quick", "--repeats", "1", "--methods", "gcn", "--store", store, "-o", folder / "o"
    )


def prepare(folder: Path) -> None:
    """The inputs, the same for every kill."""
    rng = np.random.default_rng(0)
    lines = [f"n{k},{rng.integers(20, 60)},{'abc'[k % 3]},{rng.normal():.2f}" for k in range(300)]
    (folder / "nodes.csv").write_text("\n".join(["id,age,kind,x", *lines]) + "\n")
    ends = rng.integers(300, size=(900, 2))
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"n{a},n{b}\n" for a, b in ends))


def results(name: str, folder: Path) -> dict[str, Any]:
    """What the work has written, as far as it is the same every time; a file that cannot be read raises."""
    if name == "clean":
        out = folder / "out"
        return (
            {file: (out / file).read_text() for file in ("cleaned.csv", "suspicious_cells.csv")} if out.exists() else {}
        )
    if name == "corrupt":
        path = folder / "bad.npz"
        return {"checksum": Corruption.load(path).info["checksum"]} if path.exists() else {}
    if name == "save":
        path = folder / "model.npz"
        return {"x": magnet.MAGnet.load(path).x_.tolist()} if path.exists() else {}
    if name == "recover":
        path = folder / "u.npy"
        return {"u": np.load(path).tolist()} if path.exists() else {}
    path = folder / "runs.sqlite"
    if not path.exists():
        return {}
    with sqlite3.connect(path) as store:
        if store.execute("pragma integrity_check").fetchone()[0] != "ok":
            raise RuntimeError("the store is damaged")
    return {}


def forked(action: Callable[[], None]) -> int:
    """Run something in a child of this process; its process id."""
    child = os.fork()
    if child:
        return child
    try:
        action()
        os._exit(0)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        os._exit(1)


def finished(action: Callable[[], None]) -> float:
    """Seconds that something takes in a child that nobody kills."""
    began = time.perf_counter()
    _, status = os.waitpid(forked(action), 0)
    if status:
        raise RuntimeError("the undisturbed run failed")
    return time.perf_counter() - began


def kill_once(name: str, folder: Path, expected: dict[str, Any], seconds: float) -> None:
    """One kill after so many seconds, and another run; an exception says what did not hold."""
    inputs = {path.name: path.read_bytes() for path in folder.iterdir()}
    child = forked(lambda: WORKS[name](folder))
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found = results(name, folder)
    if found not in ({}, expected):
        raise RuntimeError("what a killed run left is neither absent nor complete")
    finished(lambda: WORKS[name](folder))
    if results(name, folder) != expected:
        raise RuntimeError("the run after the kill gives something else")
    left = [path.name for path in folder.rglob("*") if path.name.endswith(LEFT_OVER)]
    if left:
        raise RuntimeError(f"unfinished work stays: {left[:3]}")
    if any((folder / file).read_bytes() != content for file, content in inputs.items()):
        raise RuntimeError("an input was changed")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--works", default="clean,recover,save,corrupt")
    parser.add_argument("--each", type=int, default=1, help="kills of each")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rng = np.random.default_rng(arguments.seed)
    for name in arguments.works.split(","):
        with tempfile.TemporaryDirectory() as place:
            whole = Path(place) / "whole"
            whole.mkdir()
            prepare(whole)
            try:
                usual = finished(lambda: WORKS[name](whole))  # noqa: B023
                expected = results(name, whole)
            except Exception as error:
                print(json.dumps({"work": name, "held": False, "reason": str(error)[:300]}), flush=True)
                continue
            for k in range(arguments.each):
                folder = Path(place) / str(k)
                folder.mkdir()
                prepare(folder)
                seconds = float(rng.uniform(0, usual))
                line: dict[str, Any] = {"work": name, "after": round(seconds, 3), "held": True}
                try:
                    kill_once(name, folder, expected, seconds)
                except Exception as error:
                    line |= {"held": False, "reason": f"{type(error).__name__}: {error}"[:300]}
                print(json.dumps(line), flush=True)
                shutil.rmtree(folder)


if __name__ == "__main__":
    main()
