"""Draws that the corruptions share."""

from __future__ import annotations

import numpy as np
import pytest

from magnet.corruption.sampling import distinct


@pytest.mark.parametrize("size", [3, 20])
def test_distinct_draws_are_uniform(size: int) -> None:
    draws = distinct(np.random.default_rng(0), 4000, size, 40)
    assert np.all(np.diff(np.sort(draws, axis=1), axis=1) > 0)
    expected = 4000 * size / 40
    assert np.bincount(draws.ravel(), minlength=40) == pytest.approx(expected, abs=5 * expected**0.5)
