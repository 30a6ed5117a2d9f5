"""Settings found by search, kept in ``settings.toml`` beside this file."""

from __future__ import annotations

import copy
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("settings.toml")


def tuned(method: str, dataset: str, corruption: str, path: Path = PATH) -> dict[str, Any]:
    """The settings for a method on a dataset: those found under this corruption, else those found with random rows
    injected, else those found on the clean data, else none."""
    under = tuned_under(method, dataset, corruption, path)
    return dict(_of(method, dataset, path)[under].get("settings", {})) if under else {}


def tuned_under(method: str, dataset: str, corruption: str, path: Path = PATH) -> str:
    """The corruption under which :func:`tuned` finds settings, "" where it finds none."""
    places = (corruption, *(("inject-random",) if corruption != "none" else ()), "none")
    return next((place for place in places if place in _of(method, dataset, path)), "")


def _of(method: str, dataset: str, path: Path) -> dict[str, Any]:
    from magnet.experiments.methods import METHODS

    owner = (METHODS[method].settings_of if method in METHODS else "") or method
    found: dict[str, Any] = _read(path).get(owner, {}).get(dataset, {})
    return found


def read(path: Path = PATH) -> dict[str, Any]:
    """All of it: ``{method: {dataset: {corruption: {"settings": {...}, other facts}}}}``."""
    return copy.deepcopy(_read(path))


@lru_cache(maxsize=8)
def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def write(found: dict[str, dict[str, dict[str, dict[str, Any]]]], path: Path = PATH) -> None:
    """Write ``{method: {dataset: {corruption: {"settings": {...}, other facts}}}}`` as TOML."""
    lines = [
        "# Settings found on validation accuracy by magnet.experiments.search; see results/table3.md.",
        "",
    ]
    for method in sorted(found):
        for dataset in sorted(found[method]):
            for corruption, entry in sorted(found[method][dataset].items()):
                head = f"{method}.{dataset}.{corruption}"
                facts = {name: value for name, value in entry.items() if name != "settings"}
                lines += [f"[{head}]", *(f"{name} = {_value(value)}" for name, value in facts.items())]
                lines += [f"[{head}.settings]", *(f"{name} = {_value(v)}" for name, v in entry["settings"].items()), ""]
    path.write_text("\n".join(lines), encoding="utf-8")
    _read.cache_clear()


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(part) for part in value) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    raise ValueError(f"settings hold {value!r}; TOML takes numbers, words, truth values and lists of them")
