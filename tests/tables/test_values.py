from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from magnet.tables import from_frames
from magnet.tables.values import cell_text, parser, texts

COLUMNS: list[tuple[pd.Series, list[str]]] = [
    (pd.Series([1, 2**62, -3]), ["1", "4611686018427387904", "-3"]),
    (pd.Series([1, None, 2**63 + 1], dtype="UInt64"), ["1", "", "9223372036854775809"]),
    (pd.Series([2**70, 3, None], dtype=object), ["1180591620717411303424", "3", ""]),
    (pd.Series([0.1, 3e9, np.nan], dtype="float32"), ["0.1", "3000000000.0", ""]),
    (pd.Series([0.1, None, 2.5], dtype="Float32"), ["0.1", "", "2.5"]),
    (pd.Series([1e-7, 3038190000.0, 1e300]), ["0.0000001", "3038190000.0", "1e+300"]),
    (pd.Series([True, False, None], dtype="boolean"), ["True", "False", ""]),
    (pd.Series([True, False, None], dtype=object), ["True", "False", ""]),
    (pd.Series(["a", "NA", None], dtype="str"), ["a", "NA", ""]),
    (pd.Series(["a", None, "b"], dtype="category"), ["a", "", "b"]),
    (pd.Series([3, 1, 3], dtype="category"), ["3", "1", "3"]),
    (pd.Series([Decimal("1.50"), Decimal("2E+3"), None], dtype=object), ["1.50", "2000", ""]),
    (pd.Series([datetime.date(2024, 2, 29), None], dtype=object), ["2024-02-29", ""]),
    (pd.Series(pd.to_datetime(["2024-02-29 10:00", None])), ["2024-02-29T10:00:00", ""]),
    (pd.Series([1, None], dtype=pd.ArrowDtype(pa.int8())), ["1", ""]),
    (pd.Series([Decimal("1.50")], dtype=pd.ArrowDtype(pa.decimal128(9, 2))), ["1.50"]),
]


@pytest.mark.parametrize(("series", "expected"), COLUMNS, ids=lambda value: str(getattr(value, "dtype", "")))
def test_cells_become_text_and_come_back_in_their_type(series: pd.Series, expected: list[str]) -> None:
    assert texts(series) == expected
    parse = parser(series)
    for text, value in zip(expected, series, strict=True):
        if text:
            again = parse(text)
            assert cell_text(again) == text
            assert type(again) is type(value) or not isinstance(value, bool | str | Decimal | datetime.date)


@pytest.mark.parametrize(
    ("series", "text", "reason"),
    [
        (pd.Series([1], dtype="int8"), "128", "not within -128 to 127"),
        (pd.Series([1]), "1.5", "not an integer"),
        (pd.Series([1]), "1e999999999", "not an integer"),
        (pd.Series([1.5], dtype="float32"), "1e39", "not a finite number"),
        (pd.Series([1.5]), "nan", "not a finite number"),
        (pd.Series([True]), "maybe", "neither True nor False"),
        (pd.Series(["a"], dtype="category"), "b", "not a category"),
        (pd.Series([Decimal("1.5")], dtype=pd.ArrowDtype(pa.decimal128(3, 1))), "1234.5", "not a valid decimal128"),
        (pd.Series([Decimal("1.5")], dtype=object), "x", "not a number"),
        (pd.Series(pd.to_datetime(["2024-02-29"])), "2024-02-30", "not a date"),
    ],
)
def test_what_a_type_cannot_hold_is_refused(series: pd.Series, text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parser(series)(text)


def test_a_data_frame_keeps_index_labels_and_types() -> None:
    index = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["x", "y"])
    frame = pd.DataFrame(
        {
            0: pd.Series([False, True, None], dtype=object),
            ("n", 1): pd.array([2**60, None, 3], dtype="Int64"),
            "d": [Decimal("1.5"), Decimal("2.5"), None],
            "list": [[1], [2], [3]],
            "c": pd.Categorical(["u", "v", "u"]),
        }
    )
    frame.index = index
    before = frame.copy(deep=True)
    table = from_frames(frame)
    assert table.left_alone == {"list": "values of type list are not judged"}
    assert table.text_columns()["('n', 1)"] == ["1152921504606846976", "", "3"]
    changes: dict[str, Any] = {
        "0": (np.array([2]), [table.parse_cell("0", "False")]),
        "('n', 1)": (np.array([1]), [table.parse_cell("('n', 1)", str(2**60 + 1))]),
        "d": (np.array([2]), [table.parse_cell("d", "3.5")]),
        "c": (np.array([0]), [table.parse_cell("c", "v")]),
    }
    new = table.changed(changes)
    assert new.index.equals(index)
    assert list(new.columns) == list(frame.columns)
    assert new.dtypes.tolist() == frame.dtypes.tolist()
    assert new[0].tolist()[:2] == [False, True]
    assert new[0].iloc[2] is False
    assert new[("n", 1)].tolist() == [2**60, 2**60 + 1, 3]
    assert new["d"].tolist() == [Decimal("1.5"), Decimal("2.5"), Decimal("3.5")]
    assert new["c"].tolist() == ["v", "v", "u"]
    pd.testing.assert_frame_equal(frame, before)


def test_equal_numbers_are_written_once_and_signs_of_zero_stay() -> None:
    column = pd.Series([0.0, -0.0, float("nan"), 1e-7, 0.0, -0.0])
    assert texts(column) == ["0.0", "-0.0", "", "0.0000001", "0.0", "-0.0"]
    assert texts(column) == [cell_text(value) for value in column.tolist()]
