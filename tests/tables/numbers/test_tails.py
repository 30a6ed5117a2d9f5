"""Heavy tails are not errors; values beyond every tail are."""

import numpy as np

from magnet.tables.numbers.tails import STEPS, T_DEGREES, _fit, gap_size, judge_tails, log_far, log_t, row_spread


def test_a_gap_convicts_and_a_heavy_tail_does_not() -> None:
    rng = np.random.default_rng(0)
    light = np.append(rng.normal(size=1000), [12.0, 15.0, -14.0])
    heavy = rng.standard_t(2, size=1003)
    for u, count in ((light, 3), (heavy, 0)):
        wrong = judge_tails(u, log_far(u), 0.01, 50).wrong > 0.5
        assert wrong.sum() == count
    assert (judge_tails(light, log_far(light), 0.01, 50).wrong > 0.5)[-3:].all()


def test_sides_have_their_own_tails() -> None:
    u = np.append(np.random.default_rng(1).exponential(size=800) - 0.7, -9.0)  # 5 is usual on the right
    wrong = judge_tails(u, log_far(u), 0.01, 50).wrong > 0.5
    assert wrong[-1]
    assert wrong.sum() == 1


def test_a_wild_row_has_a_wide_spread() -> None:
    rng = np.random.default_rng(2)
    size = np.exp(rng.normal(0, 0.5, 200))
    size[5] = 20.0
    spread = row_spread(rng.normal(size=(200, 20)) * size[:, None])
    assert 8 < spread[5] < 40
    assert (row_spread(rng.normal(size=(200, 20))) < 1.5).all()  # chance alone makes no row wild


def test_shapes_fitted_side_by_side_are_those_fitted_alone() -> None:
    rng = np.random.default_rng(4)
    size, log_wrong, weight = np.abs(rng.standard_t(3, size=80)), np.full(80, -4.0), np.ones(80)
    s, e, _ = _fit(size, log_wrong, weight, 0.01, 50.0, 1e-12)
    for shape, nu in enumerate(T_DEGREES):
        spread, rate = float(np.median(size)), 0.01
        for _ in range(STEPS):
            right = (1 - rate) * np.exp(log_t(size / spread, nu)) / spread
            p = rate * np.exp(log_wrong) / (rate * np.exp(log_wrong) + right)
            pull = (1 - p) * (nu + 1) / (nu + (size / spread) ** 2)
            before, spread = spread, float(np.sqrt((pull * size**2).sum() / (1 - p).sum()))
            rate = (p.sum() + 0.5) / (80 + 50)
            if abs(spread - before) < 1e-4 * before:
                break
        assert np.isclose(s[shape], spread)
        assert np.isclose(e[shape], rate)


def test_a_value_beyond_a_range_that_is_filled_evenly_is_wrong_and_one_at_its_end_is_not() -> None:
    u = np.append(np.random.default_rng(5).uniform(-1.35, 1.35, 600), [2.9, 1.45])
    bounded = judge_tails(u, log_far(u), 0.01, 50, bounded=True).wrong
    assert np.flatnonzero(bounded > 0.5).tolist() == [600]
    assert judge_tails(u, log_far(u), 0.01, 50).wrong.max() < 0.5  # as residuals these may be normal
    normal = np.random.default_rng(6).normal(size=2000)
    assert judge_tails(normal, log_far(normal), 0.01, 50, bounded=True).wrong.max() < 0.5


def test_a_gap_may_lie_behind_the_nearest_cells_that_are_judged_wrong() -> None:
    u = np.concatenate([np.linspace(-2.4, 2.4, 50), [2.7, 10.0, 11.0, 12.0, 13.0]])
    wrong = np.append(np.zeros(50), np.full(5, 0.9))
    assert gap_size(u, wrong, 0.1) == 10.0
    assert gap_size(np.append(u[:50], [2.7, 3.5, 4.6, 6.0, 20.0]), wrong, 0.1) == np.inf  # a tail
