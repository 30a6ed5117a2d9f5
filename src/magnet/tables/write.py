"""Writing results: the list of suspicious cells as CSV, and folders that are complete or absent."""

from __future__ import annotations

import csv
import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from magnet.files import PART, locked_part, named_in_errors, remove_left_behind, umask
from magnet.tables.values import cell_text, is_null

MEASURES = ("score", "probability")  # columns of the list that are ours; six digits are enough for them
# at the start of a cell, or of what a spreadsheet takes for one when it cuts at another mark
_RUNS = re.compile(r"(^|[;,\t\r\n])([ ]*[=+\-@\t\r])")


def write_cells(cells: pd.DataFrame, path: Path) -> None:
    """Write suspicious cells as CSV. Numbers stay plain; text that a spreadsheet would run gets a leading ``'``."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([harmless(str(name)) for name in cells.columns])
        for line in zip(*(_words(cells[name], str(name) in MEASURES) for name in cells.columns), strict=True):
            writer.writerow(line)


def _words(column: pd.Series, measure: bool) -> list[str]:
    if measure:
        return ["" if is_null(value) else f"{float(value):.6g}" for value in column]
    return [harmless(cell_text(value)) for value in column]


def harmless(text: str) -> str:
    """Text that a spreadsheet shows instead of running it, also where it cuts cells at another mark than a comma.

    Example:
        >>> [harmless(text) for text in ("=1+1", "-12.5", "+49 30", "@sum", "plain", "-1e-3", "a;=1+1", "1,5")]
        ["'=1+1", '-12.5', "'+49 30", "'@sum", 'plain', '-1e-3', "a;'=1+1", '1,5']
    """
    if not _RUNS.search(text) or _is_number(text.strip(" ")):
        return text
    return _RUNS.sub(r"\1'\2", text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@contextmanager
def whole_folder(target: Path, force: bool = False) -> Iterator[Path]:
    """A folder to write into; its files appear in ``target`` when the block ends well, and vanish when it does not.

    A new ``target`` appears by a single renaming. In one that holds files already (``force``), or that cannot be
    renamed (a mount point), each file is moved by itself, and what else lies there stays. Until then the files are in a
    hidden folder beside ``target`` or, where they could not be moved from there, in it.
    """
    target = Path(os.path.realpath(target))
    check_target(target, force)
    target.parent.mkdir(parents=True, exist_ok=True)
    inside = _needs_work_inside(target)
    work, locked = locked_part(target.name, target if inside else target.parent, _new_folder)
    try:
        with named_in_errors(target):
            yield work
        work.chmod(0o777 & ~umask())
        if inside or (force and target.exists() and _others(target)):
            _move_files(work, target, force)
        else:
            _rename(work, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        if locked is not None:
            os.close(locked)


def _needs_work_inside(target: Path) -> bool:
    """Whether a folder beside ``target`` could not become it: other file system, parent read-only, or in use."""
    if not target.exists():
        return False
    parent = target.parent
    return (
        os.path.ismount(target)
        or target.stat().st_dev != parent.stat().st_dev
        or not os.access(parent, os.W_OK | os.X_OK)
    )


def _rename(work: Path, target: Path) -> None:
    try:
        os.replace(work, target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise FileExistsError(
                errno.EEXIST, f"{target} was filled by another process meanwhile; nothing was written"
            ) from None
        if error.errno not in (errno.EBUSY, errno.EXDEV, errno.EPERM, errno.EACCES) or not target.exists():
            raise
        _move_files(work, target, force=False)


def _move_files(work: Path, target: Path, force: bool) -> None:
    files = sorted(work.iterdir())
    taken = next((path.name for path in files if (target / path.name).exists()), None)
    if taken is not None and not force:
        raise FileExistsError(errno.EEXIST, f"{target / taken} appeared meanwhile; nothing was written")
    for path in files:
        os.replace(path, target / path.name)


def _new_folder(prefix: str, place: Path) -> str:
    return tempfile.mkdtemp(prefix=prefix, suffix=PART, dir=place)


def _others(target: Path) -> list[Path]:
    """The content of a folder except temporary files."""
    return [path for path in target.iterdir() if not (path.name.startswith(".") and path.name.endswith(PART))]


def check_target(target: Path, force: bool = False) -> None:
    """Refuse a folder that cannot be written to, before the work begins; remove what killed runs left for it."""
    target = Path(os.path.realpath(target))
    remove_left_behind(target.parent, target.name)
    if target.exists() and not target.is_dir():
        raise FileExistsError(errno.EEXIST, f"{target} is a file; a folder is needed")
    if target.exists():
        remove_left_behind(target, target.name)
    if target.exists() and _others(target) and not force:
        raise FileExistsError(errno.EEXIST, f"{target} is not empty; --force replaces the files in it")
    base = target if target.exists() else next(p for p in target.absolute().parents if p.exists())
    if not base.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, f"{base} is a file; there can be no folder in it")
    if not os.access(base, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, f"{base} is read-only; choose another folder")
