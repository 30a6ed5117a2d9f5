"""Heavy tails are not errors; values beyond every tail are."""

import numpy as np

from magnet.tables.numbers.tails import judge_tails, log_far, row_spread


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
