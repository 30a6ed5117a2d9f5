"""Errors and warnings about unreadable data, as opposed to wrong arguments."""

from __future__ import annotations

import difflib
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


def listed(names: Iterable[object], near: str | None = None) -> str:
    """Names for a message; only the first of many, with a hint at the one that is spelled nearly like ``near``.

    Example:
        >>> listed(["id", "name"]), listed(range(14))[-21:]
        ("'id', 'name'", "'10', '11' and 2 more")
        >>> listed(["city", "zip"], near="citty")
        "'city', 'zip' (did you mean 'city'?)"
    """
    texts = [str(name) for name in names]
    more = f" and {len(texts) - SHOWN_NAMES} more" if len(texts) > SHOWN_NAMES else ""
    meant = difflib.get_close_matches(near, texts, n=1) if near else []
    hint = f" (did you mean {quoted(meant[0])}?)" if meant else ""
    return ", ".join(map(quoted, texts[:SHOWN_NAMES])) + more + hint
