"""Records of ranges of columns, put together."""

import numpy as np
import pytest

from magnet.recovery.result import Record, RecoveryResult, add_histories, relative_residuals


def test_shorter_histories_keep_their_last_values():
    long, short = np.arange(18.0).reshape(6, 3), np.full((6, 1), 100.0)
    total = add_histories([long, short, np.zeros((6, 0))])
    assert np.array_equal(total, long + 100)


def test_residuals_are_relative_to_the_larger_of_two_norms():
    # objective, and the squared norms of primal, dual, WU, Z and Y
    sums = np.array([[5.0], [4.0], [9.0], [16.0], [64.0], [36.0]])
    primal, dual = relative_residuals(sums)
    assert (primal[0], dual[0]) == (np.sqrt(4 / 64), np.sqrt(9 / 36))
    zero_primal, zero_dual = relative_residuals(np.zeros((6, 1)))
    assert (zero_primal[0], zero_dual[0]) == (0, 0)


def test_ranges_are_gathered_into_one_result():
    sums = np.array([[2.0, 1.0], [4.0, 1.0], [4.0, 1.0], [16.0, 16.0], [1.0, 1.0], [16.0, 16.0]])
    records = [
        Record(np.array([2, 1]), np.array([True, False]), sums),
        Record(np.array([1]), np.array([True]), sums[:, :1]),
    ]
    result = RecoveryResult.gathered(np.zeros((4, 3)), records, "torch")
    assert result.objective.tolist() == [4.0, 3.0]
    assert result.primal.tolist() == pytest.approx([np.sqrt(8 / 32), np.sqrt(5 / 32)])
    assert result.iterations == 2
    assert repr(result) == "RecoveryResult(x=[4, 3], iterations=2, converged=2/3 columns, backend='torch')"


def test_without_a_history_the_largest_final_residual_is_reported():
    records = [Record(np.array([3]), np.array([True]), residual=np.array([r])) for r in (0.1, 0.4)]
    assert RecoveryResult.gathered(np.zeros((4, 2)), records, "numba").primal.tolist() == [0.4]
