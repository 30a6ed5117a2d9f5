"""Several numbers of a column that are off by one power of ten."""

from __future__ import annotations

from typing import Any

import numpy as np

from magnet.tables.channels.power_of_ten import rewrite
from magnet.tables.options import DEFAULT

HEIGHTS = [str(k) for k in np.random.default_rng(0).integers(151, 199, size=80)]


def test_meters_among_centimeters_and_tenfold_numbers(found: Any) -> None:
    meters = ["1.78", "1.69", "1.83", "1.57"]
    assert found(rewrite, {"height": [*HEIGHTS, *meters]}) == {
        (80 + k, 0, text.replace(".", "")) for k, text in enumerate(meters)
    }
    assert found(rewrite, {"height": [*HEIGHTS, *(f"{k}0" for k in (178, 169, 183, 157))]}) == {
        (80 + k, 0, text.replace(".", "")) for k, text in enumerate(meters)
    }


def test_numbers_that_may_be_of_another_kind_are_left_alone(found: Any) -> None:
    assert found(rewrite, {"height": [*HEIGHTS, "1784", "1691", "1837", "1572"]}) == set()  # with digits of their own
    assert (
        found(rewrite, {"height": [*HEIGHTS, "1780", "1690", "1830", "1570", "2711", "4305"]}) == set()
    )  # and others beyond
    assert found(rewrite, {"height": [*HEIGHTS, *["1780"] * 5]}) == set()  # one number that repeats
    fines = [f"{k}" for k in (10, 20, 30, 40, 50, 60, 70, 80) for _ in range(10)]
    assert found(rewrite, {"fine": [*fines, "100", "200", "500", "400", "300"]}) == set()  # all are round
    assert found(rewrite, {"height": [*HEIGHTS, "1510", "1520", "1530", "1540", "1520", "1550"]}) == set()  # short only


def test_a_number_that_lost_digits_is_not_written(coded: Any) -> None:
    weights = [f"{50 + k * 0.7:.1f}" for k in range(60)]

    def confidence(odd: list[str]) -> float:
        return min(f.confidence for _, f in rewrite(coded({"weight": [*weights, *odd]})))

    assert confidence(["0.61", "0.87", "0.72", "0.66"]) < DEFAULT.change_from
    assert confidence(["0.613", "0.874", "0.721", "0.668"]) >= DEFAULT.change_from


def test_long_tails_of_rounded_numbers_are_left_alone(coded: Any) -> None:
    rng = np.random.default_rng(0)
    for size in (60, 300, 1000):
        for tail in (np.exp(rng.normal(1.6, 1.2, size)), 1 + rng.pareto(1.2, size), 10 ** rng.uniform(0, 2, size)):
            for digits in (1, 2, 3):  # significant ones
                numbers = [np.format_float_positional(float(f"{x:.{digits}g}"), trim="-") for x in tail]
                assert not list(rewrite(coded({"minutes": numbers})))


def test_two_kinds_of_records_are_not_overwritten(coded: Any) -> None:
    large = [f"{k}0" for k in np.random.default_rng(1).integers(151, 199, size=20)]
    assert all(f.confidence < DEFAULT.change_from for _, f in rewrite(coded({"height": [*HEIGHTS, *large]})))
