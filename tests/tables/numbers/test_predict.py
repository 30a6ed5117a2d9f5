"""Numbers predicted from their row and from related rows."""

from __future__ import annotations

import numpy as np
import pytest

from magnet.tables.numbers.context import Category, Context
from magnet.tables.numbers.predict import predict

ROWS = 400
RNG = np.random.default_rng(0)
FLOOR = np.full(ROWS, 1e-6)


def context(cells: np.ndarray, **more: object) -> Context:
    return Context(cells, cells, np.ones(cells.shape, dtype=bool), np.zeros(cells.shape), **more)  # type: ignore[arg-type]


def test_a_column_follows_the_rest_of_its_row_with_the_spread_of_the_noise() -> None:
    a = RNG.normal(size=ROWS)
    y = 0.5 * a + 0.1 * RNG.normal(size=ROWS)
    found = predict(context(np.column_stack([y, a])), 0, y, np.ones(ROWS, dtype=bool), None, FLOOR)
    assert found is not None
    assert found.blocks == ("row",)
    assert found.slope == pytest.approx([0.0, 0.5], abs=0.03)
    assert float(np.median(found.spread)) == pytest.approx(0.1, rel=0.2)


def test_a_column_that_nothing_predicts_is_predicted_by_its_median() -> None:
    cells = RNG.normal(size=(ROWS, 2))
    found = predict(context(cells), 0, cells[:, 0], np.ones(ROWS, dtype=bool), None, FLOOR)
    assert found is not None
    assert found.blocks == ()
    assert np.unique(found.center).tolist() == [np.median(cells[:, 0])]


def test_groups_predict_what_differs_between_them() -> None:
    codes = np.arange(ROWS) % 3
    y = codes - 1.0 + 0.1 * RNG.normal(size=ROWS)
    found = predict(
        context(y[:, None], categories=[Category("town", codes)]), 0, y, np.ones(ROWS, dtype=bool), None, FLOOR
    )
    assert found is not None
    assert found.blocks == ("group:town",)
    assert np.abs(found.center - (codes - 1.0)).max() < 0.1


def test_the_own_value_does_not_draw_its_prediction() -> None:
    a = RNG.normal(size=30)
    y = a.copy()
    y[4] = 20.0
    found = predict(context(np.column_stack([y, a])), 0, y, np.ones(30, dtype=bool), ("row",), FLOOR[:30])
    assert found is not None
    assert abs(found.center[4] - a[4]) < 0.5


def test_too_few_rows_predict_nothing() -> None:
    y = RNG.normal(size=10)
    assert predict(context(y[:, None]), 0, y, np.ones(10, dtype=bool), None, FLOOR[:10]) is None
