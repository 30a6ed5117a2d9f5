"""Columns that should be constant."""

from magnet.tables import posterior
from magnet.tables.channels import constant
from magnet.tables.coded import CodedTable
from magnet.tables.options import DEFAULT
from magnet.tables.roles import infer_role


def _found(columns: dict[str, list[str]]) -> set[tuple[int, int]]:
    table = CodedTable.of(columns)
    for column in table.columns:
        column.role = infer_role(column, table)
    return {(finding.row, j) for j, finding in constant.rewrite(table)}


def test_scattered_exceptions_are_wrong() -> None:
    code = ["35"] * 80
    for row, value in zip(range(0, 80, 7), (17, 22, 28, 30, 41, 44, 50, 51, 19, 62, 39, 12), strict=True):
        code[row] = str(value)
    names = [f"n{k}" for k in range(80)]
    assert _found({"name": names, "code": code}) == {(row, 1) for row in range(0, 80, 7)}
    found = posterior.judge_table({"name": names, "code": code})
    assert {c.suggested for c in found.cells if c.column == "code"} == {"35"}


def test_exceptions_that_another_column_explains_are_genuine() -> None:
    kind = ["main" if k % 7 else "side" for k in range(80)]
    code = ["35" if k % 7 else str(20 + k // 2) for k in range(80)]
    assert not _found({"kind": kind, "code": code})


def test_floors_second_states_and_zeros_are_genuine() -> None:
    tail = [str(40 + 3 * k) for k in range(15)]
    assert not _found({"x": ["35"] * 65 + tail})  # all on one side
    assert not _found({"x": ["35"] * 65 + ["20"] * 10 + ["50", "51", "52", "60", "61"]})  # 20 is another state
    assert not _found({"x": ["0"] * 65 + [str(k) for k in range(-7, 9) if k]})  # nothing happened


def test_a_third_of_a_column_is_no_scatter_of_errors() -> None:
    values = [20 + k for k in range(30)] + [51 + k for k in range(30)]  # on both sides of 50, none repeated
    order = [(37 * k) % 180 for k in range(180)]
    few, many = (["50"] * (180 - n) + [str(v) for v in values[:: 60 // n]] for n in (30, 60))
    assert len(_found({"x": [few[k] for k in order]})) == 30
    assert not _found({"x": [many[k] for k in order]})


def test_too_few_exceptions_to_compare_with_other_numbers_are_not_overwritten() -> None:
    """Seven of sixty rows differ, which says nothing about whether the year explains them."""
    for count, written in ((7, False), (12, True)):
        ratio = ["1.3"] * 60
        for k, row in enumerate(range(3, 60, 60 // count)[:count]):
            ratio[row] = f"{(0.4, 0.9, 1.1, 1.7, 2.2, 3.9, 5.2, 0.6, 0.8, 2.8, 1.9, 0.7)[k]}"
        table = CodedTable.of({"year": [str(1990 + 7 * k % 31) for k in range(60)], "ratio": ratio})
        for column in table.columns:
            column.role = infer_role(column, table)
        findings = [finding for _, finding in constant.rewrite(table)]
        assert len(findings) == count
        assert all((finding.confidence >= DEFAULT.change_from) == written for finding in findings)
