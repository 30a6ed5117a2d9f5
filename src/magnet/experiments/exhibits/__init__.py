"""The paper's tables and figures. To add one: a file with ``EXHIBIT``, and its name here."""

from __future__ import annotations

import importlib

from magnet.experiments.exhibits.base import Document, Exhibit, Options, Results

#: Name and the module that has it, in the order of ``all``.
MODULES = {
    "table1": "table1",
    "table2": "table2",
    "table3": "table3",
    "table4": "table4",
    "table5": "table5",
    "table6": "table6",
    "table7": "table7",
    "fig-sparsity": "fig_sparsity",
    "fig-level": "fig_level",
    "fig-loss": "fig_loss",
    "fig-cells": "fig_cells",
    "fig-errors": "fig_errors",
    "fig-image": "fig_image",
}

__all__ = ["MODULES", "Document", "Exhibit", "Options", "Results", "get"]


def get(name: str) -> Exhibit:
    """The exhibit of that name."""
    if name not in MODULES:
        raise ValueError(f"there is no exhibit {name!r}; there are {', '.join(MODULES)} and all")
    module = importlib.import_module(f"magnet.experiments.exhibits.{MODULES[name]}")
    found: Exhibit = module.EXHIBIT
    return found
