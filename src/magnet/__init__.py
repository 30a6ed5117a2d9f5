"""MAGnet: find and repair wrong values in the node attributes of a graph.

Submodules and the main names are imported on first use, so that ``import magnet`` and the command
line start fast.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_NAMES = {
    "CleanResult": "magnet.cleaner",
    "FrameletTransform": "magnet.framelets",
    "Graph": "magnet.graph",
    "MAGnet": "magnet.cleaner",
    "MAGnetClassifier": "magnet.classifier",
    "RecoveryResult": "magnet.recovery",
    "clean": "magnet.cleaner",
    "propagate": "magnet.recovery",
    "recover": "magnet.recovery",
}
_MODULES = (
    "corruption",
    "datasets",
    "experiments",
    "framelets",
    "graph",
    "nn",
    "prox",
    "recovery",
    "report",
    "tables",
    "transforms",
)

__all__ = ["__version__", *_NAMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"magnet.{name}")
    raise AttributeError(f"module 'magnet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
