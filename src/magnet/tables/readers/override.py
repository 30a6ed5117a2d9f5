"""The schema file: what a user says about columns that were guessed wrongly."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from magnet.tables.fields import KINDS


def read_override(path: Path) -> dict[str, Any]:
    """Read a schema file.

    ::

        missing = ["", "NA", "-999"]        # text that means "missing", in every column
        [columns]
        income = "continuous"               # binary, count, continuous, categorical; the rest is left alone
        zip = "categorical"
        remarks = "text"
        visits = { kind = "count", log = false, missing = ["-1"] }
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from None
    unknown = set(content) - {"columns", "missing"}
    if unknown:
        raise ValueError(f"{path} holds {sorted(unknown)[0]!r}; it may hold 'columns' and 'missing'")
    words_of(content.get("missing"), f"{path}: missing")
    if not isinstance(content.get("columns", {}), dict):
        raise ValueError(f"{path}: columns must be a table of column names and kinds")
    columns = {}
    for name, told in content.get("columns", {}).items():
        entry = {"kind": told} if isinstance(told, str) else told
        if not isinstance(entry, dict) or set(entry) - {"kind", "log", "decimals", "missing"}:
            raise ValueError(f"{path}: column {name!r} takes a kind, or a table of kind, log, decimals, missing")
        if entry.get("kind", "text") not in KINDS:
            raise ValueError(
                f"{path}: column {name!r} has kind {entry['kind']!r}; it must be one of {', '.join(KINDS)}"
            )
        words_of(entry.get("missing"), f"{path}: column {name!r}: missing")
        decimals = entry.get("decimals", 0)
        if isinstance(decimals, bool) or not isinstance(decimals, int) or not 0 <= decimals <= 15:
            raise ValueError(f"{path}: column {name!r} has decimals {decimals!r}; they are whole and from 0 to 15")
        columns[name] = entry
    return {"columns": columns, "missing": content.get("missing")}


def words_of(words: Any, where: str = "missing") -> tuple[str, ...]:
    if words is None:
        return ()
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError(f'{where} is {words!r}; it must be a list of texts, such as ["", "NA"]')
    return tuple(word.strip().lower() for word in words)
