"""Errors and warnings about unreadable data, as opposed to wrong arguments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class BadTable(ValueError):
    """The data cannot be read as a graph with a table (whereas a plain ``ValueError`` blames an argument)."""


class TableWarning(UserWarning):
    """Something about a table or its edges that a user should know, though it was read."""


@contextmanager
def readable(path: Path, form: str) -> Iterator[None]:
    """Turn any exception of a parser of ``form`` into a :class:`BadTable` of one sentence: damaged files raise all
    kinds."""
    try:
        yield
    except (BadTable, FileNotFoundError, PermissionError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise BadTable(f"{path} cannot be read as {form}: {reason}") from None
