"""The posterior of the cells of one column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from magnet.tables.channels.typo import Typo
from magnet.tables.findings import Finding
from magnet.tables.mixture import GUESSED, ColumnModel
from magnet.tables.options import DEFAULT


def model(coded: Any, columns: dict[str, list[str]], position: int = 0) -> ColumnModel:
    return ColumnModel(coded(columns), position, options=DEFAULT, typo=Typo(), rate=DEFAULT.typo_rate)


TOWNS = ["boaz", "dothan", "florence", "sheffield"] * 20


def test_a_misspelling_is_repaired_and_taught(coded: Any) -> None:
    judged = model(coded, {"town": [*TOWNS, "dothxn"]}).judge()
    finding = judged.findings[80]
    assert (finding.suggested, finding.kind) == ("dothan", "typo")
    assert finding.probability > 0.9
    assert judged.repairs.keys() == {80}
    assert judged.lessons == [("dothxn", "dothan")]
    assert judged.misspelled == pytest.approx(1, abs=0.2)
    assert judged.identifiable == 80  # the misspelling itself stands alone


def test_a_clean_column_has_nothing_to_find(coded: Any) -> None:
    judged = model(coded, {"town": TOWNS}).judge()
    assert judged.repairs == {}
    assert judged.misspelled < 0.01
    assert all(finding.probability < 0.5 for finding in judged.findings.values())


def test_a_trusted_cell_is_neither_repaired_nor_taught(coded: Any) -> None:
    table = coded({"town": [*TOWNS, "dothxn"]})
    table.trusted = np.ones((81, 1), dtype=bool)
    judged = ColumnModel(table, 0, options=DEFAULT, typo=Typo(), rate=DEFAULT.typo_rate).judge()
    assert judged.repairs == {}
    assert judged.lessons == []


def test_numbers_one_digit_apart_are_no_misspellings(coded: Any) -> None:
    rooms = [f"room {k}" for k in range(100, 140)] * 3
    assert model(coded, {"room": [*rooms, "room 141"]}).judge().repairs == {}


def test_days_that_repeat_by_chance_are_no_corrections_of_days_close_to_them(coded: Any) -> None:
    """Among 1300 of 11000 days, digits of many are exchanged; the day that stands in three rows is one of them."""
    rng = np.random.default_rng(5)
    days = [str(d).replace("-", "") for d in np.datetime64("1990-01-01") + rng.integers(0, 11_000, 1300)]
    days += ["19940116"] * 3 + ["19941016"]
    judged = model(coded, {"started": days}).judge()
    assert all(finding.probability < 0.5 for finding in judged.findings.values())


def test_contexts_of_the_same_groups_count_twice_at_most(coded: Any) -> None:
    """The size of a bottle is not confirmed by three names of its brewery; the code of a brewery is."""
    brewery = [k // 20 for k in range(400)]
    size = ["12" if k % 3 else "16" for k in brewery]
    size[5] = "12"
    id_, name, city, code = ([f"{letter}{k}" for k in brewery] for letter in "abdc")
    code[5] = "c7"

    def confidence(column: list[str], *contexts: list[str]) -> float:
        columns = {"judged": column} | {f"context {k}": texts for k, texts in enumerate(contexts)}
        return model(coded, columns).judge().findings[5].confidence

    assert confidence(size, id_) + 0.1 < confidence(size, id_, name) < DEFAULT.change_from
    assert confidence(size, id_, name, city) == pytest.approx(confidence(size, id_, name), abs=0.02)
    assert confidence(code, id_, name, city) > max(DEFAULT.change_from, confidence(code, id_, name))


def test_a_value_with_more_words_is_listed_and_not_written(coded: Any) -> None:
    """The same artist with a guest is an exception like any other one, but more is known about it."""

    def found(observed: str) -> Finding:
        columns = {"artist": [*TOWNS * 2, observed], "band": [*TOWNS * 2, "boaz"], "label": [*TOWNS * 2, "boaz"]}
        return model(coded, columns).judge().findings[160]

    other, more = found("florence"), found("boaz grand")
    assert more.probability > 0.5
    assert more.suggested == "boaz"
    assert more.confidence <= GUESSED < other.confidence


def odd_ones(coded: Any, columns: dict[str, list[str]], worst_rate: float) -> set[str]:
    """Texts of the first column that are listed."""
    table = coded(columns)
    column = ColumnModel(table, 0, options=DEFAULT, typo=Typo(), rate=DEFAULT.rate_floor, worst_rate=worst_rate)
    found = column.judge().findings.items()
    return {table.columns[0].values[table.columns[0].read[row]] for row, f in found if f.probability >= 0.5}


def test_exceptions_that_are_more_frequent_than_errors_are_genuine(coded: Any) -> None:
    """Every department has its manager, who has two, but in some rows it is the manager of another one."""
    few, many = TOWNS * 10, TOWNS * 10
    department = [f"{k % 8} of {town}" for k, town in enumerate(few)]
    for texts, count in ((few, 8), (many, 40)):
        for k in range(count):  # as many in each department
            texts[37 * k % 800] = TOWNS[(k + 1) % 4]
    assert odd_ones(coded, {"manager": few, "department": department}, DEFAULT.rate_floor)
    assert not odd_ones(coded, {"manager": many, "department": department}, DEFAULT.rate_floor)
    assert odd_ones(coded, {"manager": many, "department": department}, 0.1)
    code = [f"of {town}" for town in TOWNS * 10]  # a name and its code are one to one
    assert odd_ones(coded, {"manager": many, "code": code}, DEFAULT.rate_floor)


def test_a_value_that_stands_for_several_others_is_one_of_its_own(coded: Any) -> None:
    building, department = [*TOWNS * 4], [f"of {town}" for town in TOWNS * 4]
    for k in (10, 101, 203, 304):
        building[k] = "home"
    assert odd_ones(coded, {"building": building, "department": department}, 1.0) == set()
    building[101], building[203], building[304] = "barn", "cellar", "attic"
    found = odd_ones(coded, {"building": building, "department": department}, 1.0)
    assert found == {"home", "barn", "cellar", "attic"}
