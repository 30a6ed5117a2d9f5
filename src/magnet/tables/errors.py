"""Errors and warnings about unreadable data, as opposed to wrong arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

SHOWN_CHARACTERS, SHOWN_NAMES, SHOWN_REASON = 60, 12, 200  # of texts, lists and reasons in a message


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
        reason = " ".join(str(error).split())[:SHOWN_REASON] or type(error).__name__
        raise BadTable(f"{path} cannot be read as {form}: {reason}") from None


def quoted(value: object) -> str:
    """A value in quotation marks for a message; only the beginning of a long one."""
    text = str(value)
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…")


def listed(names: Iterable[object]) -> str:
    """Names for a message; only the first of many.

    Example:
        >>> listed(["id", "name"]), listed(range(14))[-21:]
        ("'id', 'name'", "'10', '11' and 2 more")
    """
    shown = [quoted(name) for name in names]
    more = f" and {len(shown) - SHOWN_NAMES} more" if len(shown) > SHOWN_NAMES else ""
    return ", ".join(shown[:SHOWN_NAMES]) + more
