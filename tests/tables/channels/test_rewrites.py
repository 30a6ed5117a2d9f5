"""Every rewrite and audit on a tiny table worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from magnet.tables.channels import (
    date_format,
    disguised_missing,
    encoding,
    id_pattern,
    missing_values,
    moved,
    number_format,
    swapped,
    unit,
)
from magnet.tables.channels.base import ColumnTest
from magnet.tables.coded import CodedTable
from magnet.tables.options import DEFAULT
from magnet.tables.roles import infer_role

Case = tuple[ColumnTest, dict[str, list[str]], set[tuple[int, int, str | None]]]
DAYS = [f"{1 + k % 12}/{13 + k % 15}/2015" for k in range(18)]
AGES = [str(20 + 7 * k % 31) for k in range(20)]
TOWNS = ["Ulm", "Bonn", "Kiel", "Mainz"]
CASES: dict[str, Case] = {
    "encoding": (encoding.rewrite, {"name": ["MÃ¼ller", "Meyer"]}, {(0, 0, "Müller")}),
    "missing": (disguised_missing.rewrite, {"age": [*map(str, range(20, 40)), "N/A"]}, {(20, 0, "")}),
    "sentinel": (
        disguised_missing.rewrite,
        {"age": [*AGES, "-999", "-999", "-999"]},
        {(k, 0, "") for k in (20, 21, 22)},
    ),
    "unit": (
        unit.rewrite,
        {"abv": [f"0.0{k}" for k in range(1, 9)] * 2 + ["0.05%"] * 3},
        {(k, 0, "0.05") for k in (16, 17, 18)},
    ),
    "lone unit": (
        unit.rewrite,
        {"price": [f"{900 + 7 * k}.50" for k in range(60)] + ["1234.50 EUR"]},
        {(60, 0, "1234.50")},
    ),
    "unit in another writing": (
        unit.rewrite,
        {"pages": [f"{90 + k} p." for k in range(30)] + ["95p", "101 pages", "99"]},
        {(30, 0, "95 p."), (31, 0, "101 p."), (32, 0, "99 p.")},
    ),
    "lost currency": (
        unit.rewrite,
        {"paid": [f"${1000 + 37 * k:,}" for k in range(30)] + ["1234"]},
        {(30, 0, "$1,234")},
    ),
    "duration": (unit.rewrite, {"runs": [f"{90 + k} min" for k in range(15)] + ["1 hr. 30 min."]}, {(15, 0, "90 min")}),
    "decimals": (number_format.rewrite, {"pay": [str(500 * k) for k in range(2, 22)] + ["7000.0"]}, {(20, 0, "7000")}),
    "decimal comma": (
        number_format.rewrite,
        {"price": [f"{900 + 7 * k}.50" for k in range(30)] + ["12,75", "1.234,50"]},
        {(30, 0, "12.75"), (31, 0, "1234.50")},
    ),
    "separators": (
        number_format.rewrite,
        {"votes": [f"{1000 + 37 * k:,}" for k in range(20)] + ["4321"]},
        {(20, 0, "4,321")},
    ),
    "zeros": (number_format.rewrite, {"zip": ["01234", "04567", "89012", "34567"] * 5 + ["1234"]}, {(20, 0, "01234")}),
    "dates": (
        date_format.rewrite,
        {"day": [*DAYS, *["2015-03-14"] * 3]},
        {(k, 0, "3/14/2015") for k in (18, 19, 20)},
    ),
    "hours without a zero": (
        date_format.rewrite,
        {"start": [f"{k % 24}:{10 + k % 50}" for k in range(72)] + ["07:15"]},
        {(72, 0, "7:15")},
    ),
    "moved": (
        moved.rewrite,
        {"city": ["Bend", "Salem", "Reno"] * 4 + ["Bend OR"] * 3, "state": ["OR", "OR", "NV"] * 4 + [""] * 3},
        {(k, 0, "Bend") for k in (12, 13, 14)} | {(k, 1, "OR") for k in (12, 13, 14)},
    ),
    "swapped": (
        swapped.rewrite,
        {"city": ["Ulm", "Bonn"] * 60 + ["DE"], "land": ["DE"] * 120 + ["Ulm"]},
        {(120, 0, "Ulm"), (120, 1, "DE")},
    ),
    "frame": (id_pattern.audit, {"key": [f"item-{100 + k}" for k in range(60)] + ["item-1234"]}, {(60, 0, None)}),
    "blanks": (
        missing_values.audit,
        {"zip": [str(k % 4) for k in range(40)], "town": [TOWNS[k % 4] if k != 6 else "" for k in range(40)]},
        {(6, 1, "Kiel")},
    ),
}


def judged(columns: dict[str, list[str]], test: ColumnTest) -> set[tuple[int, int, str | None]]:
    table = CodedTable.of(columns)
    for column in table.columns:
        column.role = infer_role(column, table)
    return {(f.row, j, f.suggested) for j, f in test(table)}


@pytest.mark.parametrize("name", list(CASES))
def test_what_is_wrong_is_found(name: str) -> None:
    test, columns, expected = CASES[name]
    assert judged(columns, test) == expected


@pytest.mark.parametrize("name", list(CASES))
def test_what_is_right_is_left_alone(name: str) -> None:
    test, columns, wrong = CASES[name]
    rows = {row for row, _, _ in wrong}
    kept = {c: [t for i, t in enumerate(texts) if i not in rows] for c, texts in columns.items()}
    assert judged(kept, test) == set()


def test_a_lone_unit_is_listed_but_not_written_and_house_numbers_have_none() -> None:
    table = CodedTable.of({"price": [f"{900 + 7 * k}.50" for k in range(60)] + ["1234.50 EUR"]})
    table.columns[0].role = infer_role(table.columns[0], table)
    [(_, finding)] = unit.rewrite(table)
    assert finding.probability >= DEFAULT.list_from
    assert finding.confidence < DEFAULT.change_from
    assert judged({"house": [str(k) for k in range(1, 61)] + ["12b"]}, unit.rewrite) == set()


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
def test_what_only_looks_like_a_unit_is_left_alone(texts: list[str]) -> None:
    assert judged({"x": texts}, unit.rewrite) == set()


def test_numbers_of_another_size_keep_their_unit() -> None:
    table = CodedTable.of({"grams": [str(300 + 7 * k) for k in range(60)] + ["0.45 kg", "1.2 kg", "0.7 kg"] * 3})
    table.columns[0].role = infer_role(table.columns[0], table)
    found = [f for _, f in unit.rewrite(table)]
    assert len(found) == 9
    assert max(f.confidence for f in found) < DEFAULT.change_from


def test_a_code_that_reads_like_a_missing_value_is_a_code() -> None:
    assert judged({"land": ["DE", "FR", "NA", "US"] * 10}, disguised_missing.rewrite) == set()
    assert judged({"pay": [*map(str, range(20, 40)), "NA"]}, disguised_missing.rewrite) == {(20, 0, "")}
    assert judged({"pay": [f"{k}.5" for k in range(9)] * 3 + ["NaN"]}, disguised_missing.rewrite) == {(27, 0, "")}


def test_blanks_at_one_rate_that_nothing_explains_are_lost_values() -> None:
    rng = np.random.default_rng(1)
    columns = {name: [f"{x:.3f}" for x in rng.normal(size=300)] for name in "abcd"}
    lost = {(int(i), j) for j in range(3) for i in rng.choice(300, size=15, replace=False)}
    for i, j in lost:
        columns["abcd"[j]][i] = ""
    assert judged(columns, missing_values.audit) == {(i, j, None) for i, j in lost}


def test_blanks_that_come_together_or_in_one_column_only_are_optional() -> None:
    rng = np.random.default_rng(0)
    columns = {name: [f"{x:.3f}" for x in rng.normal(size=300)] for name in "abcd"}
    for i in rng.choice(300, size=15, replace=False):
        for name in "abc":
            columns[name][i] = ""
    assert judged(columns, missing_values.audit) == set()
    columns = {name: [f"{x:.3f}" for x in rng.normal(size=300)] for name in "abcd"}
    for i in rng.choice(300, size=15, replace=False):
        columns["a"][i] = ""
    assert judged(columns, missing_values.audit) == set()
