"""Texts that are not what their column holds."""

from __future__ import annotations

import pytest

from magnet.tables.channels import unreadable
from magnet.tables.coded import CodedTable
from magnet.tables.posterior import judge_table
from magnet.tables.roles import infer_role

DAYS = [f"{1 + k % 12}/{1 + k % 28}/2017" for k in range(40)]
NUMBERS = [f"{12 + 7 * k % 90}.{k % 10}" for k in range(40)]


def odd(texts: list[str]) -> set[int]:
    table = CodedTable.of({"x": texts})
    table.columns[0].role = infer_role(table.columns[0], table)
    return {f.row for _, f in unreadable.audit(table)}


@pytest.mark.parametrize("text", ["2/28/217", "13/32/2017", "/28/2017", "soon"])
def test_what_is_no_date_is_found(text: str) -> None:
    assert odd([*DAYS, text]) == {40}


def test_a_date_that_does_not_exist_is_listed_in_a_table_without_other_errors() -> None:
    days = [*DAYS, "30/2/2017", "12/0/2017", *["31/4/2017"] * 3]
    verdict = judge_table({"day": days, "n": [str(17 * k % 40) for k in range(45)]})
    assert [(c.row, c.column, c.suggested, c.kind) for c in verdict.cells] == [
        (40, "day", None, "format"),
        (41, "day", None, "format"),
    ]


@pytest.mark.parametrize("text", ["1o3.5", "12O", "4..2", "many"])
def test_what_is_no_number_is_found(text: str) -> None:
    assert odd([*NUMBERS, text]) == {40}


def test_one_unreadable_number_is_listed_in_a_table_without_other_errors() -> None:
    verdict = judge_table(
        {"x": [*NUMBERS, "1o3.5", "40 (core), 51 (late)"], "n": [str(17 * k % 40) for k in range(42)]}
    )
    assert [c.row for c in verdict.cells] == [40]
    assert verdict.cells[0].confidence < 0.9  # a value that the column has is no more than a guess


@pytest.mark.parametrize(
    "more", [["<5"], ["40 (core), 51 (late)"], ["10-14"], ["90+"], ["n/a"], [""], ["12 kg"], ["varies"] * 3]
)
def test_numbers_said_in_another_way_and_texts_that_come_back_are_left_alone(more: list[str]) -> None:
    assert odd([*NUMBERS, *more]) == set()
