"""Which proximal maps are tabulated, and how finely."""

import numpy as np
import pytest

from magnet.recovery.kernels import GENERAL, HARD, QUADRATIC, SOFT, TABLE
from magnet.recovery.kernels.tables import ERROR, scalar_maps


def test_which_map_is_computed_how():
    assert [scalar_maps(p, 2, np.float32)[0].how for p in (0.0, 0.5, 1.0)] == [HARD, TABLE, SOFT]
    hows = [scalar_maps(1, q, np.float32)[1].how for q in (1.0, 1.01, 1.5, 1.95, 2.0)]
    assert hows == [SOFT, GENERAL, TABLE, GENERAL, QUADRATIC]


def test_the_pair_of_the_default_problem_is_marked():
    assert [len(how.simple) for how in scalar_maps(1, 2, np.float32)] == [1, 1]
    assert [len(how.simple) for how in scalar_maps(1, 1.5, np.float32)] == [0, 0]


@pytest.mark.parametrize("y", [2.0, 3.7, 41.0, 1000.0])
def test_the_table_of_the_square_root_solves_its_equation(y):
    """For p = 1/2 the table holds 1 - x / y with x + x^(-1/2) / 2 = y."""
    table = scalar_maps(0.5, 2, np.float32)[0]
    bits = int(np.float32(y).view(np.int32))
    piece = (bits >> table.shift) - table.base
    place = (bits & ((1 << table.shift) - 1)) / (1 << table.shift)
    rest = float(np.polynomial.polynomial.polyval(place, table.cubics[4 * piece : 4 * piece + 4].astype(float)))
    x = y * (1 - rest)
    assert x + 0.5 / np.sqrt(x) == pytest.approx(y, abs=4 * y * ERROR)
    assert table.jump == pytest.approx(1.5)  # 3/2 t^(2/3), Xu et al. 2012
