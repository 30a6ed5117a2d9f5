import pytest

from magnet.tables.roles.dates import Moment, day_number, parse_moment, write_moment


@pytest.mark.parametrize(
    ("text", "date", "time"),
    [
        ("2021-02-28", (2021, 2, 28), None),
        ("2021-28-02", (2021, 2, 28), None),
        ("2/28/2021", (2021, 2, 28), None),
        ("28 Feb 2021", (2021, 2, 28), None),
        ("28-FEB-2021", (2021, 2, 28), None),
        ("February 28, 2021", (2021, 2, 28), None),
        ("20210228", (2021, 2, 28), None),
        ("7:10 p.m.", None, (19, 10, 0)),
        ("0:30", None, (0, 30, 0)),
        ("00:30", None, (0, 30, 0)),
        ("12:05 a.m.", None, (0, 5, 0)),
        ("12/02/2011 7:10 a.m.", (2011, 12, 2), (7, 10, 0)),
        ("2023/08/08 04:00:00+00", (2023, 8, 8), (4, 0, 0)),
    ],
)
def test_read_and_write_back(text: str, date: tuple[int, ...] | None, time: tuple[int, ...] | None) -> None:
    parsed = parse_moment(text)
    assert parsed is not None
    moment, style = parsed
    assert moment == Moment(date, time)  # type: ignore[arg-type]
    assert write_moment(moment, style) == text


@pytest.mark.parametrize("text", ["2021-02-30", "13/32/2020", "25:10", "12345", "-12.2020", "2020.12", "hello", ""])
def test_what_is_no_moment(text: str) -> None:
    assert parse_moment(text) is None


def test_day_first() -> None:
    parsed = parse_moment("28/2/2021", day_first=True)
    assert parsed is not None
    assert parsed[0].date == (2021, 2, 28)
    assert parse_moment("28/2/2021") is None
    assert parse_moment("28/2/2021 7:10") is None
    assert day_number("4/3/2021", day_first=True) == day_number("2021-03-04")
