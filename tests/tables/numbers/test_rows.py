"""Which cell of a row is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from magnet.tables.numbers.rows import doubted, improbably_many, in_unusual_rows, localize_in_rows, of_another_kind


def test_the_cell_whose_replacement_mends_the_row_is_the_wrong_one() -> None:
    # three columns that are each the mean of the other two; the first is 10 where the others are 0
    cells = np.array([[5.0, 0.0, 0.0]])  # clipped
    slopes = np.zeros((2, 3, 3))
    slopes[0] = 0.5 * (1 - np.eye(3))
    center, spread = cells @ slopes[0].T, np.full((1, 3), 0.1)
    u = (cells - center) / spread
    assert (np.abs(u) > 3).all()  # one wrong cell makes all of them disagree
    residual, share = localize_in_rows(
        u, cells, np.zeros((1, 3), dtype=bool), center, spread, slopes, np.full((1, 3), -8.0)
    )
    assert share[0, 1:].tolist() == [0.0, 0.0]
    assert share[0, 0] == pytest.approx(1, abs=0.01)
    assert (np.abs(residual[0, 1:]) < 1).all()


def test_a_row_that_agrees_has_no_wrong_cell() -> None:
    u = np.full((2, 3), 0.5)
    residual, share = localize_in_rows(u, u, u > 1, u, u, np.ones((2, 3, 3)), u)
    assert np.array_equal(residual, u)
    assert not share.any()


def test_one_more_cell_of_each_row_is_doubted() -> None:
    wrong, distance = np.array([[0.9, 0.8, 0.1], [0.9, 0.9, 0.0]]), np.array([[2.0, 5.0, 9.0], [7.0, 4.0, 1.0]])
    first = doubted(wrong, distance, np.zeros((2, 3), dtype=bool))
    assert first.tolist() == [[False, True, False], [True, False, False]]
    assert doubted(wrong, distance, first).sum(axis=1).tolist() == [2, 2]
    assert not doubted(np.zeros((2, 3)), distance, first).any()  # what was acquitted is free again


def test_a_row_with_more_errors_than_chance_gives_is_unusual() -> None:
    wrong = np.zeros((1000, 10))
    wrong[3, :5], wrong[10:20, 0] = 1.0, 1.0
    known = np.zeros(wrong.shape)
    assert np.flatnonzero(improbably_many(wrong > 0.5, known)).tolist() == [3]
    assert np.argwhere(in_unusual_rows(wrong, known, known)).tolist() == [[3, k] for k in range(5)]


def test_disagreements_at_one_end_of_another_column_are_another_kind_of_rows() -> None:
    rng = np.random.default_rng(0)
    y, wrong = rng.normal(size=(1000, 3)), np.zeros((1000, 3))
    refunds = np.argsort(y[:, 1])[:30]
    wrong[refunds[:15], 0] = 0.9
    elsewhere = np.flatnonzero(np.abs(y[:, 1]) < 1)[:5]
    wrong[elsewhere, 0] = 0.9
    y[elsewhere, 0] = 0.0
    acquitted = of_another_kind(wrong, y)
    assert acquitted[refunds[:15], 0].all()
    assert not acquitted[elsewhere].any()
    y[refunds[:15], 0] = 9.0  # far out in the column itself
    assert not of_another_kind(wrong, y).any()
    y[refunds[:15], 0], wrong[:, 0] = 0.0, 0.0
    wrong[::60, 0] = 0.9  # anywhere
    assert not of_another_kind(wrong, y).any()
