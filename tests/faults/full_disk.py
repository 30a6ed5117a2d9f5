"""Commands on a disk that is too small: one line, a documented exit code, and nothing left behind."""

from __future__ import annotations

import resource
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from invariants import hold, invoke, tree

TABLE_ROWS = 400


class NotPossible(Exception):
    """This machine does not allow the test; the text says why."""


def write_table(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = [f"n{k},{rng.integers(20, 60)},{'abc'[k % 3]},{rng.normal():.2f}" for k in range(TABLE_ROWS)]
    (folder / "nodes.csv").write_text("\n".join(["id,age,kind,x", *lines]) + "\n")
    return folder / "nodes.csv"


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """A file system of so many bytes."""
    place = folder / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        raise NotPossible(f"no file system can be mounted here: {mounted.stderr.strip()[:100]}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """No file of this process may grow beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, previous)


def _try_both(nodes: Path, target: Path) -> None:
    for arguments in (
        ["clean", nodes, "-o", target / "out", "--fix", "all"],
        ["corrupt", "digits", "--kind", "cells-outlier", "-o", target / "bad.npz"],
    ):
        before = tree(target)
        code, error = invoke(*arguments)
        hold(code == 1, f"exit code {code} on a full disk: {error[:200]}")
        hold(tree(target) == before, f"a full disk was left with {sorted(set(tree(target)) - set(before))[:3]}")


def check_full_disk(folder: Path, size: int) -> None:
    """A file system that is too small for what is to be written."""
    nodes = write_table(folder)
    with small_disk(folder, size) as disk:
        _try_both(nodes, disk)


def check_file_limit(folder: Path, size: int) -> None:
    """The same where the limit is one of the process, which needs no privileges."""
    nodes = write_table(folder)
    target = folder / "target"
    target.mkdir()
    with small_files(size):
        _try_both(nodes, target)
