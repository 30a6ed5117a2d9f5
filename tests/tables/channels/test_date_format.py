"""Dates and times that are not written like the others of their column."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from magnet.tables.channels.date_format import rewrite
from magnet.tables.options import DEFAULT
from magnet.tables.posterior import judge_table

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


def confidences(coded: Any, texts: list[str]) -> dict[str, tuple[str | None, float]]:
    table = coded({"when": texts})
    return {texts[f.row]: (f.suggested, f.confidence) for _, f in rewrite(table)}


def test_the_order_of_day_and_month_follows_from_the_other_dates(coded: Any) -> None:
    days = [f"2022-06-{1 + k % 9:02d}" for k in range(60)] + ["2021-06-03"]
    found = confidences(coded, [*days, *(f"{1 + k % 9:02d}/06/2022" for k in range(30))])
    assert found["03/06/2022"][0] == "2022-06-03"
    assert found["03/06/2022"][1] >= DEFAULT.change_from - 0.01
    spread = [f"20{10 + k % 10}-{1 + k % 12:02d}-{1 + 5 * k % 28:02d}" for k in range(60)]
    found = confidences(coded, [*spread, *["03/06/2015"] * 9])  # both readings are among the other dates
    assert found["03/06/2015"][1] < DEFAULT.change_from


def test_the_order_belongs_to_the_separator(coded: Any) -> None:
    dotted = [f"{d}.{m:02d}.2015" for d in range(13, 29) for m in (2, 11)]
    found = confidences(coded, [*DAYS * 6, *dotted, "04.03.2015"])
    assert found["04.03.2015"][0] == "3/4/2015"
    assert found["04.03.2015"][1] >= DEFAULT.change_from


def test_a_repeated_date_before_times_is_dropped_and_one_that_differs_is_kept(coded: Any) -> None:
    times = [f"{1 + k % 12}:{10 + k % 50} a.m." for k in range(60)]
    one_day = confidences(coded, [*times, *(f"12/02/2011 7:{10 + k} a.m." for k in range(20))])
    assert one_day["12/02/2011 7:15 a.m."] == ("7:15 a.m.", 0.95)
    days = confidences(coded, [*times, *(f"12/{k + 1:02d}/2011 7:{10 + k} a.m." for k in range(20))])
    assert days["12/06/2011 7:15 a.m."][1] < DEFAULT.change_from


@pytest.mark.parametrize("more", ["+1", " (+1)", " +1 day", " UTC", ".4"])
def test_what_belongs_to_a_time_is_not_dropped(more: str) -> None:
    times = [f"{k % 24:02d}:{7 * k % 60:02d}{more if k % 4 == 0 else ''}" for k in range(60)]
    assert judge_table({"arrival": times}).cells == []


def test_time_zones_are_not_exchanged() -> None:
    hours = pd.date_range("2023-01-01", periods=60, freq="146h", tz="Europe/Zurich")
    assert judge_table({"at": hours.astype(str).tolist(), "iso": [at.isoformat() for at in hours]}).cells == []


def test_no_seconds_are_made_up(coded: Any) -> None:
    def odd(seconds: int) -> float:
        usual = [f"2021-03-{1 + k % 28:02d} 10:{k % 60:02d}:{seconds * k % 60:02d}" for k in range(60)]
        return confidences(coded, [*usual, *["03/14/2021 10:20"] * 5])["03/14/2021 10:20"][1]

    assert odd(7) < DEFAULT.change_from <= odd(0)


def test_each_writing_is_dropped_for_itself(coded: Any) -> None:
    times = [f"{1 + k % 12}:{10 + k % 50} {'ap'[k % 2]}.m." for k in range(100)]
    writings = ("12/01/2011 {} a.", "Dec 1 - {}a", "{}aDec 1", "12/1/11 {} AM", "{} a.m. (Estimated)")
    odd = [text.format(f"7:{10 + k}") for text in writings for k in range(5)]
    found = confidences(coded, [*times, *odd])
    assert {text: (f"7:{10 + k % 5} a.m.", 0.95) for k, text in enumerate(odd)} == found


def test_days_before_months_with_a_clock_are_dates(found: Any) -> None:
    starts = [f"{1 + k % 28:02d}/{1 + k % 12:02d}/2021 {k % 24:02d}:{10 + k % 50}" for k in range(60)]
    assert found(rewrite, {"start": [*starts, "2021-03-18 13:28"]}) == {(60, 0, "18/03/2021 13:28")}


def test_months_in_capitals_are_written_in_capitals(found: Any) -> None:
    visits = [f"{1 + k % 28:02d}-{('JAN', 'MAY', 'SEP')[k % 3]}-2017" for k in range(60)]
    assert found(rewrite, {"visit": [*visits, "14/08/2017"]}) == {(60, 0, "14-AUG-2017")}
