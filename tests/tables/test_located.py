"""Where cells of a column are, as other columns explain it."""

from __future__ import annotations

from typing import Any

import numpy as np

from magnet.tables.located import located

ROWS = np.arange(120)


def test_cells_of_one_group_or_one_stretch_of_rows_are_located(coded: Any) -> None:
    table = coded({"value": ["1"] * 120, "district": [f"d{k % 10}" for k in range(120)]})
    assert located(table, 0, ROWS % 10 == 3)
    assert located(table, 0, (ROWS >= 40) & (ROWS < 52))


def test_scattered_cells_are_not(coded: Any) -> None:
    table = coded({"value": ["1"] * 120, "district": [f"d{k % 10}" for k in range(120)]})
    scattered = np.zeros(120, dtype=bool)
    scattered[[5, 19, 31, 46, 58, 77, 84, 102, 113]] = True
    assert not located(table, 0, scattered)
