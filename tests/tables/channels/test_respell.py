"""Misspellings whose correction no other row holds."""

from __future__ import annotations

from magnet.tables.channels.base import UNKNOWN
from magnet.tables.channels.respell import Respell
from magnet.tables.channels.typo import Typo
from magnet.tables.coded import CodedTable
from magnet.tables.experts.base import ColumnContext
from magnet.tables.roles import infer_role


def corrections(texts: list[str]) -> dict[str, list[str]]:
    """Proposed corrections by observed text, the likeliest first; ``?`` where it is not known."""
    context = ColumnContext(CodedTable.of({"x": texts}), 0)
    values, out = context.column.values, dict[str, list[tuple[float, str]]]()
    for a, b, p, m in Respell(Typo()).propose(context):
        out.setdefault(values[a], []).append((p * m, "?" if b == UNKNOWN else values[b]))
    return {o: [v for _, v in sorted(pairs, reverse=True)] for o, pairs in out.items()}


STREETS = [f"{k} {name} Street" for k in range(11, 31) for name in ("Market", "Harbor", "Castle")]


def test_an_unknown_word_becomes_the_known_one_beside_it() -> None:
    assert corrections([*STREETS, "77 Markt Street"])["77 Markt Street"][0] == "77 Market Street"


def test_a_value_of_odd_shape_takes_the_usual_one() -> None:
    codes = [f"{a}{b}-{100 + 7 * k}" for k, (a, b) in enumerate((a, b) for a in "ABCDEFG" for b in "HJKLMN")]
    found = corrections([*codes, "XY--555"])
    assert found["XY--555"][0] == "XY-555"


def test_numbers_of_another_length_are_no_misspellings_where_lengths_vary() -> None:
    assert corrections([str(3**k) for k in range(12)] * 2 + ["12345678"]) == {}


def test_values_that_fit_are_left_alone() -> None:
    assert corrections(STREETS) == {}


def test_junk_is_taken_off_a_new_value() -> None:
    assert corrections([*STREETS, "77 Market Street ***"])["77 Market Street ***"][0] == "77 Market Street"


def test_a_number_with_a_usual_unit_is_no_misspelling() -> None:
    weights = [f"{1 + k % 9}.{10 + k} kg" for k in range(60)] + [f"{100 + 3 * k} g" for k in range(60)]
    table = CodedTable.of({"weight": [*weights, "12.40 kg", "3.71 kgx"]})
    column = table.columns[0]
    column.role = infer_role(column, table)
    assert column.role.name == "unit"
    suspects = ColumnContext(table, 0, {}, True).suspects()
    assert {column.values[k] for k in suspects} == {"3.71 kgx"}
