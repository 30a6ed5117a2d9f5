"""One column of numbers."""

from __future__ import annotations

import numpy as np
import pytest

from magnet.tables.numbers.columns import ColumnVerdict, NumberColumn
from magnet.tables.numbers.errors import FACTORS, FAR, WrongDensity
from magnet.tables.options import UNSURE


def column(x: np.ndarray, step: float = 0.01) -> NumberColumn | str:
    return NumberColumn.of(x, step, np.zeros(len(x)), additive=False, name="size")


def sizes() -> np.ndarray:
    return np.round(np.random.default_rng(0).normal(50, 5, 300), 2)


@pytest.mark.parametrize(
    ("x", "reason"),
    [
        (np.tile([1.0, 2.0, 3.0], 20), "3 different numbers in 60 cells are too few to know what is usual"),
        (np.arange(10.0), "10 different numbers in 10 cells are too few to know what is usual"),
        (np.append(np.zeros(90), np.arange(1.0, 11.0)), "90 of 100 cells hold the same number"),
    ],
)
def test_columns_that_cannot_be_judged_say_why(x: np.ndarray, reason: str) -> None:
    assert column(x) == reason


def test_a_state_is_not_judged_as_a_size() -> None:
    x = np.append(sizes(), np.zeros(100))
    made = column(x)
    assert isinstance(made, NumberColumn)
    assert made.judged.tolist() == [True] * 300 + [False] * 100
    assert made.common[300:].all()


def test_a_slip_is_taken_back_and_a_far_value_takes_what_the_context_expects() -> None:
    x = sizes()
    x[0], x[1] = 5012.0, 300.0
    made = column(x)
    assert isinstance(made, NumberColumn)
    n, kinds = len(x), len(FACTORS) + 1
    by_kind = np.full((1, kinds), -50.0)
    by_kind[0, FACTORS.index(100.0)] = 0.0
    density = WrongDensity(np.zeros(n), np.array([0]), by_kind)
    wrong = np.zeros(n)
    wrong[:2] = 1.0
    verdict = made.verdict(wrong, np.zeros(n), np.ones(n), density, ())
    assert verdict.suggestion[0] == pytest.approx(50.12)
    assert verdict.kind[1] == FAR
    assert verdict.suggestion[1] == pytest.approx(np.median(x), abs=0.1)  # the center of the scale
    assert verdict.confidence[0] > 0.9 > 0.1 > verdict.confidence[1]
    low, high = verdict.expected(1)
    assert low < verdict.suggestion[1] < high


def test_a_column_that_is_not_judged_expects_nothing() -> None:
    verdict = ColumnVerdict.none(3, "no numbers")
    assert not verdict.wrong.any()
    assert np.isnan(verdict.expected(0)).all()


def test_a_suggestion_is_as_certain_as_such_predictions_are_right() -> None:
    rng = np.random.default_rng(1)
    x = np.round(rng.normal(50, 5, 300))
    for share, states in ((1.0, 0), (0.6, 0), (1.0, 150)):
        made = column(np.append(x, np.zeros(states)), 1.0)
        assert isinstance(made, NumberColumn)
        n = 300 + states
        off = np.where(np.arange(n) < share * 300, 0.0, 1.0)
        center = made.scale.forward(np.append(x, np.full(states, 50.0)) + off)
        density = WrongDensity(np.zeros(n), np.zeros(0, dtype=np.int64), np.zeros((0, len(FACTORS) + 1)))
        wrong, spread = np.append(1.0, np.zeros(n - 1)), np.full(n, 0.01)
        verdict = made.verdict(wrong, center, spread, density, ("group:part",))
        assert verdict.confidence[0] == pytest.approx(share * 300 / n, abs=0.01)
        # a line is no evidence against a number that is next to it
        assert made.verdict(wrong, center, spread, density, ("row",)).confidence[0] <= UNSURE
