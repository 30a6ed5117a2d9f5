"""Two values of a row exchanged between columns."""

from __future__ import annotations

from typing import Any

import pytest

from magnet.tables.channels.swapped import RATE, rewrite

CITIES, LANDS = ["Ulm", "Bonn"] * 60, ["DE"] * 120


def test_values_at_home_in_the_other_column_are_exchanged(coded: Any, found: Any) -> None:
    columns = {"city": [*CITIES, "DE"], "land": [*LANDS, "Ulm"]}
    assert found(rewrite, columns) == {(120, 0, "Ulm"), (120, 1, "DE")}
    odds = RATE * (120 * 60) / (0.5 * 0.5)  # DE is in 120 cells of land, Ulm in 60 of city, each once where it is
    assert [f.probability for _, f in rewrite(coded(columns))] == pytest.approx([odds / (1 + odds)] * 2)


def test_values_that_both_columns_hold_are_left_alone(found: Any) -> None:
    assert found(rewrite, {"city": CITIES, "land": LANDS}) == set()
    assert found(rewrite, {"from": ["Ulm", "Bonn"] * 30, "to": ["Bonn", "Ulm"] * 30}) == set()
