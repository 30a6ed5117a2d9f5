"""Values written behind those of another column."""

from __future__ import annotations

from typing import Any

from magnet.tables.channels.moved import rewrite

CITIES, STATES = ["Bend", "Salem", "Reno"] * 4, ["OR", "OR", "NV"] * 4


def test_a_value_behind_another_returns_to_its_blank_cell(found: Any) -> None:
    columns = {"city": CITIES + ["Bend OR"] * 3, "state": STATES + [""] * 3}
    expected = {(k, 0, "Bend") for k in (12, 13, 14)} | {(k, 1, "OR") for k in (12, 13, 14)}
    assert found(rewrite, columns) == expected


def test_filled_cells_and_endings_that_belong_to_the_text_are_left_alone(found: Any) -> None:
    assert found(rewrite, {"city": CITIES, "state": STATES}) == set()
    named = [f"{city} {state}" for city, state in zip(CITIES, STATES, strict=True)]
    assert found(rewrite, {"city": named + ["Bend OR"] * 3, "state": STATES + [""] * 3}) == set()
