"""Kinds of errors."""

import numpy as np

from magnet.tables.numbers.errors import FACTORS, far_density, is_slip, kind_shares, wrong_density
from magnet.tables.numbers.scales import Scale
from magnet.tables.numbers.tails import log_far


def test_a_hundredfold_value_is_explained_by_the_factor() -> None:
    scale = Scale("linear", center=50.0, spread=5.0)
    x = np.array([5000.0, 5001.0, -50.0])
    found = wrong_density(x, scale.forward(x), np.zeros(3), np.full(3, 0.2), scale, 1.0, kind_shares(), np.zeros(3))
    kinds, _ = found.likeliest()
    assert FACTORS[kinds[0]] == 100.0
    assert kinds[1] == len(FACTORS)  # 50.01 is not a whole number
    assert FACTORS[kinds[2]] == -1.0


def test_wrong_values_that_are_alike_expect_one_another() -> None:
    y = np.concatenate([np.linspace(-2, 2, 50), np.full(20, 9.0)])
    wrong = np.append(np.zeros(50), np.ones(20))
    assert (far_density(y, wrong) - log_far(y))[-1] > 3
    alone = np.zeros(70)
    alone[-1] = 1.0
    assert (far_density(y, alone) <= log_far(y) + 1e-9)[-1]  # a cell does not vouch for itself


def test_one_slip_of_the_pen() -> None:
    assert all(is_slip(x, 1234.0, 1.0) for x in (1934.0, 1324.0, 134.0, 12834.0, 12340.0, -1234.0))
    assert not is_slip(1299.0, 1234.0, 1.0)
