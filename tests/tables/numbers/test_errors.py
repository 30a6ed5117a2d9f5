"""Kinds of errors."""

import numpy as np

from magnet.tables.numbers.errors import APART, FACTORS, far_density, is_slip, kind_shares, wrong_density
from magnet.tables.numbers.scales import Scale
from magnet.tables.numbers.tails import DEGREES, log_far, log_t


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
    assert is_slip(-5.0, -7.0, 1.0, off=0.6)
    assert not is_slip(-5.0, -70.0, 1.0, off=0.6)


def test_the_density_of_wrong_values_cell_by_cell() -> None:
    rng = np.random.default_rng(2)
    scale = Scale("log", 0.0, 0.5, 3.0, 0.8)
    x = np.round(np.exp(3 + rng.normal(size=60)), 1) * rng.choice([1, 10, 100, -1], size=60)
    x[[3, 8]] = np.nan, 0.0
    y, center, spread = scale.forward(x), 0.3 * rng.normal(size=60), rng.uniform(0.05, 2.0, 60)
    shares, wrong = kind_shares(), np.zeros(60)
    found = wrong_density(x, y, center, spread, scale, 0.1, shares, wrong)
    explained = dict(zip(found.rows.tolist(), found.by_kind.tolist(), strict=True))
    for i in range(60):
        kinds = []
        for factor, share in zip(FACTORS, shares, strict=False):
            value = np.array(x[i] / factor)
            grid = abs(x[i]) / factor / 0.1
            possible = np.isfinite(x[i]) and x[i] != 0 and (factor < 1 or abs(grid - round(grid)) < 1e-6)
            if not possible or not abs(scale.forward(value) - y[i]) > APART * spread[i]:
                kinds.append(-np.inf)
                continue
            density = log_t((scale.forward(value) - center[i]) / spread[i], DEGREES) - np.log(spread[i] / share)
            density += scale.log_slope(value) - scale.log_slope(np.array(x[i]))
            kinds.append(float(density) - (np.log(abs(factor)) if factor < 1 else 0.0))
        kinds.append(float(log_far(np.array(np.nan_to_num(y[i]))) + np.log(shares[-1])))
        assert (i in explained) == bool(np.isfinite(kinds[:-1]).any())
        np.testing.assert_allclose(explained.get(i, kinds), kinds)
        np.testing.assert_allclose(found.total[i], np.logaddexp.reduce(kinds))
    assert 20 < len(explained) < 58
