"""Columns that count."""

from __future__ import annotations

from typing import Any

import numpy as np

from magnet.tables.experts.base import ColumnContext
from magnet.tables.experts.sequence import fit


def test_a_sequence_is_predicted_from_both_sides(coded: Any) -> None:
    texts = [f"R{k:03d}" for k in range(30)]
    texts[10] = "R0x0"
    table = coded({"key": texts})
    codes = fit(ColumnContext(table, 0))[0].proposals()[:, 0]
    assert table.columns[0].values[codes[10]] == "R010"
    assert codes[0] == -1


def test_days_are_a_sequence_across_months(coded: Any) -> None:
    days = np.arange("2021-01-20", "2021-02-20", dtype="datetime64[D]").astype(str).tolist()
    days[12] = "2021-02-10"
    table = coded({"day": days})
    assert table.columns[0].values[fit(ColumnContext(table, 0))[0].proposals()[12, 0]] == "2021-02-01"


def test_a_column_that_does_not_count_has_no_sequence(coded: Any) -> None:
    texts = [str(k) for k in np.random.default_rng(0).permutation(30)]
    assert fit(ColumnContext(coded({"key": texts}), 0)) == []


def test_moments_of_different_times_of_day_are_no_sequence_of_days(coded: Any) -> None:
    at = np.datetime64("2021-01-20T05:00") + 25 * np.arange(30) * np.timedelta64(1, "h")
    assert fit(ColumnContext(coded({"at": np.datetime_as_string(at, unit="s").tolist()}), 0)) == []
