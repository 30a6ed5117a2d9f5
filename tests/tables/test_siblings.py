import numpy as np

from magnet.tables.siblings import Siblings


def test_codes_that_are_one_digit_apart_make_another_one_likely():
    """Four established codes, each one digit from another, and a new one beside the first."""
    values = ["A11", "A12", "A13", "A14", "A15", "Bern"]
    counts = np.array([9, 9, 9, 9, 1, 9])
    near = {0: [(1, 0.2)], 2: [(3, 0.2)], 4: [(0, 0.25)], 5: []}
    measures = dict(Siblings(values, counts, near, {}).measures())
    # 4 of 5 established values have a sibling (Bern has none): share 4 / (5 + 1), divided by 5
    assert np.isclose(measures[4], 4 / 6 * 0.25 / 5)


def test_a_value_beside_a_far_more_frequent_one_is_none_of_its_own():
    values, counts = ["Bern", "Bren", "Oslo", "Rome"], np.array([90, 3, 90, 90])
    assert not list(Siblings(values, counts, {1: [(0, 0.3)]}, {}).measures())


def test_days_of_one_row_each_are_often_a_digit_apart():
    values = [f"2024-01-{day:02}" for day in range(1, 29)] + ["2024-02-01"]
    counts = np.ones(len(values), dtype=np.int64)
    memory: dict[str, object] = {}
    found = dict(Siblings(values, counts, {28: [(0, 0.1)]}, memory).measures())
    assert found[28] > 0.5 * 0.1 / len(values)
    assert memory["lonely_state"] is not None
