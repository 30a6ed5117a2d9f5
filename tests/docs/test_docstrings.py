"""Every argument of what users call has an entry of its own."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from magnet import prox
from magnet.detection.registry import DETECTORS

ROOT = Path(__file__).resolve().parents[2]
# parameters that say nothing to a user of the function
SILENT = {"self", "cls"}


def named(path: str) -> Any:
    """What the API page calls ``detection.make``."""
    parts = path.split(".")
    for cut in range(len(parts), -1, -1):
        try:
            found = importlib.import_module(".".join(["magnet", *parts[:cut]]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise AssertionError(path)


def listed() -> Iterator[tuple[str, Any]]:
    """What the API page lists, the detectors and the proximal maps."""
    for path in re.findall(r"^   ([\w.]+)$", (ROOT / "docs/api.md").read_text(encoding="utf-8"), re.M):
        if not inspect.ismodule(found := named(path)):
            yield path, found
    yield from ((f"detector {name}", found) for name, found in DETECTORS.items() if inspect.isclass(found))
    for name, found in vars(prox).items():
        if inspect.isfunction(found) and found.__module__ == prox.__name__ and not name.startswith(("_", "check")):
            yield f"prox.{name}", found


def entries(text: str) -> list[str]:
    """The names in front of the colons of an ``Args`` section."""
    found = re.search(r"^( *)Args:\n((?:\1 +.*\n?|\n)*)", inspect.cleandoc(text), re.M)
    if found is None:
        return []
    lines = [line for line in found[2].splitlines() if re.match(rf"{found[1]}    \S", line)]
    return [line.split(":")[0].strip() for line in lines]


def documented(kind: Any) -> list[str]:
    """Entries of a callable; a class may leave what it inherits to its parents, a function what all of them take to
    its module."""
    parents = inspect.getmro(kind) if inspect.isclass(kind) else (kind, inspect.getmodule(kind))
    ours = [parent for parent in parents if inspect.ismodule(parent) or parent.__module__.startswith("magnet")]
    return [name for parent in ours for name in entries(parent.__doc__ or "")]


@pytest.mark.parametrize(("name", "found"), list(listed()), ids=lambda value: value if isinstance(value, str) else "")
def test_every_argument_has_an_entry(name: str, found: Any) -> None:
    wanted = set(inspect.signature(found).parameters) - SILENT
    missing = wanted - set(documented(found))
    assert not missing, f"{name} does not say what {sorted(missing)} are"


def test_no_entry_of_a_public_module_documents_two_arguments() -> None:
    grouped = []
    for name, found in listed():
        methods = [v for k, v in vars(found).items() if inspect.isfunction(v) and not k.startswith("_")]
        for part in (found, *(methods if inspect.isclass(found) else ())):
            grouped += [f"{name}: {entry}" for entry in entries(part.__doc__ or "") if "," in entry]
    assert grouped == []
