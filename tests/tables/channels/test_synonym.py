"""Two codes for one value."""

from __future__ import annotations

import time

from magnet.tables.channels import synonym
from magnet.tables.coded import CodedTable
from magnet.tables.roles import infer_role


def better(texts: list[str]) -> dict[int, str | None]:
    table = CodedTable.of({"x": texts})
    table.columns[0].role = infer_role(table.columns[0], table)
    return {f.row: f.suggested for _, f in synonym.rewrite(table)}


def test_words_among_codes_and_codes_among_words() -> None:
    assert better([*["M", "F"] * 30, "Male", "Female", "male"]) == {60: "M", 61: "F", 62: "M"}
    assert better([*["Manual", "Automatic"] * 30, "Manu.", "Auto."]) == {60: "Manual", 61: "Automatic"}


def test_truth_values() -> None:
    assert better([*["Y", "N"] * 30, "1", "no", "TRUE"]) == {60: "Y", 61: "N", 62: "Y"}


def test_values_that_only_begin_alike_are_left_alone() -> None:
    assert better([*"ABC" * 30, "Absent", "Absent"]) == {}
    assert better([*["A", "B", "O"] * 30, *["AB"] * 5]) == {}
    assert better([*["Y", "N"] * 30, "unknown"]) == {}
    assert better([*["Indiana", "Indonesia"] * 30, "Ind", "Ind"]) == {}


def test_last_words() -> None:
    names = [f"{first}{last}" for first in ("Oak", "Elm", "Ash") for last in "abcdefghijklmnopqrstuvwxyzäöüß"]
    streets = [f"{name} {'Street' if k % 3 else 'Avenue'}" for k, name in enumerate(names)]
    assert better(streets) == {}
    few = [*streets, "7 Fir St.", "8 Fir Ave.", "9 Fir St. #4"]
    assert better(few) == {90: "7 Fir Street", 91: "8 Fir Avenue", 92: "9 Fir Street #4"}
    assert better([*streets, "7 Fir St.", "8 Fir St.", "9 Fir St."]) == {}  # one word only: the saint, the state
    assert better([*streets[:60], *(f"{name} St." for name in names[:30]), "7 Fir Ave."]) == {}  # too many
    assert better([*(f"the {name}" for name in names), *few[90:]]) == {}  # no few last words


def test_a_column_of_many_values_takes_no_time() -> None:
    began = time.process_time()
    assert better([f"value {k}" for k in range(20_000)]) == {}
    assert time.process_time() - began < 10  # comparing every two of them takes minutes
