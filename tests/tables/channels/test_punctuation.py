"""The same letters and digits with other marks."""

from __future__ import annotations

from typing import Any

from magnet.tables.channels import punctuation
from magnet.tables.channels.punctuation import rewrite
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


def test_a_word_as_long_as_two_is_no_lost_hyphen() -> None:
    assert better(["Part-Time", "Full-Time"] * 20 + ["Seasonal"]) == {}


def test_lists_take_the_separator_of_most_if_their_parts_are_known() -> None:
    found = better([*GENRES, "Comedy, Drama", "Action , Horror", "Drama, Horror", "Dram,a Horror"])
    assert found == {40: "Comedy,Drama", 41: "Action,Horror", 42: "Drama,Horror"}


def test_names_take_the_marks_of_the_frequent_text() -> None:
    found = better([*JOURNALS, "J Clin Med", "Eur Heart J"])
    assert found == {40: "J. Clin. Med.", 41: "Eur. Heart J."}


def test_an_ampersand_is_the_word() -> None:
    names = ["Drawings and Prints", "Greek and Roman Art", "Photographs"] * 20
    assert better([*names, "Drawings & Prints", "R&D"]) == {60: "Drawings and Prints"}


def test_signs_between_short_names_mean_something() -> None:
    skills = ["Excel, C++, Java", "Excel, SQL, Java", "Python"] * 20
    assert better([*skills, "Excel, C#, Java", "Excel, C, Java"]) == {}


def test_names_with_longer_numbers_may_be_joined_in_another_way() -> None:
    cars = [f"A{k}" for k in range(1, 9)] * 20
    assert better([*cars, "A 180", "A 200", "A 200", "A 220"]) == {}
    assert better([*cars, "A 9"]) == {160: "A9"}


def test_words_in_another_order() -> None:
    assert better(["Ann Lee", "Bo King", "Cy Young"] * 10 + ["King, Bo"]) == {30: "Bo King"}
    assert better(["Paul Martin", "Martin Paul"] * 10) == {}
    assert better(["survey; registry"] * 30 + ["registry; survey"]) == {}


def test_marks_that_mean_something_are_left_alone() -> None:
    assert better(["A+", "A-", "A", "B+"] * 10 + ["B-"]) == {}
    assert better(["http://www.ulm.org"] * 40 + ["https://www.ulm.org/"]) == {}
    assert better(["version 1.5"] * 40 + ["version 15"]) == {}
    assert better([f"{k},{k + 100}" for k in range(100, 140)] + ["1, 5"]) == {}


def test_runs_are_joined_as_in_nearly_all_texts_of_the_same_words(found: Any) -> None:
    sizes = [f"{12 + k}.{k % 10} x {7 + k % 5}.5 cm" for k in range(40)]
    assert found(rewrite, {"size": [*sizes, "31.4x8.5 cm"]}) == {(40, 0, "31.4 x 8.5 cm")}
    marks = [f"{1 + k % 9}:{k % 60:02d}.{7 * k % 100:02d}" for k in range(30)] + [
        f"{6 + k % 40}.{k}" for k in range(10, 70)
    ]
    assert found(rewrite, {"mark": [*marks, "4:03,70", "7,11"]}) == {(90, 0, "4:03.70"), (91, 0, "7.11")}
    events = ["200 m", "High jump", "Shot put"] * 30
    assert found(rewrite, {"event": [*events, "200m", "200m", "200m"]}) == {(k, 0, "200 m") for k in (90, 91, 92)}


def test_marks_between_numbers_that_mean_something_else_are_kept(found: Any) -> None:
    sizes = [f"{k}.5" for k in range(40)] + ["low", "high"] * 20
    assert found(rewrite, {"size": [*sizes, "10-12", "3/4", "7:30"]}) == set()


def test_a_long_number_with_hyphens_is_written_like_the_others(found: Any) -> None:
    plain = [str(9780000000000 + 7919 * k) for k in range(60)]
    assert found(rewrite, {"isbn": [*plain, "978-0-306-40615-7"]}) == {(60, 0, "9780306406157")}


def test_lists_of_the_same_parts_in_another_order_are_left_alone() -> None:
    assert better(["English,French"] * 40 + ["Drama,Crime"] * 30 + ["French,English", "Crime, Drama"]) == {
        71: "Crime,Drama"
    }


def test_spaces_around_marks_follow_the_majority() -> None:
    pages = [f"{100 + 7 * k}-{105 + 7 * k}" for k in range(60)]
    spaced = [f"{900 + 9 * k} - {912 + 9 * k}" for k in range(20)]
    assert better([*pages, *spaced]) == {60 + k: text.replace(" - ", "-") for k, text in enumerate(spaced)}
    assert better([*pages[:20], *spaced]) == {}


def test_a_sign_is_no_punctuation(found: Any) -> None:
    west = [f"-{100 + k % 9} {10 + 7 * k % 50} 30.000" for k in range(50)]
    assert found(rewrite, {"longitude": [*west, "103 52 30.000", "104 41 30.000", "105 07 30.000"]}) == set()
