"""Texts that are numbers, numbers with units, phones, or nothing."""

from __future__ import annotations

import pytest

from magnet.tables.roles.patterns import PHONE, UNIT_NUMBER, blank, decimal_commas, exchange_marks, number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((" 12 ", 12.0), ("-1,234.5", -1234.5), (".5", 0.5), ("2e3", 2000.0), ("1.", 1.0)),
        *(("1,23", None), ("1_000", None), ("inf", None), ("1e999", None), ("٣", None), ("", None), ("0x10", None)),
    ],
)
def test_numbers(text: str, value: float | None) -> None:
    assert number(text) == value


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("12 oz.", (None, "12", "oz.")),
        ("$1,250.75", ("$", "1,250.75", None)),
        ("USD 5", ("USD ", "5", None)),
        ("5 m/s", (None, "5", "m/s")),
        ("7%", (None, "7", "%")),
        ("src5", None),
        ("<5", None),
        ("5/8", None),
    ],
)
def test_numbers_with_units(text: str, parts: tuple[str | None, str, str | None] | None) -> None:
    match = UNIT_NUMBER.fullmatch(text)
    assert (match and match.group("before", "number", "after")) == parts


@pytest.mark.parametrize(("text", "phone"), [("(310) 246-1501", True), ("+1 310.246.1501 x12", True), ("12-34", False)])
def test_phones(text: str, phone: bool) -> None:
    assert (PHONE.fullmatch(text) is not None) == phone


def test_a_list_of_numbers_has_no_decimal_commas() -> None:
    assert decimal_commas({"3,14": 5, "2,7": 4})
    assert not decimal_commas({"3,14": 5, "1,2,3": 1})
    assert not decimal_commas({"3.14": 5, "8": 2})
    assert exchange_marks(exchange_marks("1.250,75")) == "1.250,75"


def test_only_white_space_is_blank() -> None:
    assert [blank(text) for text in ("", " \t", "-", "0")] == [True, True, False, False]
