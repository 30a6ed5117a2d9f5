"""The paper's numbers, for comparison: ``paper.csv``, one line a number."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True)
class PaperValue:
    """A number in the paper (NaN: the paper reports that memory ran out), and its deviation if there is one."""

    value: float
    std: float


@cache
def _lines() -> list[dict[str, str]]:
    with resources.files("magnet.experiments.exhibits").joinpath("paper.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def printed(exhibit: str, quantity: str, **where: object) -> PaperValue | None:
    """What the paper prints for a quantity in one of its tables or figures, None where it prints nothing.

    Args:
        exhibit: ``"table1"``, ``"fig-image"`` ...
        quantity: ``"accuracy"`` (percent), ``"relative"`` ...
        where: ``setting``, ``dataset``, ``method``, ``p``, ``q``.

    Example:
        >>> printed("table1", "accuracy", setting="injection", dataset="cora", method="magnet-gae").value
        79.07
        >>> printed("table2", "accuracy", setting="injection", dataset="cora", method="magnet-gae", p=1, q=2).value
        76.81
        >>> printed("table1", "accuracy", setting="injection", dataset="cora", method="mlp") is None
        True
    """
    wanted = {"exhibit": exhibit, "quantity": quantity, **{name: _text(value) for name, value in where.items()}}
    for line in _lines():
        if all(line[name] == value for name, value in wanted.items()):
            missing = float("nan")
            value = missing if line["value"] == "OOM" else float(line["value"])
            return PaperValue(value, float(line["std"]) if line["std"] else missing)
    return None


def search_space() -> dict[str, str]:
    """Table 3 of the paper: its choices for each setting."""
    return {line["quantity"]: line["value"] for line in _lines() if line["exhibit"] == "table3"}


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)
