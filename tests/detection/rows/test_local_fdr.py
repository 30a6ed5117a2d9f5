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
