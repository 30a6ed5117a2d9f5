"""Two values of a row exchanged between columns."""

from __future__ import annotations

from typing import Any

import pytest

from magnet.tables.channels.swapped import PRIOR_ROWS, RATE, rewrite

CITIES, LANDS = ["Ulm", "Bonn"] * 60, ["DE"] * 120


def test_values_at_home_in_the_other_column_are_exchanged(coded: Any, found: Any) -> None:
    columns = {"city": [*CITIES, "DE"], "land": [*LANDS, "Ulm"]}
    assert found(rewrite, columns) == {(120, 0, "Ulm"), (120, 1, "DE")}
    # DE is in 120 cells of land, Ulm in 60 of city, each once where it is; of 121 rows one is exchanged
    odds = (RATE * PRIOR_ROWS + 1) / (PRIOR_ROWS + 121) * (120 * 60) / (0.5 * 0.5)
    assert [f.probability for _, f in rewrite(coded(columns))] == pytest.approx([odds / (1 + odds)] * 2, rel=1e-3)


def test_values_that_both_columns_hold_are_left_alone(found: Any) -> None:
    assert found(rewrite, {"city": CITIES, "land": LANDS}) == set()
    assert found(rewrite, {"from": ["Ulm", "Bonn"] * 30, "to": ["Bonn", "Ulm"] * 30}) == set()


def test_several_exchanged_rows_show_more_of_them(coded: Any) -> None:
    """Names of which each is in few other rows: one exchanged row is no evidence, a dozen are."""
    given, family = [f"given{k % 60}" for k in range(600)], [f"family{k % 59}" for k in range(600)]

    def probability(count: int) -> float:
        columns = {"given": list(given), "family": list(family)}
        for row in range(3, 3 + 2 * count, 2):
            columns["given"][row], columns["family"][row] = family[row], given[row]
        return {f.row: f.probability for _, f in rewrite(coded(columns))}.get(3, 0.0)

    assert probability(1) == 0
    assert probability(12) > 0.6
