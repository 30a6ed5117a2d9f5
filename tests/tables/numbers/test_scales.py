"""Scales of columns."""

import numpy as np
import pytest

from magnet.scales import NORMAL_MAD
from magnet.tables.numbers.scales import Scale, fit_scale, mad, mads


@pytest.mark.parametrize("kind", ["linear", "log", "asinh"])
def test_inverse_undoes_forward_and_slope_is_the_derivative(kind: str) -> None:
    scale = Scale(kind, 1.0 if kind == "asinh" else 0.0, 2.0, 0.5, 1.5)
    x = np.array([-7.0, 3.0, 40.0])
    assert np.allclose(scale.inverse(scale.forward(x)), x)
    slope = (scale.forward(x + 1e-6) - scale.forward(x - 1e-6)) / 2e-6
    assert np.allclose(np.exp(scale.log_slope(x)), slope, rtol=1e-4)


def test_scales_follow_the_data() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=800)
    found = [fit_scale(x) for x in (5 + z, np.exp(2 * z), np.sinh(3 * z) - 50)]
    assert [scale.kind for scale in found if scale] == ["linear", "log", "asinh"]


def test_a_column_without_spread_has_no_scale() -> None:
    assert fit_scale(np.full(10, 3.0)) is None


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_the_median_size_is_that_of_numpy(count: int) -> None:
    values = np.random.default_rng(count).normal(size=(5, count))
    expected = [NORMAL_MAD * np.median(np.abs(row)) for row in values]
    assert mads(values).tolist() == expected
    assert [mad(np.append(row, np.nan)) for row in values] == expected
    assert mad(np.array([np.nan])) == 0.0
