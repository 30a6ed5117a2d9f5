"""Numbers that are not written like the others of their column."""

from __future__ import annotations

from typing import Any

import pytest

from magnet.tables.channels.number_format import rewrite


@pytest.mark.parametrize(
    ("name", "usual", "odd", "expected"),
    [
        ("pay", [str(500 * k) for k in range(2, 22)], ["7000.0"], ["7000"]),
        ("price", [f"{900 + 7 * k}.50" for k in range(30)], ["12,75", "1.234,50"], ["12.75", "1234.50"]),
        ("votes", [f"{1000 + 37 * k:,}" for k in range(20)], ["4321"], ["4,321"]),
        ("votes", [str(1000 + 37 * k) for k in range(20)], ["4,321"], ["4321"]),
        ("zip", ["01234", "04567", "89012", "34567"] * 5, ["1234"], ["01234"]),
    ],
    ids=["decimals", "decimal comma", "separator lost", "separator added", "leading zero"],
)
def test_numbers_take_the_writing_of_the_majority(
    found: Any, name: str, usual: list[str], odd: list[str], expected: list[str]
) -> None:
    assert found(rewrite, {name: usual + odd}) == {(len(usual) + k, 0, text) for k, text in enumerate(expected)}
    assert found(rewrite, {name: usual}) == set()


def test_three_decimals_and_thousands_cannot_be_told_apart(found: Any) -> None:
    assert found(rewrite, {"price": [f"{9 + k}.75" for k in range(30)] + ["1,234"]}) == set()
