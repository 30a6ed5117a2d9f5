"""Values that follow from a number."""

from __future__ import annotations

import numpy as np

from magnet.tables.posterior import judge_table


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
