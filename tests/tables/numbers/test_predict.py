"""Numbers predicted from their row and from related rows."""

from __future__ import annotations

import numpy as np
import pytest

from magnet.tables.numbers.context import Category, Context
from magnet.tables.numbers.predict import _by_group_size, _group_factor, _spread, predict
from magnet.tables.numbers.scales import mad

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


def test_the_spread_of_a_group_does_not_depend_on_the_own_value() -> None:
    rng = np.random.default_rng(4)
    codes = (np.arange(ROWS) % 5 == 0).astype(np.int64)
    y = 0.8 * codes + rng.normal(size=ROWS)
    found = predict(
        context(y[:, None], categories=[Category("g", codes)]), 0, y, np.ones(ROWS, dtype=bool), ("group:g",), FLOOR
    )
    assert found is not None
    assert len(np.unique(np.round(found.spread, 2))) <= 4  # one for each group, and its rows' leverage
    outer = np.abs(y - found.center) > 1.5
    assert float(found.spread[outer].mean()) == pytest.approx(float(found.spread[~outer].mean()), rel=0.1)


def test_a_coarse_function_of_another_column_is_predicted_from_it() -> None:
    rng = np.random.default_rng(5)
    born = np.sort(rng.uniform(-2, 2, ROWS))
    age = np.round(-8 * born) / 8  # equal to its neighbors in the order of births
    cells = np.column_stack([age, born])
    one = context(cells, orders=[("born", np.arange(ROWS))], names=["age", "born"])
    found = predict(one, 0, age, np.ones(ROWS, dtype=bool), None, np.full(ROWS, 0.3 / 8))
    assert found is not None
    assert found.blocks[0] == "row"
    assert found.slope[1] == pytest.approx(-1.0, abs=0.05)


def test_the_only_row_of_its_group_is_no_surer_than_the_column() -> None:
    codes = np.array([0, 0, 0, 1, 1, 2])
    spread, y = np.full(6, 0.1), np.array([0.0, 0.1, 0.0, 2.0, 2.1, -3.0])
    wider = _by_group_size(spread, y, np.ones(6, dtype=bool), [codes])
    assert np.allclose(wider[:5], [0.1 * 1.5**0.5] * 3 + [0.1 * 2**0.5] * 2)
    assert wider[5] == mad(y - np.median(y)) > 0.5


def test_values_of_a_wide_group_are_expected_to_vary_more() -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], [400, 100])
    factor = _group_factor(codes, rng.normal(size=500) * np.where(codes == 1, 8.0, 1.0), np.ones(500, dtype=bool))
    assert factor[-1] > 3
    assert factor[0] < 1.1


def test_some_of_many_small_groups_vary_more() -> None:
    rng = np.random.default_rng(0)
    codes, wide = np.repeat(np.arange(200), 8), np.repeat(rng.random(200) < 0.3, 8)
    residual = rng.normal(size=codes.size) * np.where(wide, 10.0, 1.0)
    factor = _group_factor(codes, residual, np.ones(codes.size, dtype=bool))
    assert np.median(factor[wide]) > 2
    assert np.median(factor[~wide]) == 1


def test_predictions_that_rest_on_far_values_are_less_certain() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    bent = np.where(np.abs(x) > 2.2, 3.0, 0.3) * rng.normal(size=2000)
    even, reach = np.zeros(2000), np.abs(x)
    spread = _spread(bent, even, reach, np.ones(2000, dtype=bool), None, np.zeros(2000))
    assert spread[reach > 2.6].min() > 2 * spread[reach < 1].max()
