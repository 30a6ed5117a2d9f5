"""Values that follow from a number."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from magnet.tables.coded import CodedTable
from magnet.tables.experts.brackets import _agreement, _best, _kept_groups
from magnet.tables.posterior import _set_roles, judge_table


def taxes(rows: int = 1200) -> dict[str, list[str]]:
    """A rate that follows from the state and the salary."""
    rng = np.random.default_rng(0)
    pay, state = rng.integers(10_000, 100_000, size=rows), rng.integers(3, size=rows)
    step = np.digitize(pay, [30_000, 60_000])
    return {
        "state": [("NY", "OH", "TX")[k] for k in state],
        "salary": [str(x) for x in pay],
        "rate": [f"{1 + 2 * s + 0.5 * k:.1f}" for s, k in zip(state, step, strict=True)],
    }


def test_a_rate_of_another_bracket_is_found_and_a_clean_table_stays_clean() -> None:
    columns = taxes()
    assert judge_table(columns).cells == []
    ny = [i for i, state in enumerate(columns["state"]) if state == "NY"]
    row = next(i for i in ny if 44_000 < int(columns["salary"][i]) < 46_000)
    columns["rate"][row] = "2.0"
    [cell] = judge_table(columns).cells
    assert (cell.row, cell.column, cell.suggested) == (row, "rate", "1.5")
    assert "nearest salary and the same state" in cell.reason


def test_brackets_that_overlap_have_no_exceptions() -> None:
    rng = np.random.default_rng(0)
    grade = rng.integers(1, 6, size=400)
    pay = np.exp(0.18 * grade + rng.normal(0, 0.06, size=400))
    assert judge_table({"grade": [f"G{k}" for k in grade], "pay": [f"{x:.4f}" for x in pay]}).cells == []


def test_the_number_and_the_group_are_those_with_most_equal_neighbors() -> None:
    table = CodedTable.of(taxes() | {"noise": [str(k * k % 997) for k in range(1200)]})
    _set_roles(table, None)
    state, salary, rate, noise = (np.array(c.values, dtype=object)[c.current] for c in table.columns)

    def equal_neighbors(number: np.ndarray, group: np.ndarray) -> float:
        order = sorted(range(1200), key=lambda i: (group[i], float(number[i])))
        pairs = [(i, j) for i, j in pairwise(order) if group[i] == group[j]]
        return float(np.mean([rate[i] == rate[j] for i, j in pairs]))

    everywhere = np.zeros(1200, dtype=object)
    shares = {
        (number, group): equal_neighbors(*columns)
        for (number, group), columns in {
            (1, 0): (salary, state),
            (1, -1): (salary, everywhere),
            (3, 0): (noise, state),
            (3, -1): (noise, everywhere),
        }.items()
    }
    assert _best(table, 2) == max(shares, key=lambda each: shares[each]) == (1, 0)


def test_agreement_is_the_share_of_equal_pairs() -> None:
    table = CodedTable.of({"group": list("aabbb"), "value": list("xxyyz")})
    group, value = (c.current for c in table.columns)
    pairs = [(i, j) for i in range(5) for j in range(5) if i != j and group[i] == group[j]]
    expected = np.mean([value[i] == value[j] for i, j in pairs])
    assert _agreement(_kept_groups(table, 0, np.arange(5)), value) == expected == 0.5
