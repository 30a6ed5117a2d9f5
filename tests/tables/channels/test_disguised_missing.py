"""Texts and numbers that stand for a missing value."""

from __future__ import annotations

from typing import Any

import pytest

from magnet.tables.channels.disguised_missing import rewrite
from magnet.tables.options import DEFAULT

AGES = [str(20 + 7 * k % 31) for k in range(20)]


def test_words_and_repeated_impossible_numbers_become_blanks(found: Any) -> None:
    assert found(rewrite, {"age": [*map(str, range(20, 40)), "N/A"]}) == {(20, 0, "")}
    assert found(rewrite, {"age": [*AGES, "-999", "-999", "-999"]}) == {(k, 0, "") for k in (20, 21, 22)}
    assert found(rewrite, {"pay": [f"{k}.5" for k in range(9)] * 3 + ["NaN"]}) == {(27, 0, "")}


def test_ages_and_a_number_within_the_range_of_the_others_are_left_alone(found: Any) -> None:
    assert found(rewrite, {"age": AGES}) == set()
    assert found(rewrite, {"price": [*map(str, range(80, 110)), "99", "99", "99"]}) == set()


@pytest.mark.parametrize(("column", "row"), [("land", None), ("pay", 20)])
def test_a_code_that_reads_like_a_missing_value_is_a_code(found: Any, column: str, row: int | None) -> None:
    texts = ["DE", "FR", "NA", "US"] * 10 if column == "land" else [*map(str, range(20, 40)), "NA"]
    assert found(rewrite, {column: texts}) == (set() if row is None else {(row, 0, "")})


def test_a_mark_is_written_as_a_blank_only_where_the_column_is_optional(coded: Any) -> None:
    def confidence(texts: list[str]) -> float:
        [(_, finding)] = rewrite(coded({"age": texts}))
        return float(finding.confidence)

    assert confidence([*AGES, "***"]) < DEFAULT.change_from <= confidence([*AGES, *[""] * 10, "***"])
