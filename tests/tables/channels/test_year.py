"""Years far from all others."""

from __future__ import annotations

from typing import Any

from magnet.tables.channels.year import audit

YEARS = [str(1960 + 7 * k % 61) for k in range(122)]


def test_impossible_years_are_found_and_two_digits_completed(found: Any) -> None:
    assert found(audit, {"year": YEARS}) == set()
    assert found(audit, {"year": [*YEARS, "3000", "1002", "98"]}) == {
        (122, 0, None),
        (123, 0, None),
        (124, 0, "1998"),
    }


def test_an_old_year_and_a_repeated_one_and_other_numbers_are_right(found: Any) -> None:
    assert found(audit, {"year": [*YEARS, "1921"]}) == set()
    assert found(audit, {"year": [*YEARS, "9999", "9999", "9999"]}) == set()
    assert found(audit, {"pages": [*map(str, range(100, 2000, 15)), "9000"]}) == set()
