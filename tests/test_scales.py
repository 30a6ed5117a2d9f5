"""When numbers are put on an asinh scale."""

from __future__ import annotations

import numpy as np
import pytest

from magnet.scales import asinh_unit, natural_unit


def sizes(seed: int) -> np.ndarray:
    return np.exp(np.random.default_rng(seed).normal(3, 1, 400))


@pytest.mark.parametrize("zeros", [0, 10, 100])
@pytest.mark.parametrize("factor", [1e-3, 2.0, 1e6])
def test_the_choice_does_not_depend_on_the_unit_of_measurement(zeros, factor):
    values = sizes(0)
    values[:zeros] = 0.0
    assert asinh_unit(values) > 0
    assert asinh_unit(factor * values) == pytest.approx(factor * asinh_unit(values))


def test_a_few_wrong_values_do_not_decide():
    values = sizes(1)
    unit = asinh_unit(values)
    values[:4], values[4] = -values[:4], 1e12
    assert asinh_unit(values) == pytest.approx(unit, rel=0.1)


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).normal(100, 5, 400),  # symmetric
        np.random.default_rng(0).poisson(0.5, 400),  # small counts
        -sizes(2),  # negative
        np.full(400, 7.0),  # constant
        sizes(3)[:10],  # too few
    ],
)
def test_other_numbers_stay_linear(values):
    assert asinh_unit(values.astype(float)) == 0.0


def test_zeros_do_not_move_the_unit_below_the_usual_sizes():
    values = sizes(4)
    without = natural_unit(values)
    values[:100] = 0.0
    assert natural_unit(values) > 2 * without
    assert natural_unit(np.full(5, np.nan)) == 1.0
