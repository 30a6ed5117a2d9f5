"""Experiments: one row of any table (:func:`run_one`), many rows at once (:func:`run_many`), tables and figures."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["run_many", "run_one"]


def __getattr__(name: str) -> Any:
    # on first use: the store and its workers start without loading the networks
    if name in __all__:
        return getattr(importlib.import_module("magnet.experiments.protocol.run"), name)
    raise AttributeError(f"module 'magnet.experiments' has no attribute {name!r}")
