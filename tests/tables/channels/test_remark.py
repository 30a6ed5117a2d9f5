"""Remarks behind values."""

from __future__ import annotations

from magnet.tables.channels import remark
from magnet.tables.coded import CodedTable
from magnet.tables.roles import infer_role

YEARS = [str(1980 + 7 * k % 31) for k in range(40)]
TOWNS = ["Ulm", "Bonn", "Kiel", "Mainz"] * 10


def bare(texts: list[str]) -> dict[int, str | None]:
    table = CodedTable.of({"x": texts})
    table.columns[0].role = infer_role(table.columns[0], table)
    return {f.row: f.suggested for _, f in remark.rewrite(table)}


def test_remarks_behind_numbers_and_dates_go_even_if_the_number_is_new() -> None:
    assert bare([*YEARS, "2040 (USA)", "1999 [2]", "1987 approx."]) == {40: "2040", 41: "1999", 42: "1987"}
    days = [f"{1 + k % 28} March 2015" for k in range(40)]
    assert bare([*days, *["4 May 2014 (UK)"] * 3]) == dict.fromkeys((40, 41, 42), "4 May 2014")


def test_a_remark_that_strikes_values_by_chance_goes() -> None:
    assert bare([*TOWNS, "Ulm *", "Kiel *", "Bonn *"]) == {40: "Ulm", 41: "Kiel", 42: "Bonn"}


def test_marks_and_labels_that_few_values_have_go() -> None:
    assert bare([*TOWNS * 2, "Ulm'", "Kiel'", "Bonn'"]) == {80: "Ulm", 81: "Kiel", 82: "Bonn"}
    assert bare([*YEARS * 2, "FY1987", "FY1994", "FY1980"]) == {80: "1987", 81: "1994", 82: "1980"}


def test_what_nearly_all_values_have_is_missing_elsewhere() -> None:
    assert bare([*(f"{t} County" for t in TOWNS * 2), "Ulm", "Kiel", "Bonn"]) == {
        80: "Ulm County",
        81: "Kiel County",
        82: "Bonn County",
    }


def test_affixes_that_mean_something_are_left_alone() -> None:
    jobs = ["Clerk", "Nurse", "Pilot", "Judge"] * 20
    assert bare([*jobs, "Senior Clerk", "Senior Nurse", "Senior Pilot"]) == {}
    assert bare([*"ABCD" * 20, "A+", "B+", "C+"]) == {}


def test_marks_that_are_a_scale_are_left_alone() -> None:
    numbers = [f"{k / 7:.3f}" for k in range(100)]
    assert bare([*numbers, *(f"{x}{mark}" for x in numbers[:4] for mark in ("*", "**"))]) == {}
    assert bare([*numbers, *(f"{x}*" for x in numbers[:40])]) == {}
    assert len(bare([*numbers, *(f"{x}*" for x in numbers[:8])])) == 8


def test_versions_and_remarks_that_gather_on_one_value_are_left_alone() -> None:
    assert bare([*TOWNS, *["Ulm (north)"] * 9]) == {}
    films = [f"Film {chr(65 + k)}" for k in range(26)]
    assert bare([*films, *(f"{name} (2009)" for name in films[:6])]) == {}
    assert bare([*TOWNS, "Ulm *"]) == {}


def test_a_mark_behind_both_values_of_a_column_goes() -> None:
    pay = ["<=50K", "<=50K", ">50K"] * 40
    assert bare([*pay, "<=50K.", "<=50K.", ">50K."]) == {120: "<=50K", 121: "<=50K", 122: ">50K"}
    assert bare([*pay, "<=50K.", "<=50K.", "<=50K."]) == {}  # one of both: a value of its own


def test_words_behind_words_say_something() -> None:
    assert bare([*TOWNS, "Ulm (closed)", "Kiel (closed)", "Bonn (closed)"]) == {}
    assert bare([*TOWNS, "Ulm (80-90%)", "Kiel (80-90%)", "Bonn (80-90%)"]) == {}


def test_a_letter_before_a_number_is_a_notation() -> None:
    """As in the years of a library: c1987 is a year of copyright."""
    assert bare([*YEARS * 2, "c1987", "c1994", "c1980"]) == {}
