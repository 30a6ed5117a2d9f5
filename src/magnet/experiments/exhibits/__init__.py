"""The paper's tables and figures. To add one: an entry of ``EXHIBITS`` in a file, and its name here."""

from __future__ import annotations

import importlib

from magnet.experiments.exhibits.base import Document, Exhibit, Options, Results

#: Name and the module that has it in ``EXHIBITS``, in the order of ``all``.
MODULES = {
    "table1": "table1",
    "table2": "table2",
    "table3": "table3",
    "table4": "table4",
    "table5": "table5",
    "table6": "improvement",
    "table7": "improvement",
    "fig-sparsity": "fig_detection",
    "fig-level": "fig_accuracy",
    "fig-loss": "fig_accuracy",
    "fig-cells": "fig_cells",
    "fig-errors": "fig_detection",
    "fig-image": "fig_image",
}

__all__ = ["MODULES", "Document", "Exhibit", "Options", "Results", "get"]


def get(name: str) -> Exhibit:
    """The exhibit of that name."""
    if name not in MODULES:
        raise ValueError(f"unknown exhibit {name!r}; choose from {', '.join(MODULES)}, all")
    module = importlib.import_module(f"magnet.experiments.exhibits.{MODULES[name]}")
    found: dict[str, Exhibit] = {exhibit.name: exhibit for exhibit in module.EXHIBITS}
    return found[name]
