"""Settings found by search: those of ``settings.toml`` beside this file, and those of a user's own file."""

from __future__ import annotations

import json
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from magnet.files import write_text

#: The settings shipped with the package; they are only read.
SHIPPED = Path(__file__).with_name("settings.toml")

Settings = dict[str, dict[str, dict[str, dict[str, Any]]]]


def tuned(method: str, dataset: str, corruption: str, path: Path | None = None) -> dict[str, Any]:
    """The settings for a method on a dataset: those found under this corruption, else those found with random rows
    injected, else those found on the clean data, else none.

    Args:
        method, dataset, corruption: names.
        path: a settings file that takes precedence over the one shipped with the package.
    """
    return dict(_entry(method, dataset, corruption, path)[1].get("settings", {}))


def tuned_under(method: str, dataset: str, corruption: str, path: Path | None = None) -> str:
    """The corruption under which :func:`tuned` finds settings, "" where it finds none."""
    return _entry(method, dataset, corruption, path)[0]


def _entry(method: str, dataset: str, corruption: str, path: Path | None) -> tuple[str, dict[str, Any]]:
    """The settings and the corruption they were found on: from the user's file, else from ours."""
    from magnet.experiments.methods import METHODS

    owner = (METHODS[method].settings_of if method in METHODS else "") or method
    places = (corruption, *(("inject-random",) if corruption != "none" else ()), "none")
    for file in (SHIPPED,) if path is None else (path, SHIPPED):
        entries = read(file).get(owner, {}).get(dataset, {})
        for place in places:
            if place in entries:
                return place, entries[place]
    return "", {}


def read(path: Path = SHIPPED) -> Settings:
    """A file of settings: ``{method: {dataset: {corruption: {"settings": {...}, other facts}}}}``; empty where there is
    none."""
    return _read(path, path.stat().st_mtime_ns) if path.is_file() else {}


@lru_cache(maxsize=8)
def _read(path: Path, changed: int) -> Settings:
    try:
        settings: Settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a file of settings: {error}") from None
    return settings


def write(settings: Settings, path: Path) -> None:
    """Write a file of settings as TOML, where numbers, strings, booleans and lists of them look as in JSON."""
    lines = ["# Settings found on validation accuracy by magnet.experiments.tuning.search; see results/table3.md.", ""]
    for method in sorted(settings):
        for dataset in sorted(settings[method]):
            for corruption, entry in sorted(settings[method][dataset].items()):
                place = f"{method}.{dataset}.{corruption}"
                facts = {name: value for name, value in entry.items() if name != "settings"}
                for head, values in ((place, facts), (f"{place}.settings", entry["settings"])):
                    lines += [f"[{head}]", *(f"{name} = {json.dumps(value)}" for name, value in values.items())]
                lines.append("")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, "\n".join(lines))
