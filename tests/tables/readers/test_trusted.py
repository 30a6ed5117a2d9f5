"""Cells marked as correct."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from magnet.tables import Table, from_frames
from magnet.tables.readers.trusted import read_trusted, trusted_cells


@pytest.fixture
def table() -> Table:
    return from_frames(pd.DataFrame({"id": ["a", "b", "c"], "size": [1.0, 2.0, 4.0], "town": ["x", "y", "x"]}), id="id")


def test_a_file_names_cells_or_whole_rows(table: Table, tmp_path: Path) -> None:
    path = tmp_path / "trusted.csv"
    path.write_text("node,column\nb,town\nc,size\n")
    assert read_trusted(path, table).tolist() == [[False] * 3, [False, False, True], [False, True, False]]
    path.write_text("id\nb\n")
    assert read_trusted(path, table).tolist() == [[False] * 3, [True] * 3, [False] * 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("row\n1\n", r"has the columns 'row'; 'node' \(and 'column'\) are needed"),
        ("node,col\na,age\n", "has a column 'col' and none named 'column'"),
        ("node\nz\n", r"row 1: node 'z' is not in the table \(3 rows read\)"),
        ("node,column\na,weight\n", "row 1: there is no column 'weight'"),
    ],
)
def test_what_the_table_has_not_is_refused(table: Table, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "trusted.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_trusted(tmp_path / "trusted.csv", table)


def test_arrays_and_frames(table: Table) -> None:
    assert trusted_cells(table, None) is None
    by_row = trusted_cells(table, np.array([True, False, False]))
    by_column = trusted_cells(table, pd.DataFrame({"town": [True, False, True]}))
    assert by_row is not None
    assert by_column is not None
    assert by_row.tolist() == [[True] * 3, [False] * 3, [False] * 3]
    assert by_column.tolist() == [[False, False, True], [False] * 3, [False, False, True]]
    with pytest.raises(ValueError, match=r"shape \[2\]; it must be \[3\] or \[3, 3\]"):
        trusted_cells(table, [True, False])
