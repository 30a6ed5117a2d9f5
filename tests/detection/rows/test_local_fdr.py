"""Local false discovery rate of known mixtures."""

from __future__ import annotations

import numpy as np
import pytest

from magnet.detection.rows.local_fdr import local_fdr, null_overlap, null_proportion, without_overlap


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4, 0.8])
def test_two_groups_recover_the_share_and_the_probabilities(share):
    rng = np.random.default_rng(1)
    n = 20_000
    wrong = rng.random(n) < share
    real = np.where(wrong, rng.normal(0, 1, n), rng.normal(3.5, 1, n))
    null = rng.normal(0, 1, 50_000)
    estimate = null_proportion(real, null).share
    assert abs(estimate - share) < 0.03
    rho = local_fdr(real, null, estimate)
    assert (np.diff(rho[np.argsort(real)]) <= 1e-12).all()
    for low in (0.1, 0.4, 0.7):
        inside = (rho >= low) & (rho < low + 0.3)
        if inside.sum() > 200:
            assert abs(rho[inside].mean() - wrong[inside].mean()) < 0.12


def test_a_shifted_bulk_is_not_taken_for_replaced_rows():
    """A context that says a little about every row (AUROC 0.86) and no replaced rows: the median rule would say 13
    %."""
    rng = np.random.default_rng(2)
    real, null = rng.normal(1.5, 1, 5000), rng.normal(0, 1, 50_000)
    assert 2 * (real < np.median(null)).mean() > 0.12
    assert null_proportion(real, null).share < 0.04


@pytest.mark.parametrize("width", [0.7, 1.0, 1.2])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3])
def test_right_values_that_lie_low_are_not_counted_as_wrong(width, share):
    rng = np.random.default_rng(3)
    null = rng.normal(0, 1, 200_000)
    right = rng.normal(2.3, width, int(50_000 * (1 - share)))
    real = np.concatenate([right, rng.normal(0, 1, int(50_000 * share))])
    found = null_proportion(real, null)
    estimate = without_overlap(found.share, null_overlap(real, null, found.share, found.quantile))
    assert abs(estimate - share) <= 0.015 + 0.05 * share
    assert estimate <= found.share


def test_a_share_that_is_all_stays_all():
    rng = np.random.default_rng(0)
    null = rng.normal(0, 1, 10_000)
    assert null_overlap(null, null, 1.0) == 0.0
    assert without_overlap(1.0, 1.0) == 1.0
    assert without_overlap(0.3, 1.0) == 0.0
    assert null_overlap(np.full(100, 9.0), null, 0.0) < 1e-6  # above everything, without any width


def test_the_error_of_the_share_is_that_of_repeated_draws():
    rng = np.random.default_rng(4)
    null = rng.normal(0, 1, 200_000)
    draws = [null_proportion(np.concatenate([rng.normal(4, 1, 800), rng.normal(0, 1, 200)]), null) for _ in range(60)]
    shares = [each.share for each in draws]
    assert 0.5 < np.std(shares) / np.mean([each.error for each in draws]) < 1.5
    assert abs(np.mean(shares) - 0.2) < 0.03


def test_right_values_with_a_long_lower_tail_are_not_counted_as_wrong():
    """One right row in seven fits like the lower half of the null, but hardly any as badly as its lowest hundredth:
    counted below the tenth, 11 % would be wrong."""
    rng = np.random.default_rng(5)
    null = rng.normal(0, 1, 200_000)
    real = np.concatenate([rng.normal(3, 0.8, 20_000), rng.normal(-0.3, 0.7, 3200)])
    tenth = (real < np.quantile(null, 0.1)).mean() / 0.1
    found = null_proportion(real, null)
    assert tenth > 0.1
    assert found.quantile < 0.1
    assert found.share < 0.5 * tenth
    swapped = np.concatenate([real, rng.normal(0, 1, 5000)])  # the lowest values show these, too
    assert 5000 / 28_200 - 0.02 < null_proportion(swapped, null).share < (swapped < np.quantile(null, 0.1)).mean() / 0.1


def test_too_few_low_values_do_not_change_the_share():
    """Of 300 rows, a fifth swapped, three are expected below the hundredth: none is no evidence."""
    rng = np.random.default_rng(6)
    null = rng.normal(0, 1, 200_000)
    draws = [null_proportion(np.concatenate([rng.normal(5, 1, 240), rng.normal(0, 1, 60)]), null) for _ in range(200)]
    assert np.mean([each.quantile < 0.1 for each in draws]) < 0.05


def _columns(rng, rows=400, columns=64, spread=0.0):
    """A null of as many draws as columns: the values of a column have a center of their own."""
    return rng.normal(0, 1, (rows, columns)) + rng.normal(0, spread, columns)


def test_the_lowest_values_of_one_column_are_one_draw():
    """One of 64 nodes at which rows are tried fits none of them, so that the lowest hundredth of the null is all its
    own, and no real row is as low: that says nothing about the 30 % of the rows that are swapped."""
    rng = np.random.default_rng(7)
    null = _columns(rng)
    null[:, 0] -= 20
    real = np.concatenate([rng.normal(4, 1, 1400), rng.normal(0, 1, 600)])
    assert null_proportion(real, null.ravel()).share < 0.05  # as if every value were a draw
    found = null_proportion(real, null)
    assert found.quantile >= 0.1
    assert abs(found.share - 0.3) < 0.05


def test_the_error_for_few_columns_is_that_of_repeated_draws():
    rng = np.random.default_rng(8)
    real = np.concatenate([rng.normal(8, 1, 40_000), rng.normal(0, np.sqrt(2), 10_000)])
    draws = [null_proportion(real, _columns(rng, spread=1.0)) for _ in range(60)]
    assert 0.5 < np.std([each.share for each in draws]) / np.mean([each.null_error for each in draws]) < 1.5
    null = _columns(rng)
    null[rng.random(null.shape) < 0.1] = np.nan
    assert null_proportion(real, null).null_error < 0.2 * np.mean([each.null_error for each in draws])
    assert null_proportion(real, null[:, 0]).null_error == 0
