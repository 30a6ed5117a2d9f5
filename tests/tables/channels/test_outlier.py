"""Wrong numbers in a table of texts."""

from typing import Any

import numpy as np
import pytest

from magnet.tables.channels.outlier import _context, audit
from magnet.tables.posterior import judge_table


def test_a_slipped_decimal_point_is_put_back_in_the_columns_own_writing() -> None:
    rng = np.random.default_rng(0)
    price = [f"{x:.2f}" for x in rng.normal(20, 1, 200)]
    right = price[17]
    price[17] = f"{float(right) * 100:.2f}"
    cells = judge_table({"price": price}).cells
    assert [(c.row, c.suggested, c.kind) for c in cells] == [(17, right, "outlier")]
    assert cells[0].confidence >= 0.9
    assert "100 times as large" in cells[0].reason


@pytest.mark.parametrize(("usual", "far"), [("quantities", "-20"), ("salaries", "450000")])
def test_what_only_its_column_speaks_against_is_listed_and_not_rewritten(usual: str, far: str) -> None:
    """A return among sales and the salary of a director look like numbers of the column with another sign or point."""
    rng = np.random.default_rng(2)
    usual_numbers = rng.integers(1, 30, 200) if usual == "quantities" else rng.normal(60_000, 12_000, 200).round(-2)
    cells = judge_table({usual: [far, *(f"{x:.0f}" for x in usual_numbers)]}).cells
    assert [(c.row, c.suggested) for c in cells] == [(0, far.strip("-").replace("0000", "000"))]
    assert cells[0].confidence < 0.9


def test_a_refund_is_listed_and_not_rewritten() -> None:
    rng = np.random.default_rng(1)
    price = {"Mug": 7.5, "Lamp": 39.9, "Chair": 89.0, "Desk": 249.0, "Pen": 1.2}
    product, quantity = rng.choice(list(price), 250), rng.integers(1, 6, 250)
    quantity[[151, 114]] *= -1
    total = [f"{price[name] * number:.2f}" for name, number in zip(product, quantity, strict=True)]
    cells = judge_table({"product": product.tolist(), "qty": [str(k) for k in quantity], "total": total}).cells
    assert {(c.row, c.column) for c in cells} == {(row, name) for row in (151, 114) for name in ("qty", "total")}
    assert max(c.confidence for c in cells) < 0.9


def test_identifiers_and_codes_are_never_arithmetic() -> None:
    rng = np.random.default_rng(1)
    codes = [f"{x:05d}" for x in rng.integers(10000, 20000, 200)]
    codes[3] = "99999"
    assert not [c for c in judge_table({"zip": codes}).cells if c.kind == "outlier"]


def test_a_column_that_cannot_be_judged_is_named() -> None:
    values = [str(k % 3) for k in range(60)]
    found = judge_table({"grade": values, "other": [str(k * k) for k in range(60)]})
    assert "grade" in found.judged_in_part


def test_a_far_date_and_an_end_before_its_start_are_found() -> None:
    rng = np.random.default_rng(2)
    first = np.datetime64("2015-01-01") + rng.integers(0, 900, 200)
    last = first + rng.integers(5, 40, 200)
    first[3], last[9] = np.datetime64("2077-03-01"), first[9] - 300
    cells = judge_table({"start": [str(d) for d in first], "end": [str(d) for d in last]}).cells
    assert (3, "start") in {(c.row, c.column) for c in cells}
    assert {c.column for c in cells if c.row == 9} & {"start", "end"}
    assert {c.row for c in cells} <= {3, 9}


def test_dates_with_the_day_first_are_judged_as_such() -> None:
    """Read with the month first, the tenth of May would be an end in October, long after the others of its row."""
    rng = np.random.default_rng(4)
    first = np.datetime64("2015-01-01") + rng.integers(0, 300, 200)
    last = first + rng.integers(1, 5, 200)
    last[9] = first[9] + 30

    def written(days: np.ndarray) -> list[str]:
        return [f"{d.day:02d}/{d.month:02d}/{d.year}" for d in days.astype(object)]

    cells = judge_table({"start": written(first), "end": written(last)}).cells
    assert {c.row for c in cells} == {9}


def test_blanks_get_what_the_row_expects_if_asked() -> None:
    rng = np.random.default_rng(3)
    a = np.round(rng.normal(50, 10, 200), 1)
    b = [f"{2 * x:.1f}" for x in a + rng.normal(0, 0.2, 200)]
    b[11] = ""
    table = {"a": [f"{x:.1f}" for x in a], "b": b}
    assert not judge_table(table).cells
    filled = judge_table(table, fill=True).cells
    assert [(c.row, c.column, c.kind) for c in filled] == [(11, "b", "missing")]
    assert abs(float(filled[0].suggested or "nan") - 2 * a[11]) < 2


def test_a_prediction_that_no_cell_holds_is_no_certain_replacement() -> None:
    """Rates of a state differ by a hair, one is far off: what should stand there lies between values that do."""
    rows = range(120)
    columns = {
        "state": ["OH" if k % 2 else "IA" for k in rows],
        "rate": [f"{(40 if k % 2 else 70) + (k % 10) / 1000 + k / 1e6:.6f}" for k in rows],
    }
    columns["rate"][17] = "93.123457"
    cells = [c for c in judge_table(columns).cells if c.row == 17]
    assert [c.kind for c in cells] == ["outlier"]
    assert cells[0].suggested not in columns["rate"]
    assert cells[0].confidence <= 0.5


def test_what_an_expectation_rests_on_is_said_in_words() -> None:
    assert _context(()) == "the column"
    assert _context(("row",)) == "the rest of the row"
    blocks = ("links", "row", "squares", "group:state", "order")
    assert (
        _context(blocks) == "linked rows, the rest of the row, rows with the same state and the rows before and after"
    )


@pytest.mark.parametrize("form", ["${:,.2f}", "{:.1f} kg", "EUR {:.2f}"])
def test_numbers_with_a_unit_are_judged_and_written_with_it(form: str) -> None:
    rng = np.random.default_rng(0)
    texts = [form.format(value) for value in rng.normal(50, 8, 300)]
    assert not [f for f in judge_table({"weight": texts}).cells if f.kind == "outlier"]
    texts[7], texts[9] = form.format(5210.0), form.format(-48.0)
    found = {f.row: f for f in judge_table({"weight": texts}).cells if f.kind == "outlier"}
    assert set(found) == {7, 9}
    assert found[9].suggested == form.format(48.0)


def test_digits_that_may_be_lost_are_not_made_up() -> None:
    rng = np.random.default_rng(1)
    texts = [f"{value:.2f}" for value in rng.normal(50, 5, 300)]
    texts[5] = "0.57"
    [finding] = [f for f in judge_table({"x": texts}).cells if f.row == 5]
    assert finding.suggested == "57.00"  # or 56.81, divided and rounded
    assert finding.confidence < 0.9
    whole = [f"{round(value)}.00" for value in rng.normal(50, 2, 300)]
    whole[5] = "0.51"
    [finding] = [f for f in judge_table({"x": whole}).cells if f.row == 5]
    assert finding.confidence > 0.9


def test_a_far_number_is_not_replaced_by_the_middle_of_its_column(coded: Any) -> None:
    hours = ["40"] * 500 + ["20"] * 130 + ["30"] * 125 + ["400", "400", "300"]  # 40 is a state, so 20 is the middle
    found = {f.row: f for _, f in audit(coded({"hours": hours}))}
    assert found[755].suggested == "20"
    assert found[755].confidence < 0.5
