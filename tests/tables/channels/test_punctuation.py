"""The same letters and digits with other marks."""

from __future__ import annotations

from magnet.tables.channels import punctuation
from magnet.tables.coded import CodedTable
from magnet.tables.roles import infer_role

PHONES = [f"{310 + k % 3}-{200 + 7 * k}-{1000 + 13 * k}" for k in range(40)]
GENRES = ["Drama,Comedy", "Comedy,Action", "Action,Drama", "Horror,Drama"] * 10
JOURNALS = ["J. Clin. Med.", "Ann. Surg.", "Eur. Heart J.", "Acta Orthop."] * 10


def better(texts: list[str]) -> dict[int, str | None]:
    table = CodedTable.of({"x": texts})
    table.columns[0].role = infer_role(table.columns[0], table)
    return {f.row: f.suggested for _, f in punctuation.rewrite(table)}


def test_phones_take_the_frame_of_most() -> None:
    found = better([*PHONES, "310/246-1501", "311.555.0000", "(312) 777-8888", "3104445555"])
    assert found == {40: "310-246-1501", 41: "311-555-0000", 42: "312-777-8888", 43: "310-444-5555"}


def test_a_run_of_other_characters_is_no_lost_mark() -> None:
    assert better([f"{100 + 7 * k}-{400 + 7 * k}" for k in range(40)] + ["e12345", "123456"]) == {41: "123-456"}


def test_lists_take_the_separator_of_most_if_their_parts_are_known() -> None:
    found = better([*GENRES, "Comedy, Drama", "Action , Horror", "Drama, Horror", "Dram,a Horror"])
    assert found == {40: "Comedy,Drama", 41: "Action,Horror", 42: "Drama,Horror"}


def test_names_take_the_marks_of_the_frequent_text() -> None:
    found = better([*JOURNALS, "J Clin Med", "Eur Heart J"])
    assert found == {40: "J. Clin. Med.", 41: "Eur. Heart J."}


def test_words_in_another_order() -> None:
    assert better(["Ann Lee", "Bo King", "Cy Young"] * 10 + ["King, Bo"]) == {30: "Bo King"}
    assert better(["Paul Martin", "Martin Paul"] * 10) == {}
    assert better(["survey; registry"] * 30 + ["registry; survey"]) == {}


def test_marks_that_mean_something_are_left_alone() -> None:
    assert better(["A+", "A-", "A", "B+"] * 10 + ["B-"]) == {}
    assert better(["http://www.ulm.org"] * 40 + ["https://www.ulm.org/"]) == {}
    assert better(["version 1.5"] * 40 + ["version 15"]) == {}
    assert better([f"{k},{k + 100}" for k in range(100, 140)] + ["1, 5"]) == {}
