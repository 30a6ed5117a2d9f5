"""When rows may be flagged at all."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from magnet.detection.options import GATE
from magnet.detection.rows.gate import GateEvidence, expected_false_share, expected_recall, judge_gate, power_and_error


@pytest.mark.parametrize(
    ("evidence", "opens", "cells"),
    [
        (GateEvidence(0.95, 0.01, 0.0), True, True),
        (GateEvidence(0.74, 0.01, 0.4), True, True),  # 0.4 / 2 + 0.6 * 0.9
        (GateEvidence(0.74, 0.01, 0.0), False, True),  # the same power, and no swapped rows to explain it
        (GateEvidence(0.60, 0.01, 0.5), False, True),  # half of the right rows fit no better than others
        (GateEvidence(0.53, 0.02, 0.0), False, False),  # shuffled rows give this by chance
        (GateEvidence(0.90, 0.12, 0.0), False, False),
        (GateEvidence(0.90, 0.01, 0.6), False, True),  # the right rows are not the majority
        (None, False, False),
    ],
)
def test_the_rule(evidence, opens, cells):
    gate = judge_gate(evidence)
    assert gate.open is opens
    assert (gate.reason == "") is opens
    assert gate.cells is cells


def test_the_error_counts_probes_and_not_pairs():
    """128 probes at 2000 nodes are 256 000 pairs, and 128 draws: rows differ in how well they fit anywhere."""
    estimates, errors = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        real = rng.normal(size=300) + rng.normal(size=300)
        null = rng.normal(size=(300, 30)) + rng.normal(size=30)
        power, error = power_and_error(real, null)
        estimates.append(power)
        errors.append(error)
    assert np.mean(errors) == pytest.approx(np.std(estimates), rel=0.15)
    assert np.mean(errors) > 2 / np.sqrt(12 * 300)


def test_with_a_row_for_each_node_every_pair_is_a_draw():
    """The error is that of as many rows as nodes, so it vanishes with their number."""
    estimates, errors = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        real, null = rng.normal(size=300) + rng.normal(size=300), rng.normal(size=(300, 1)) + rng.normal(size=(300, 1))
        power, error = power_and_error(real, null)
        estimates.append(power)
        errors.append(error)
    assert np.mean(errors) == pytest.approx(np.std(estimates), rel=0.15)
    assert np.mean(errors) < 0.03


def test_exchangeable_rows_open_the_gate_no_more_often_than_stated():
    opened = 0
    for seed in range(2000):
        rng = np.random.default_rng(seed)
        power, error = power_and_error(rng.normal(size=60), rng.normal(size=(60, 16)) + rng.normal(size=16))
        opened += power >= 0.5 + norm.isf(GATE.level) * error
    assert opened <= 6  # 0.2 expected at the level of 1e-4; the normal approximation is allowed a little


def test_false_alarms_and_found_rows_are_as_frequent_as_expected():
    rng = np.random.default_rng(0)
    d, share = 1.8, 0.25
    wrong = rng.random(200_000) < share
    value = rng.normal(size=wrong.size) + np.where(wrong, 0, d)
    rho = share * norm.pdf(value) / (share * norm.pdf(value) + (1 - share) * norm.pdf(value - d))
    false = (~wrong[rho > 0.5]).mean()
    assert expected_false_share(norm.cdf(d / np.sqrt(2)), share) == pytest.approx(false, abs=0.01)
    assert expected_recall(norm.cdf(d / np.sqrt(2)), share) == pytest.approx((rho > 0.5)[wrong].mean(), abs=0.01)
