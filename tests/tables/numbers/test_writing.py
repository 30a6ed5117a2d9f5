"""Numbers in the writing of their column."""

from decimal import Decimal

from magnet.tables.numbers import NumberStyle, read_numbers


def test_decimals_separators_and_large_integers_stay() -> None:
    assert NumberStyle.of(["1.50", "2.25"]).write(Decimal("3.14159")) == "3.14"
    assert NumberStyle.of(["1.5", "2.2"]).write(Decimal("0.125"), exact=True) == "0.125"
    assert NumberStyle.of(["5", "70"]).write(Decimal("12345678901234567890")) == "12345678901234567890"
    assert NumberStyle.of(["1,000", "25,000"]).write(Decimal(1234567)) == "1,234,567"
    assert NumberStyle.of(["1.5", "2.2"]).write(Decimal("-0.001")) == "0.0"


def test_decimals_beyond_what_is_known_are_left_out() -> None:
    assert NumberStyle(6, False).write(Decimal("1234.567891"), width=25.0) == "1234.6"


def test_reading_is_the_reverse() -> None:
    assert read_numbers(["1,234,567", "0.125"]).tolist() == [1234567.0, 0.125]


def test_plus_signs_are_written_where_the_column_writes_them() -> None:
    style = NumberStyle.of(["+1.2", "-0.3", "+0.4"])
    assert (style.write(Decimal("1.1")), style.write(Decimal("-1.1")), style.write(Decimal("0"))) == (
        "+1.1",
        "-1.1",
        "0.0",
    )
    assert NumberStyle.of(["1.2", "2.5", "-0.3", "+0.4"]).write(Decimal("1.1")) == "1.1"
