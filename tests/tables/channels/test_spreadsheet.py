"""What spreadsheets make of ranges and long numbers."""

from __future__ import annotations

import pytest

from magnet.tables.channels import spreadsheet
from magnet.tables.coded import CodedTable
from magnet.tables.findings import Finding
from magnet.tables.options import DEFAULT
from magnet.tables.roles import infer_role

PAGES = [f"{k}-{40 + 2 * k}" for k in range(1, 13)] + [f"{100 + k}-{120 + k}" for k in range(20)]


def found(texts: list[str]) -> dict[int, Finding]:
    table = CodedTable.of({"x": texts})
    table.columns[0].role = infer_role(table.columns[0], table)
    return {f.row: f for _, f in spreadsheet.rewrite(table)}


def test_a_month_among_ranges_becomes_the_range_that_the_column_makes_likely() -> None:
    findings = found([*PAGES, "Jan-45"])
    assert findings.keys() == {32}
    assert findings[32].suggested == "1-45"
    # 12 of the ranges start with a month's number and end beyond 12, none does the reverse: (12 + 1/2) / (12 + 1)
    assert findings[32].confidence == pytest.approx(12.5 / 13)
    backwards = [f"{40 + k}-{1 + k % 9}" for k in range(30)]
    assert found([*backwards, "Jun-70"])[30].suggested == "70-6"


def test_months_among_months_are_left_alone() -> None:
    assert found([f"{m}-{y}" for m in ("Jan", "Feb", "Mar") for y in range(10, 20)]) == {}


def test_an_exponent_among_numbers_that_are_written_out_is_found_but_not_certain() -> None:
    numbers = [str(1_000_003 + 7919 * k) for k in range(30)]
    findings = found([*numbers, "1.23E+06"])
    assert findings.keys() == {30}
    assert findings[30].suggested == "1230000"
    assert findings[30].confidence < DEFAULT.change_from


def test_exponents_of_numbers_too_small_or_too_large_to_be_written_out_are_right() -> None:
    assert found([*(f"0.{k:03d}" for k in range(1, 31)), "3.1e-07"]) == {}
    assert found([*map(str, range(30)), "6.02e+23"]) == {}
    assert found([f"{1 + k / 10:.2e}" for k in range(9)] + [f"{1.5 * 10.0**-k:.2e}" for k in range(30)]) == {}
