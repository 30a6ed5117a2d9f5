"""Exact arithmetic between columns, and who broke it."""

from itertools import combinations

import numpy as np

from magnet.tables.numbers import judge_numbers
from magnet.tables.numbers.relations import Relation, _candidates, find_relations, localize_errors
from magnet.tables.options import MIN_ROWS

NAMES = ["a", "b", "c", "d"]


def _parts(rows: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.integers(10, 900, rows).astype(float), rng.integers(10, 900, rows).astype(float)


def test_sum_rate_copy_and_block_are_found() -> None:
    a, b = _parts()
    c = np.random.default_rng(1).integers(10, 900, 60).astype(float)
    assert [r.written(NAMES) for r in find_relations(np.column_stack([a, b, a + b]), [1.0] * 3)] == ["c = a + b"]
    rate = np.round(100 * a / b, 1)
    found = find_relations(np.column_stack([a, b, rate]), [1.0, 1.0, 0.1])
    assert [r.written(NAMES) for r in found] == ["c = 100 * a / b"]
    feet = np.round(3.28084 * a, 2)
    assert [r.written(NAMES) for r in find_relations(np.column_stack([a, feet]), [1.0, 0.01])] == ["b = 3.28084 * a"]
    found = find_relations(np.column_stack([a, b, c, a + b + c]), [1.0] * 4)
    assert Relation("sum", 3, (0, 1, 2), exact=True) in found


def test_products_and_ratios_are_those_of_a_search_column_by_column() -> None:
    a, b = _parts()
    x = np.column_stack([a, b, np.round(a * b * 1.001), 0.3 * a, a / b, b * b])
    x[::7, 3], x[3, 4], x[5:50, 5] = np.nan, 0.0, np.nan
    logs = np.log(np.abs(np.where(x == 0, np.nan, x)))
    asked = [("product", (k,), logs[:, k]) for k in range(6)]
    for k, j in combinations(range(6), 2):
        asked += [("product", (k, j), logs[:, k] + logs[:, j]), ("ratio", (k, j), logs[:, k] - logs[:, j])]
    expected = []
    for kind, terms, known in asked:
        for target in (t for t in range(6) if t not in terms and (len(terms) > 1 or t > terms[0])):
            rest = (logs[:, target] - known)[np.isfinite(logs[:, target] - known)]
            if rest.size >= MIN_ROWS and np.subtract(*np.quantile(rest, [0.8, 0.2])) < 0.05:
                expected.append((kind, target, terms))
    found = [(r.kind, r.target, r.terms) for r in _candidates(x, [0.01] * 6, list(range(6))) if r.kind != "sum"]
    assert len(found) > 5
    assert found == expected


def test_numbers_that_are_only_alike_have_no_relation() -> None:
    a, b = _parts()
    noise = np.random.default_rng(2).normal(0, 3, 60)
    assert not find_relations(np.column_stack([a, b, np.round(a + b + noise)]), [1.0] * 3)
    zeros = np.zeros(60)
    zeros[:12] = np.arange(12)
    assert not find_relations(np.column_stack([a, zeros, a + zeros]), [1.0] * 3)  # nothing was ever added


def test_solving_for_each_member_undoes_the_relation() -> None:
    x = np.array([[6.0, 3.0, 18.0, 2.0]])
    for relation in (Relation("product", 2, (0, 1)), Relation("ratio", 3, (0, 1)), Relation("sum", 2, (0, 1, 3))):
        whole = x.copy()
        whole[:, relation.target] = relation.expected(x)
        for member in relation.members:
            assert relation.solve(whole, member)[0] == whole[0, member]


def test_a_broken_total_is_put_right_and_its_parts_are_not_blamed() -> None:
    a, b = _parts(200)
    x = np.column_stack([a, b, a + b])
    x[7, 2] = 40_000.0
    x[9, 0] = x[9, 0] * 100
    found = judge_numbers(x, [1.0] * 3, names=NAMES)
    listed = {(int(row), j) for j, v in enumerate(found) for row in np.flatnonzero(v.wrong >= 0.5)}
    assert listed == {(7, 2), (9, 0)}
    assert found[2].suggestion[7] == a[7] + b[7]
    assert found[2].confidence[7] > 0.9
    assert found[2].relations[7] == "c = a + b"
    assert found[0].suggestion[9] == a[9]


def test_an_extreme_row_that_adds_up_is_right() -> None:
    a, b = _parts(200)
    a[3], b[3] = 50_000.0, 70_000.0
    found = judge_numbers(np.column_stack([a, b, a + b]), [1.0] * 3)
    assert not any((v.wrong >= 0.5).any() for v in found)


def test_labels_are_judged_only_if_they_take_part_in_arithmetic() -> None:
    a, b = _parts(200)
    x = np.column_stack([a, b, a + b, np.random.default_rng(3).permutation(200) + 1.0])
    x[5, 2], x[6, 3] = 90_000.0, 90_000.0
    found = judge_numbers(x, [1.0] * 4, unsure=[2, 3])
    assert found[2].wrong[5] > 0.9
    assert "labels" in found[3].reason


def test_a_plausible_error_of_a_part_or_total_is_not_written_to_another_part() -> None:
    rng = np.random.default_rng(0)
    salary = rng.normal(70_000, 20_000, 400).round(-2)
    bonus = (salary * rng.choice([0, 0.05, 0.1, 0.15], 400)).round(-1)
    x = np.column_stack([salary, bonus, salary + bonus])
    x[[5, 50, 100, 150, 200, 250], 2] += 20_000
    found = judge_numbers(x, [1.0] * 3)
    assert max(v.wrong[5] for v in found) >= 0.5  # something is wrong there
    for verdict in found[:2]:
        assert verdict.confidence[verdict.wrong >= 0.5].max(initial=0.0) < 0.9


def test_a_decimal_slip_explains_the_solution_of_rounded_numbers_exactly() -> None:
    rng = np.random.default_rng(0)
    bill = rng.gamma(6, 3, 400).round(2)
    tip = (bill * rng.normal(0.16, 0.03, 400)).round(2)
    x = np.column_stack([bill, tip, (tip / bill * 100).round(1)])
    x[[10, 60], 0] *= 10
    x[110, 0] = bill[110] * 3.3 + 0.11  # no slip: rounded tips and percentages do not tell the cents
    found = judge_numbers(x, [0.01, 0.01, 0.1])[0]
    np.testing.assert_allclose(found.suggestion[[10, 60]], bill[[10, 60]])
    assert found.confidence[[10, 60]].min() > 0.9
    assert found.wrong[110] >= 0.5
    assert found.confidence[110] < 0.9


def test_the_uncertainty_of_a_solution_covers_the_rounding_of_the_others() -> None:
    rng = np.random.default_rng(1)
    exact = rng.uniform(10, 90, (500, 2))
    x = np.column_stack([exact.round(1), (exact[:, 0] * exact[:, 1]).round(0)])
    relation = Relation("product", 2, (0, 1))
    off = np.abs(relation.solve(x, 0) - exact[:, 0])
    bound = relation.uncertainty(x, [0.1, 0.1, 1.0], 0)
    assert (off <= bound * 1.01).all()
    assert np.median(bound / off.clip(1e-3)) < 20


def _lines(rows: int = 200) -> np.ndarray:
    rng = np.random.default_rng(3)
    price, quantity = rng.integers(100, 9000, rows) / 100, rng.geometric(0.5, rows).astype(float)
    return np.column_stack([price, quantity, np.round(price * quantity, 2)])


def test_counts_are_exact_so_that_line_totals_are_found_and_a_wrong_one_is_mended() -> None:
    x, steps = _lines(), [0.01, 1.0, 0.01]
    assert [(r.kind, r.target, r.terms, r.exact) for r in find_relations(x, steps)] == [("product", 2, (0, 1), True)]
    right = x.copy()
    x[5, 2], x[9, 2] = 10 * x[5, 2] + 7.31, 0.0  # neither is a multiple of the price
    found = judge_numbers(x, steps, names=["price", "quantity", "total"])
    for row in (5, 9):
        assert [v.wrong[row] > 0.5 for v in found] == [False, False, True]
        assert round(float(found[2].suggestion[row]), 2) == right[row, 2]


def test_a_total_whose_other_part_is_zero_is_proved_and_can_be_broken() -> None:
    rng = np.random.default_rng(4)
    profit = np.round(rng.normal(30, 40, 400), 1)
    tax = np.round(0.25 * np.maximum(profit, 0), 1)
    x = np.column_stack([profit, tax, profit - tax])  # three quarters of the profit, except for losses
    found = judge_numbers(x, [0.1] * 3)
    assert not any((v.wrong > 0.5).any() for v in found)
    lost = int(np.flatnonzero(tax > 20)[0])
    x[lost, 1] = 0.0
    assert judge_numbers(x, [0.1] * 3)[1].wrong[lost] > 0.5


def test_a_total_without_a_rare_part_is_no_relation() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.integers(100, 900, (2, 300)).astype(float)
    c = np.where(rng.random(300) < 0.08, rng.integers(100, 900, 300), 0).astype(float)
    found = find_relations(np.column_stack([a, b, c, a + b + c]), [1.0] * 4)
    assert [(r.target, r.terms) for r in found] == [(3, (0, 1, 2))]


def test_a_cell_that_mends_two_relations_is_wrong_rather_than_one_that_mends_one() -> None:
    a, b = _parts()
    c = np.random.default_rng(1).integers(10, 900, 60).astype(float)
    x = np.column_stack([a, b, a + b, c, a + b + c])
    relations = [Relation("sum", 2, (0, 1), exact=True), Relation("sum", 4, (2, 3), exact=True)]
    x[7, 2] += 300

    def equal(member: int, rows: np.ndarray, values: np.ndarray, off: np.ndarray) -> np.ndarray:
        return np.zeros(rows.size)

    found = localize_errors(relations, x, [1.0] * 5, equal)
    assert found.wrong[7, 2] > 0.9
    assert found.wrong[7, [0, 1, 3, 4]].max() < 0.1


def test_two_terms_that_were_exchanged_are_no_proof_against_the_share_of_one() -> None:
    rng = np.random.default_rng(7)
    a, b, c = rng.integers(100, 900, (3, 300)).astype(float)
    x = np.column_stack([a, b, c, a + b + c, np.round(100 * a / (a + b + c), 2)])
    x[20, 0], x[20, 1] = b[20], a[20]
    found = judge_numbers(x, [1.0, 1.0, 1.0, 1.0, 0.01])
    assert found[4].wrong[20] < 0.5
    assert found[0].wrong[20] > 0.5
    assert found[0].suggestion[20] == a[20]
