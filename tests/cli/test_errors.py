"""Inputs are never overwritten, and every end has its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from magnet.cli import errors

Run = Callable[..., tuple[int, str, str]]


def table(folder: Path, rows: int = 60) -> Path:
    rng = np.random.default_rng(0)
    lines = [f"n{k},{rng.integers(20, 60)},{'ab'[k % 2]}" for k in range(rows)]
    path = folder / "nodes.csv"
    path.write_text("\n".join(["id,age,kind", *lines]) + "\n")
    edges = "".join(f"n{k},n{(k + 1) % rows}\n" for k in range(rows))
    (folder / "edges.csv").write_text("source,target\n" + edges)
    return path


@pytest.mark.parametrize("link", ["none", "symbolic", "hard"])
@pytest.mark.parametrize("which", ["nodes", "edges", "trusted", "schema"])
def test_no_input_is_overwritten(run: Run, tmp_path: Path, which: str, link: str) -> None:
    nodes = table(tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    names = {"nodes": "cleaned.csv", "edges": "suspicious_cells.csv", "trusted": "suspicious_cells.csv"}
    place = out / names.get(which, "run.json")
    contents = {
        "nodes": nodes.read_text(),
        "edges": (tmp_path / "edges.csv").read_text(),
        "trusted": "node\nn1\n",
        "schema": "[columns]\n",
    }
    given = place if link == "none" else tmp_path / f"linked-{place.name}"
    place.write_text(contents[which])
    if link == "symbolic":
        given.symlink_to(place)
    elif link == "hard":
        os.link(place, given)
    options = [] if which == "nodes" else [f"--{which}", given]
    code, _, error = run("clean", given if which == "nodes" else nodes, *options, "-o", out, "--force")
    assert code == errors.USAGE
    assert "would be overwritten" in error
    assert place.read_text() == contents[which]
    assert [path.name for path in out.iterdir()] == [place.name]


def test_edges_of_another_table_are_refused(run: Run, tmp_path: Path) -> None:
    nodes = table(tmp_path)
    right = (tmp_path / "edges.csv").read_text().splitlines()
    wrong = [f"x{k},n{k}" for k in range(100)]
    (tmp_path / "few.csv").write_text("\n".join([*right, *wrong[:5]]) + "\n")
    (tmp_path / "most.csv").write_text("\n".join([*right, *wrong]) + "\n")
    code, _, error = run("clean", nodes, "--edges", tmp_path / "few.csv", "--dry-run")
    assert (code, error.count("\n")) == (0, 1)
    assert "warning: 5 of the 65 edges (8%) have unknown ids such as 'x0'" in error
    code, _, error = run("clean", nodes, "--edges", tmp_path / "most.csv", "--dry-run")
    assert code == errors.FAILED
    assert "100 of the 160 edges" in error
    code, text, _ = run("clean", nodes, "--edges", tmp_path / "most.csv", "--dry-run", "--allow-unknown-ids")
    assert code == 0
    assert "edges with known ids: 60" in text


def test_decisions_need_a_checksum_and_finite_numbers(run: Run, tmp_path: Path) -> None:
    nodes = table(tmp_path)
    cell = {"row": 0, "column": "age", "suggested": "41", "accept": True}
    content = {"format": "magnet decisions", "version": 1, "nodes": str(nodes), "cells": [cell]}
    decisions = tmp_path / "d.json"
    for value, reason in (("41", "no checksum"), ("inf", "not a finite number"), (float("nan"), "not valid JSON")):
        cell["suggested"] = value
        decisions.write_text(json.dumps(content))
        forced = [] if value == "41" else ["--force"]
        code, _, error = run("apply", decisions, "-o", tmp_path / "new.csv", *forced)
        assert code == errors.USAGE
        assert reason in error
        assert not (tmp_path / "new.csv").exists()


def test_a_reader_that_stops_is_no_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "magnet", "clean", str(table(tmp_path)), "--dry-run"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
