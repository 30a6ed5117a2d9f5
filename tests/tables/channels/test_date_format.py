"""Dates and times that are not written like the others of their column."""

from __future__ import annotations

from typing import Any

from magnet.tables.channels.date_format import rewrite
from magnet.tables.options import DEFAULT

DAYS = [f"{1 + k % 12}/{13 + k % 15}/2015" for k in range(18)]
HOURS = [f"{k % 24}:{10 + k % 50}" for k in range(72)]


def test_dates_and_times_take_the_writing_of_the_majority(found: Any) -> None:
    assert found(rewrite, {"day": [*DAYS, *["2015-03-14"] * 3]}) == {(k, 0, "3/14/2015") for k in (18, 19, 20)}
    assert found(rewrite, {"start": [*HOURS, "07:15"]}) == {(72, 0, "7:15")}


def test_one_writing_is_left_alone(found: Any) -> None:
    assert found(rewrite, {"day": DAYS}) == set()
    assert found(rewrite, {"start": HOURS}) == set()


def test_a_date_that_can_be_read_in_two_ways_is_not_written(coded: Any) -> None:
    def confidence(odd: str) -> float:
        return min(f.confidence for _, f in rewrite(coded({"day": [*DAYS, *[odd] * 3]})))

    assert confidence("3.4.2015") < DEFAULT.change_from <= confidence("2015-03-04")
