"""A column and its code as numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from magnet.tables.fields import Field, is_missing, numbers


def test_numbers_are_centered_and_come_back() -> None:
    field = Field("age", "continuous", decimals=1, places=1, center=40.0, scale=10.0)
    x, missing, unreadable = field.encode(pd.Series(["50", "n/a", "old", "35.5"]))
    assert x[[0, 3], 0] == pytest.approx([1.0, -0.45])
    assert np.isnan(x[1:3, 0]).all()
    assert (missing.tolist(), unreadable.tolist()) == ([False, True, False, False], [False, False, True, False])
    assert field.decode(x[[0, 3]]) == ["50.0", "35.5"]


def test_a_log_scale_is_asinh_of_units() -> None:
    field = Field("pay", "continuous", log=True, unit=2.0)
    assert field.encode(pd.Series([0.0, 2.0]))[0][:, 0] == pytest.approx([0, np.arcsinh(1)])
    assert field.quantity(np.array([np.arcsinh(3.0)])) == pytest.approx([6.0])


def test_categories_are_indicators_and_new_ones_are_unknown_but_not_wrong() -> None:
    field = Field("town", "categorical", values=("Bonn", "Ulm"))
    x, _, unreadable = field.encode(pd.Series(["Ulm", "Kiel"]))
    assert (field.width, x[0].tolist()) == (2, [0.0, 1.0])
    assert np.isnan(x[1]).all()
    assert not unreadable.any()
    assert Field("flag", "binary", values=("no", "yes")).encode(pd.Series(["maybe"]))[2].tolist() == [True]


def test_suggestions_stay_within_the_range_of_the_column() -> None:
    field = Field("age", "count", decimals=0, low=0.0, high=99.0)
    assert field.decode(np.array([[-5.0], [40.4], [1e9]])) == ["0", "40", "99"]


def test_unused_kinds_take_no_column() -> None:
    assert [Field("x", kind).width for kind in ("id", "text", "date", "constant")] == [0] * 4
    with pytest.raises(ValueError, match="column 'x' has no finite value to write"):
        Field("x", "count").write(np.inf)


def test_marks_of_numbers() -> None:
    series = pd.Series(["1.234,5", "7,25", "x"])
    assert numbers(series, comma=True, group=".")[:2].tolist() == [1234.5, 7.25]
    assert np.isnan(numbers(series)).tolist() == [True, True, True]
    assert is_missing(pd.Series(["", "NA", " null ", "0", None])).tolist() == [True, True, True, False, True]
