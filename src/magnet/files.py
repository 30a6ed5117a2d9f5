"""Files on disk: the cache folder, writing that is complete or absent, checksums, and errors of damaged files."""

from __future__ import annotations

import glob
import hashlib
import os
import pickle
import shutil
import signal
import struct
import tempfile
import threading
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks: there the unfinished work of a killed process stays
    fcntl = None  # type: ignore[assignment]

PART = ".part"
#: What readers raise where the content of a file is not what it should be. Any other exception (``AttributeError``,
#: ``NameError``, ``AssertionError`` ...) is an error in the code.
CONTENT_ERRORS = (
    *(ValueError, TypeError, LookupError, ArithmeticError, RuntimeError, OSError, EOFError, SyntaxError),
    *(pickle.UnpicklingError, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
LONGEST_NAME = 200  # bytes; longer names are replaced by a hash, since file systems allow 255 and a prefix is added


def cache_folder() -> Path:
    """``$MAGNET_CACHE``, else ``magnet`` in the user's cache folder."""
    if folder := os.environ.get("MAGNET_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "magnet"


@contextmanager
def complete_or_absent(path: Path) -> Iterator[Path]:
    """A temporary file to write to: it is renamed to ``path`` if the block succeeds, and removed if it fails.

    It is hidden and beside ``path``; files that killed processes left there are removed.
    """
    remove_left_behind(path.parent, path.name)
    part, locked = locked_part(path.name, path.parent, _new_file)
    try:
        part.chmod(0o666 & ~umask())
        with named_in_errors(path):
            yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
        if locked is not None:
            os.close(locked)


@contextmanager
def named_in_errors(path: Path) -> Iterator[None]:
    """Let an error of writing that names no file, such as that of a full disk, name ``path``."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """While the body runs, SIGTERM raises ``SystemExit(143)``, so that unfinished files are removed and workers ended
    on the way out. Outside the main thread, where signals cannot be handled, nothing changes."""

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with complete_or_absent(path) as part:
        part.write_text(text, encoding="utf-8", errors="replace", newline="")


def locked_part(name: str, folder: Path, make: Callable[[str, Path], str]) -> tuple[Path, int | None]:
    """A new hidden file or folder in ``folder``, in which ``name`` is prepared, and its lock (or None)."""
    while True:
        part = Path(make(part_prefix(name), folder))
        locked = lock(part, wait=True)
        if part.exists():
            return part, locked
        if locked is not None:  # before it was locked, another process removed it as one left behind
            os.close(locked)


def _new_file(prefix: str, folder: Path) -> str:
    handle, name = tempfile.mkstemp(prefix=prefix, suffix=PART, dir=folder)
    os.close(handle)
    return name


def remove_left_behind(folder: Path, name: str) -> None:
    """Remove what unfinished processes left in ``folder`` for a file or folder called ``name``.

    A process locks its temporary files, and the system releases the lock when the process ends in any way: a file that
    can be locked is abandoned.
    """
    if not folder.is_dir():
        return
    for path in folder.glob(f"{glob.escape(part_prefix(name))}*{PART}"):
        if path.is_symlink():
            continue
        locked = lock(path)
        if locked is not None:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            os.close(locked)


def part_prefix(name: str) -> str:
    """The prefix of temporary files for a file or folder."""
    if len(name.encode()) > LONGEST_NAME:  # a longer name with a prefix would exceed the limit
        name = hashlib.sha256(name.encode()).hexdigest()[:32]
    return f".{name}.magnet-"


def lock(path: Path, wait: bool = False) -> int | None:
    """A descriptor that holds a lock on a file or folder; None where another process holds it, or none can be had."""
    if fcntl is None:
        return None
    descriptor = None
    try:
        descriptor = os.open(path, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if descriptor is not None:
            os.close(descriptor)
        return None
    return descriptor


def umask() -> int:
    """The file mode mask of the process."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def refuse_overwriting(inputs: Iterable[Path | None], targets: Iterable[Path]) -> None:
    """Raise a ``ValueError`` where something that is to be written is one of the inputs, also through links."""
    read = [path for path in inputs if path is not None and path.exists()]
    for target in targets:
        for path in read:
            if target.exists() and target.samefile(path):
                raise ValueError(f"{target} is an input ({path}) and would be overwritten; choose another output")


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def package_version(name: str) -> str | None:
    """The version of an installed package, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


class OtherContent(ValueError):
    """A file is intact, but does not hold what was asked for."""


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Turn an error about the content of ``path`` into one clear message, with the error as its cause."""
    try:
        yield
    except (FileNotFoundError, PermissionError, OtherContent):
        raise
    except CONTENT_ERRORS as error:
        if isinstance(error, ValueError) and str(error).startswith("damaged file"):
            raise
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise ValueError(f"damaged file {path} ({reason}); replace it by an intact copy") from error
