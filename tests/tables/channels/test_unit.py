"""Numbers with and without their unit."""

from __future__ import annotations

from typing import Any

import pytest

from magnet.tables.channels.unit import rewrite
from magnet.tables.options import DEFAULT

PRICES = [f"{900 + 7 * k}.50" for k in range(60)]
PAGES = [f"{90 + k} p." for k in range(30)]


@pytest.mark.parametrize(
    ("usual", "odd", "expected"),
    [
        ([f"0.0{k}" for k in range(1, 9)] * 2, ["0.05%"] * 3, ["0.05"] * 3),
        (PRICES, ["1234.50 EUR"], ["1234.50"]),
        (PAGES, ["95p", "101 pages", "99"], ["95 p.", "101 p.", "99 p."]),
        ([f"${1000 + 37 * k:,}" for k in range(30)], ["1234"], ["$1,234"]),
        ([f"{90 + k} min" for k in range(15)], ["1 hr. 30 min."], ["90 min"]),
    ],
    ids=["superfluous", "lone", "other writings", "lost currency", "duration"],
)
def test_numbers_take_the_writing_of_the_column(
    found: Any, usual: list[str], odd: list[str], expected: list[str]
) -> None:
    assert found(rewrite, {"x": usual + odd}) == {(len(usual) + k, 0, text) for k, text in enumerate(expected)}
    assert found(rewrite, {"x": usual}) == set()


def test_a_lone_unit_is_listed_but_not_written_and_house_numbers_have_none(coded: Any, found: Any) -> None:
    [(_, finding)] = rewrite(coded({"price": [*PRICES, "1234.50 EUR"]}))
    assert finding.probability >= DEFAULT.list_from
    assert finding.confidence < DEFAULT.change_from
    assert found(rewrite, {"house": [str(k) for k in range(1, 61)] + ["12b"]}) == set()


@pytest.mark.parametrize(
    "texts",
    [
        [f"{1 + k % 12:02d}/{2019 + k % 5}" for k in range(60)],
        [f"{2010 + k % 9}/{11 + k % 9}" for k in range(60)],
        [f"{k}{'ab'[k % 2] if k % 3 == 0 else ''}" for k in range(60)],
        [f"{1000 + k}C" for k in range(60)] + ["0022", "1022"],
        ["<5" if k % 5 == 0 else str(k) for k in range(60)],
        [f"{k % 7 + 1} {'mg' if k % 3 else 'mcg'}" for k in range(60)],
    ],
    ids=["months", "seasons", "house numbers", "codes", "bounds", "units"],
)
def test_what_only_looks_like_a_unit_is_left_alone(found: Any, texts: list[str]) -> None:
    assert found(rewrite, {"x": texts}) == set()


def test_numbers_of_another_size_keep_their_unit(coded: Any) -> None:
    weights = [str(300 + 7 * k) for k in range(60)] + ["0.45 kg", "1.2 kg", "0.7 kg"] * 3
    findings = [f for _, f in rewrite(coded({"grams": weights}))]
    assert len(findings) == 9
    assert max(f.confidence for f in findings) < DEFAULT.change_from


@pytest.mark.parametrize(("header", "written"), [("elevation_ft", True), ("elevation", True), ("elevation_m", False)])
def test_a_number_in_another_unit_than_the_header_names_is_not_bared(coded: Any, header: str, written: bool) -> None:
    found = list(
        rewrite(coded({header: [f"{90 + 7 * k}.5" for k in range(60)] + ["120.5 ft", "300.5 ft", "450.5 ft"]}))
    )
    assert len(found) == 3
    assert all((finding.confidence >= DEFAULT.change_from) == written for _, finding in found)


def test_a_number_that_stands_with_one_word_only_is_no_number_with_a_unit(coded: Any) -> None:
    serves = ["2", "4", "6", "8"] * 30
    lone = list(rewrite(coded({"serves": [*serves, *["12 pieces"] * 20]})))
    assert all(f.confidence < DEFAULT.change_from for _, f in lone)
    assert {
        f.suggested for _, f in rewrite(coded({"serves": [*serves, *["4 pieces"] * 20]})) if f.confidence > 0.9
    } == {"4"}


def test_hours_beside_minutes_of_less_than_an_hour_are_kept(found: Any) -> None:
    recipes = ["20 min", "45 min", "30 min", "1 h", "1 h 15 min"] * 10
    assert found(rewrite, {"time": recipes}) == set()
    assert len(found(rewrite, {"time": [*recipes, "90 min"]})) == 20
