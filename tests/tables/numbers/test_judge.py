"""Numbers judged as a whole: small tables with known errors, and what must not matter."""

import numpy as np
import pytest
import scipy.sparse as sp

from magnet.tables.numbers import FACTORS, FAR, judge, judge_numbers


def _table(seed: int = 0, rows: int = 300) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a = rng.normal(50, 10, rows)
    return np.round(
        np.column_stack([a, 2 * a + rng.normal(0, 1, rows), rng.normal(0, 5, rows), 60 - a + rng.normal(0, 1, rows)]), 2
    )


def _listed(values: np.ndarray, **context: object) -> set[tuple[int, int]]:
    found = judge_numbers(values, [0.01] * values.shape[1], **context)  # type: ignore[arg-type]
    return {(int(row), j) for j, v in enumerate(found) for row in np.flatnonzero(v.wrong >= 0.5)}


def test_clean_numbers_are_left_alone() -> None:
    assert not _listed(_table())


def test_slip_sign_far_value_and_contextual_error_are_found() -> None:
    x = _table()
    right = x.copy()
    x[10, 0], x[20, 1], x[30, 2] = x[10, 0] * 100, -x[20, 1], 61.37
    x[40, 1] = right[:, 1].max() if right[40, 1] < 100 else right[:, 1].min()
    found = judge_numbers(x, [0.01] * 4)
    assert {(10, 0), (20, 1), (30, 2), (40, 1)} == _listed(x)
    assert FACTORS[found[0].kind[10]] == 100.0
    assert np.isclose(found[0].suggestion[10], right[10, 0])
    assert found[0].confidence[10] > 0.9
    assert np.isclose(found[1].suggestion[20], right[20, 1])
    assert found[2].kind[30] == FAR
    assert found[2].confidence[30] < 0.5
    assert abs(found[1].suggestion[40] - right[40, 1]) < 5


def test_scaling_and_shifting_a_column_changes_nothing() -> None:
    x = _table(1)
    x[5, 0], x[6, 2] = 130.0, -70.0
    before = _listed(x)
    assert {(5, 0), (6, 2)} <= before
    scaled = judge_numbers(x * 10, [0.1] * 4)
    assert {(int(r), j) for j, v in enumerate(scaled) for r in np.flatnonzero(v.wrong >= 0.5)} == before
    assert _listed(x + np.array([0.0, 0.0, 40.0, 0.0])) == before


def test_permuting_rows_permutes_the_answer() -> None:
    x = _table(2)
    x[5, 0], x[6, 2] = 130.0, -70.0
    order = np.random.default_rng(3).permutation(len(x))
    where = np.argsort(order)
    assert {(int(where[row]), j) for row, j in _listed(x)} == _listed(x[order])


def test_links_that_mean_nothing_change_nothing_and_others_help() -> None:
    rng = np.random.default_rng(4)
    place = rng.integers(20, size=400)
    x = np.round((rng.normal(0, 10, 20)[place] + rng.normal(0, 1, 400))[:, None], 2)
    far = int(np.argmax(np.abs(x[:, 0] - x[0, 0])))
    x[0] = x[far]  # usual for the column, wrong for the place
    same = sp.csr_matrix((place[:, None] == place[None]).astype(float) - np.eye(400))
    order = rng.permutation(400)
    assert (0, 0) in _listed(x, links=same)
    plain, shuffled = judge_numbers(x, [0.01]), judge_numbers(x, [0.01], links=same[order][:, order].tocsr())
    assert np.array_equal(plain[0].wrong, shuffled[0].wrong)


def test_a_column_of_few_values_is_not_judged_and_says_so() -> None:
    found = judge_numbers(np.tile([1.0, 2.0, 3.0], 50)[:, None], [1.0])
    assert "too few" in found[0].reason
    assert not found[0].wrong.any()


def test_of_columns_that_predict_each_other_the_wrong_one_is_blamed() -> None:
    """Votes of two parties, of all, and the labor force: a number from another row disagrees with three others, each of
    which then disagrees with the rest."""
    rng = np.random.default_rng(0)
    size = np.exp(rng.normal(9, 1.2, 800))
    share = 1 / (1 + np.exp(-rng.normal(0.5, 0.4, 800)))
    first, second = np.round(size * share) + 20, np.round(size * (1 - share)) + 20
    others, workers = np.round(size * rng.uniform(0.02, 0.08, 800)), np.round(size * np.exp(rng.normal(0.3, 0.1, 800)))
    x = np.column_stack([first, second, first + second + others, workers])
    right = x.copy()
    planted = {(10 + 40 * k, k % 4) for k in range(18)}
    for row, j in planted:
        x[row, j] = right[(row + 397) % 800, j]
    found = judge_numbers(x, [1.0] * 4)
    listed = {(int(row), j) for j, v in enumerate(found) for row in np.flatnonzero(v.wrong >= 0.5)}
    assert len(listed - planted) <= 1
    assert len(listed & planted) >= 12


