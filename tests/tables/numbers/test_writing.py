"""Numbers in the writing of their column."""

from decimal import Decimal

from magnet.tables.numbers import read_numbers, written_like


def test_decimals_separators_and_large_integers_stay() -> None:
    assert written_like(Decimal("3.14159"), ["1.50", "2.25"]) == "3.14"
    assert written_like(Decimal("0.125"), ["1.5", "2.2"], exact=True) == "0.125"
    assert written_like(Decimal("12345678901234567890"), ["5", "70"]) == "12345678901234567890"
    assert written_like(Decimal("1234567"), ["1,000", "25,000"]) == "1,234,567"
    assert written_like(Decimal("-0.001"), ["1.5", "2.2"]) == "0.0"


def test_reading_is_the_reverse() -> None:
    assert read_numbers(["1,234,567", "0.125"]).tolist() == [1234567.0, 0.125]
