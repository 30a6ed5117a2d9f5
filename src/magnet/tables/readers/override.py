"""The schema file: the user's corrections of inferred column kinds."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from magnet.tables.fields import KINDS
from magnet.tables.rules import Rule

ENTRIES = {"kind", "log", "decimals", "missing", "pattern", "min", "max"}


def read_override(path: Path) -> dict[str, Any]:
    """Read a schema file.

    ::

        missing = ["", "NA", "-999"]        # text that means "missing", in every column
        [columns]
        income = "continuous"               # binary, count, continuous, categorical; the rest is left alone
        zip = "categorical"
        remarks = "text"
        visits = { kind = "count", log = false, missing = ["-1"] }
        phone = { pattern = "[0-9]{3}-[0-9]{4}" }     # a regular expression that every cell matches
        age = { min = 0, max = 120 }                  # bounds of a number

    Before ``[columns]`` there may be ``rules = ["zip -> city"]``: equal zips have equal cities.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from None
    unknown = set(content) - {"columns", "missing", "rules"}
    if unknown:
        raise ValueError(f"{path} holds {sorted(unknown)[0]!r}; it may hold 'columns', 'missing' and 'rules'")
    rules: list[str | Rule] = list(texts_of(content.get("rules"), f"{path}: rules"))
    words_of(content.get("missing"), f"{path}: missing")
    if not isinstance(content.get("columns", {}), dict):
        raise ValueError(f"{path}: columns must be a table of column names and kinds")
    columns = {}
    for name, given in content.get("columns", {}).items():
        entry = {"kind": given} if isinstance(given, str) else given
        if not isinstance(entry, dict) or set(entry) - ENTRIES:
            raise ValueError(f"{path}: column {name!r} takes a kind, or a table of {', '.join(sorted(ENTRIES))}")
        if entry.get("kind", "text") not in KINDS:
            raise ValueError(
                f"{path}: column {name!r} has kind {entry['kind']!r}; it must be one of {', '.join(KINDS)}"
            )
        words_of(entry.get("missing"), f"{path}: column {name!r}: missing")
        decimals = entry.get("decimals", 0)
        if isinstance(decimals, bool) or not isinstance(decimals, int) or not 0 <= decimals <= 15:
            raise ValueError(f"{path}: column {name!r} has decimals {decimals!r}; it must be an integer from 0 to 15")
        rules += _rules_of(name, entry, f"{path}: column {name!r}")
        columns[name] = entry
    return {"columns": columns, "missing": content.get("missing"), "rules": rules}


def _rules_of(column: str, entry: dict[str, Any], where: str) -> list[Rule]:
    """The pattern and the range that an entry gives for a column."""
    found = []
    pattern = entry.get("pattern")
    if pattern is not None:
        try:
            re.compile(pattern)
        except (re.error, TypeError, RecursionError, OverflowError) as error:
            raise ValueError(f"{where}: pattern {pattern!r} is not a valid regular expression ({error})") from None
        found.append(Rule(column, pattern=pattern))
    bounds = [entry.get(name) for name in ("min", "max")]
    if any(b is not None and (isinstance(b, bool) or not isinstance(b, int | float)) for b in bounds):
        raise ValueError(f"{where}: min and max must be numbers")
    if any(b is not None for b in bounds):
        found.append(Rule(column, low=bounds[0], high=bounds[1]))
    return found


def texts_of(texts: Any, where: str) -> list[str]:
    """A list of strings of a schema file, empty if missing."""
    if not isinstance(texts, list | None) or not all(isinstance(text, str) for text in texts or ()):
        raise ValueError(f"{where} is {texts!r}; it must be a list of strings")
    return texts or []


def words_of(words: Any, where: str = "missing") -> tuple[str, ...]:
    """Texts that mean "missing", in lower case."""
    return tuple(word.strip().lower() for word in texts_of(words, where))
