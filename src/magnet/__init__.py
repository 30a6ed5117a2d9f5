"""MAGnet: find and repair wrong values in tables and in the node attributes of graphs.

Submodules and the main names are imported on first use, so that ``import magnet`` and the command line start fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what type checkers and editors see; at run time __getattr__ imports the same names
    from magnet import (
        corruption,
        datasets,
        detection,
        experiments,
        framelets,
        graph,
        nn,
        prox,
        recovery,
        report,
        tables,
        transforms,
    )
    from magnet.classifier import MAGnetClassifier
    from magnet.clean_result import CleanResult, clean
    from magnet.estimator import MAGnet
    from magnet.framelets import FrameletTransform
    from magnet.graph import Graph
    from magnet.recovery import RecoveryResult, propagate
    from magnet.recovery.recover import recover

__version__ = "0.1.0"

__all__ = [
    "CleanResult",
    "FrameletTransform",
    "Graph",
    "MAGnet",
    "MAGnetClassifier",
    "RecoveryResult",
    "__version__",
    "clean",
    "corruption",
    "datasets",
    "detection",
    "experiments",
    "framelets",
    "graph",
    "nn",
    "propagate",
    "prox",
    "recover",
    "recovery",
    "report",
    "tables",
    "transforms",
]

# The module each name outside a submodule of the same name comes from.
_ORIGINS = {
    "CleanResult": "magnet.clean_result",
    "FrameletTransform": "magnet.framelets",
    "Graph": "magnet.graph",
    "MAGnet": "magnet.estimator",
    "MAGnetClassifier": "magnet.classifier",
    "RecoveryResult": "magnet.recovery",
    "clean": "magnet.clean_result",
    "propagate": "magnet.recovery",
    "recover": "magnet.recovery",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'magnet' has no attribute {name!r}")
    if name in _ORIGINS:
        return getattr(importlib.import_module(_ORIGINS[name]), name)
    return importlib.import_module(f"magnet.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)