def test_a_value_just_below_zero_is_no_lost_sign() -> None:
    rng = np.random.default_rng(0)
    height = rng.normal(0, 1, 1500)
    temperature = np.maximum(np.round(12 - 4 * height + rng.normal(0, 0.6, 1500), 1), 0.4)
    row = int(height.argmax())
    temperature[row] = -1.0
    x = np.column_stack([temperature, np.round(1013 - 12 * height + rng.normal(0, 1.5, 1500), 1)])
    below, flipped = judge_numbers(x, [0.1, 0.1])[0].wrong, 10
    assert below[row] < 0.5
    x[flipped, 0] = -12.0
    assert judge_numbers(x, [0.1, 0.1])[0].wrong[flipped] > 0.9


@pytest.mark.parametrize(("factor", "corrected"), [(10.0, True), (100.0, True), (20.0, False), (250.0, False)])
@pytest.mark.parametrize("width", [0.2, 0.4])
def test_values_multiplied_by_another_factor_are_listed_but_not_corrected(factor, corrected, width) -> None:
    rng = np.random.default_rng(5)
    right = np.round(np.exp(rng.normal(3, width, (3000, 3))), 2)
    wrong = rng.random(right.shape) < 0.01
    found = judge_numbers(np.where(wrong, right * factor, right), [0.01] * 3)
    listed = np.column_stack([v.wrong > 0.5 for v in found])
    sure = np.column_stack([v.confidence > 0.8 for v in found]) & listed
    assert listed[wrong].mean() > 0.2
    assert sure[wrong].any() == corrected


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x = _table()
    x[10, 0], x[20, 1], x[30, 2] = x[10, 0] * 100, -x[20, 1], 61.37
    plain = judge_numbers(x, [0.01] * 4)
    monkeypatch.setattr(judge, "threads_for_rows", lambda rows: 3)
    for one, other in zip(plain, judge_numbers(x, [0.01] * 4), strict=True):
        assert one.blocks == other.blocks
        for name in ("wrong", "suggestion", "confidence", "kind", "center", "spread"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize(("round_to", "written"), [(10, True), (1, False)])
def test_a_number_that_may_have_lost_its_last_digit_is_not_restored(round_to: int, written: bool) -> None:
    """Areas are prices over rates: 79 is a tenth of 790, and of 797 without its last digit."""
    rng = np.random.default_rng(6)
    area, rate = rng.integers(60, 300, 200) * 10.0, rng.integers(80, 240, 200).astype(float)
    if round_to == 1:
        area += rng.integers(0, 10, 200)
    price = area * rate + rng.integers(-30, 30, 200)
    area[5] = np.floor(area[5] / 10)
    verdict = judge_numbers(np.column_stack([area, rate, np.round(price, -2)]), [1.0, 1.0, 100.0])[0]
    assert verdict.wrong[5] > 0.9
    assert (verdict.confidence[5] > 0.9) == written


def test_steps_of_a_series_are_genuine_and_spikes_are_not() -> None:
    rng = np.random.default_rng(2)
    x = np.round(60 + np.cumsum(rng.normal(0, 0.5, 600)), 1)
    for stop in (90, 200, 310, 480):  # a machine that idles for a while
        x[stop : stop + 20] = np.round(rng.uniform(29, 30, 20), 1)
    orders = [("rows", np.arange(600))]

    def listed(x: np.ndarray) -> list[int]:
        return np.flatnonzero(judge_numbers(x[:, None], [0.1], orders=orders)[0].wrong > 0.5).tolist()

    assert listed(x) == []
    x[40:42] = x[400] = 45.0
    assert listed(x) == [40, 41, 400]


@pytest.mark.parametrize(
    ("factor", "cells", "written"),
    [(10.0, 1, False), (10.0, 3, True), (100.0, 1, True)],
    ids=["lone", "three", "rare digits"],
)
def test_a_lone_slip_is_written_only_if_its_digits_prove_it(factor: float, cells: int, written: bool) -> None:
    x = np.round(np.random.default_rng(4).normal(13, 1, 400), 2)
    x[:cells] *= factor  # every tenth number is a multiple of 0.1: it may be the one storm
    found = judge_numbers(np.round(x, 2)[:, None], [0.01])[0]
    assert found.wrong[:cells].min() > 0.9
    assert (found.confidence[:cells].min() > 0.9) == written


@pytest.mark.parametrize("column", [0, 1])
def test_of_two_columns_that_determine_each_other_the_right_one_is_not_overwritten(column: int) -> None:
    rng = np.random.default_rng(1)
    wealth = rng.normal(0, 1, 800)
    owners = np.round(np.clip(60 + 12 * wealth + rng.normal(0, 8, 800), 2, 99), 1)
    x = np.column_stack(
        [owners, np.round(100 - owners, 1), np.round(14 - 7 * wealth + rng.normal(0, 3, 800), 1)],
    )
    wrong = np.arange(0, 800, 100)
    x[wrong, column] = np.roll(x[wrong, column], 1)
    found = judge_numbers(x, [0.1] * 3)
    assert (np.maximum(found[0].wrong, found[1].wrong)[wrong] > 0.5).all()  # one of the two is listed
    assert found[1 - column].confidence[found[1 - column].wrong > 0.5].max() < 0.9


def test_round_numbers_are_restored_as_round_ones_and_the_others_are_not_blamed() -> None:
    rng = np.random.default_rng(0)
    area = np.round(np.exp(rng.normal(7.5, 0.3, 300)))
    price = np.round(area * rng.normal(300, 60, 300), -2)
    x = np.column_stack([area, price, np.round(price / area, 2)])
    for row in range(0, 300, 30):  # two digits exchanged: 317100 becomes 371100
        digits = f"{x[row, 1]:.0f}"
        x[row, 1] = float(digits[0] + digits[2] + digits[1] + digits[3:])
    wrong = np.flatnonzero(x[:, 1] != price)
    found = judge_numbers(x, [1.0, 1.0, 0.01])
    assert np.flatnonzero(found[1].wrong > 0.5).tolist() == wrong.tolist()
    assert not (found[0].wrong > 0.5).any()
    assert found[1].suggestion[wrong].tolist() == price[wrong].tolist()
    assert np.median(found[1].confidence[wrong]) > 0.9


def test_a_number_with_more_decimals_than_others_was_divided_and_the_total_is_right() -> None:
    rng = np.random.default_rng(0)
    amount, rate = np.round(np.exp(rng.normal(7, 1.6, 400)), 2), np.round(rng.normal(1, 0.1, 400), 4)
    x = np.column_stack([amount, rate, np.round(amount * rate, 2)])
    x[::40, 0] /= 100
    found = judge_numbers(x, [0.01, 0.0001, 0.01])
    assert (found[0].wrong[::40] > 0.5).all()
    assert not (found[2].wrong > 0.5).any()
    assert found[0].suggestion[::40] == pytest.approx(amount[::40], abs=0.001)


def test_rare_counts_are_no_outliers_of_a_column_of_ones() -> None:
    counts = {0: 185, 1: 44, 2: 11, 3: 4, 4: 10, 5: 3, 6: 3, 7: 1, 10: 1, 11: 1, 12: 1, 15: 1}
    x = np.repeat([float(k) for k in counts], list(counts.values()))
    assert not (judge_numbers(x[:, None], [1.0])[0].wrong > 0.5).any()


def test_two_numbers_that_fit_in_each_others_place_were_exchanged() -> None:
    rng = np.random.default_rng(2)
    age, income = rng.integers(20, 80, 400).astype(float), np.round(np.exp(rng.normal(10.4, 0.4, 400)), -3)
    x = np.column_stack([age, income])
    x[7], x[30, 0], x[30, 1] = x[7, ::-1], 4100.0, 5.0  # 60 of 32000, and two errors that do not fit
    found = judge_numbers(x, [1.0, 1.0], names=["age", "income"])
    assert [v.suggestion[7] for v in found] == [age[7], income[7]]
    assert min(v.confidence[7] for v in found) > 0.9
    assert found[0].relations == {7: "exchanged with income"}
    assert found[1].relations == {7: "exchanged with age"}


def test_the_zero_of_what_was_not_there_is_no_outlier_of_the_columns_that_seldom_hold_it() -> None:
    rng = np.random.default_rng(0)
    x = np.exp(rng.normal(5, 0.3, (150, 24))).round(1)
    for j in range(24):
        x[rng.choice(150, size=2, replace=False), j] = 0.0
    assert not any((v.wrong >= 0.5).any() for v in judge_numbers(x, [0.1] * 24))
    assert any((v.wrong >= 0.5).any() for v in judge_numbers(x[:, :6], [0.1] * 6))
