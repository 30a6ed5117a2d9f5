"""Wrong numbers in a table of texts."""

import numpy as np

from magnet.tables.posterior import judge_table


def test_a_slipped_decimal_point_is_put_back_in_the_columns_own_writing() -> None:
    rng = np.random.default_rng(0)
    price = [f"{x:.2f}" for x in rng.normal(20, 1, 200)]
    right = price[17]
    price[17] = f"{float(right) * 100:.2f}"
    cells = judge_table({"price": price}).cells
    assert [(c.row, c.suggested, c.kind) for c in cells] == [(17, right, "outlier")]
    assert cells[0].confidence >= 0.9
    assert "100 times as large" in cells[0].reason


def test_identifiers_and_codes_are_never_arithmetic() -> None:
    rng = np.random.default_rng(1)
    codes = [f"{x:05d}" for x in rng.integers(10000, 20000, 200)]
    codes[3] = "99999"
    assert not [c for c in judge_table({"zip": codes}).cells if c.kind == "outlier"]


def test_a_column_that_cannot_be_judged_is_named() -> None:
    values = [str(k % 3) for k in range(60)]
    found = judge_table({"grade": values, "other": [str(k * k) for k in range(60)]})
    assert "grade" in found.not_judged
