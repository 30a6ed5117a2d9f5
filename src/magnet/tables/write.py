"""Writing results: the list of suspicious cells as CSV, and folders that are complete or absent."""

from __future__ import annotations

import csv
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

try:
    import fcntl
except ImportError:  # Windows has no such locks: there the folder of a killed run stays
    fcntl = None  # type: ignore[assignment]

_RUNS = ("=", "+", "-", "@", "\t", "\r", "\n")


def write_cells(cells: pd.DataFrame, path: Path) -> None:
    """Write suspicious cells as CSV. Numbers stay plain; text that a spreadsheet would run gets a leading ``'``."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(cells.columns)
        for line in zip(*(cells[name].tolist() for name in cells.columns), strict=True):
            writer.writerow([_cell(value) for value in line])


def _cell(value: Any) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating):
        number = float(value)
        return f"{number:.6g}" if abs(number) < 1e6 else repr(number)
    return harmless(str(value))


def harmless(text: str) -> str:
    """Text that a spreadsheet shows instead of running it.

    Example:
        >>> [harmless(text) for text in ("=1+1", "-12.5", "+49 30", "@sum", "plain", "-1e-3")]
        ["'=1+1", '-12.5', "'+49 30", "'@sum", 'plain', '-1e-3']
    """
    bare = text.lstrip(" ")
    if not bare.startswith(_RUNS):
        return text
    try:
        float(bare)
    except ValueError:
        return "'" + text
    return text


@contextmanager
def whole_folder(target: Path, force: bool = False) -> Iterator[Path]:
    """A folder to write into; its files appear in ``target`` when the block ends well, and vanish when it does not.

    A new ``target`` appears by a single renaming. In one that holds files already (``force``), each file is replaced by
    itself, and what else lies there stays. Until then it is a hidden folder beside ``target``; those that killed
    processes left there are removed.
    """
    check_target(target, force)
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_left_behind(target)
    work, lock = _locked_folder(target)
    try:
        yield work
        work.chmod(0o777 & ~_umask())
        if not target.exists() or not any(target.iterdir()):
            os.replace(work, target)
            return
        for path in sorted(work.iterdir()):
            os.replace(path, target / path.name)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def remove_left_behind(target: Path) -> None:
    """Remove unfinished folders for ``target`` whose process is gone.

    A process locks its folder, and the system takes the lock away when the process ends, however it ends: what can be
    locked belongs to nobody.
    """
    for path in target.parent.iterdir():
        if path.name.startswith(_prefix(target)) and path.name.endswith(".part") and not path.is_symlink():
            lock = _lock(path, wait=False)
            if lock is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(lock)


def _prefix(target: Path) -> str:
    return f".{target.name}.magnet-"


def _locked_folder(target: Path) -> tuple[Path, int | None]:
    """A new hidden folder beside ``target`` and its lock (None where there are no locks)."""
    while True:
        work = Path(tempfile.mkdtemp(prefix=_prefix(target), suffix=".part", dir=target.parent))
        lock = _lock(work, wait=True)
        if work.exists():
            return work, lock
        if lock is not None:  # another process took it for one left behind, before it was locked
            os.close(lock)


def _lock(folder: Path, wait: bool) -> int | None:
    """A lock on a folder, None where another process holds it or the file system has none."""
    if fcntl is None:
        return None
    descriptor = None
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if descriptor is not None:
            os.close(descriptor)
        return None
    return descriptor


def check_target(target: Path, force: bool = False) -> None:
    """Refuse a folder that cannot be written to, before the work begins."""
    if target.exists() and not target.is_dir():
        raise FileExistsError(errno.EEXIST, f"{target} is a file; a folder is needed")
    if target.exists() and any(target.iterdir()) and not force:
        raise FileExistsError(errno.EEXIST, f"{target} is not empty; --force replaces the files in it")
    base = target if target.exists() else next(p for p in target.absolute().parents if p.exists())
    if not base.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, f"{base} is a file; there can be no folder in it")
    if not os.access(base, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, f"{base} is read-only; choose another folder")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
