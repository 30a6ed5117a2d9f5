"""Files on disk: the cache folder, writing that is complete or absent, checksums, and errors of damaged files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder() -> Path:
    """``$MAGNET_CACHE``, else ``magnet`` in the user's cache folder."""
    if own := os.environ.get("MAGNET_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "magnet"


@contextmanager
def complete_or_absent(path: Path) -> Iterator[Path]:
    """A name to write to; it becomes ``path`` when the block ends well, and disappears when it does not."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Turns whatever goes wrong while ``path`` is read into one clear error."""
    try:
        yield
    except (FileNotFoundError, PermissionError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, ValueError) and str(error).startswith("damaged file"):
            raise
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise ValueError(f"damaged file {path} ({reason}); replace it by the published one") from None
