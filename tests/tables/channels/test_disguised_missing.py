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


def test_not_applicable_is_a_level_of_a_category_and_is_not_written(coded: Any, found: Any) -> None:
    colors = ["black", "white", "olive", "black", "white", "n/a", "red", "black", "white", "blue"] * 10
    lone = ["black", "white", "olive", "red"] * 50 + ["n/a"]
    confidence = {f.confidence for _, f in rewrite(coded({"color": colors, "id": [f"p{k * 7}" for k in range(100)]}))}
    assert 0 < max(confidence) < DEFAULT.change_from
    assert all(f.confidence >= DEFAULT.change_from for _, f in rewrite(coded({"color": lone})))
    goods = ["cable" if c == "n/a" else "shirt" for c in colors]
    assert found(rewrite, {"color": colors, "goods": goods}) == set()  # cables have no color
