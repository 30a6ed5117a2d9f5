"""The list of suspicious cells: which are listed, which are changed, in the types of the table."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from magnet.tables import from_frames
from magnet.tables.findings import CellFinding
from magnet.tables.readers.parquet import ArrowTable
from magnet.tables.review import COLUMNS, CleaningRecord, changes_of, list_cells

FRAME = pd.DataFrame({"id": ["a", "b", "c", "d"], "city": ["Rome", "Rmoe", "Oslo", ""], "age": [41, 40, 4200, 43]})


def finding(row, column, observed, suggested, probability=0.95, confidence=0.95, kind="typo"):
    return CellFinding(row, column, observed, suggested, probability, confidence, kind, "because")


FINDINGS = [
    finding(1, "city", "Rmoe", "Rome"),
    finding(2, "age", "4200", "42", 0.8, 0.6, "outlier"),
    finding(3, "city", "", "Oslo", 0.7, 0.99, "missing"),
    finding(0, "age", "41", None, 0.6, 0.0, "outlier"),
    finding(0, "city", "Rome", "Oslo", 0.4, 0.4),
]


@pytest.fixture
def table():
    return from_frames(FRAME, id="id")


def actions(cells):
    return {
        (row, column): action
        for row, column, action in zip(cells["row"], cells["column"], cells["action"], strict=True)
    }


def test_cells_are_listed_from_one_half_and_changed_from_nine_tenths(table):
    cells = list_cells(table, FINDINGS)
    assert list(cells.columns) == COLUMNS
    assert actions(cells) == {(1, "city"): "corrected", (2, "age"): "kept", (3, "city"): "kept", (0, "age"): "kept"}
    assert cells["probability"].is_monotonic_decreasing
    assert cells["node"].tolist()[0] == "b"
    assert cells["score"].tolist()[0] == pytest.approx(2.944, abs=1e-3)  # log(.95 / .05)


def test_all_changes_what_has_a_suggestion_and_none_changes_nothing(table):
    everything = actions(list_cells(table, FINDINGS, fix="all"))
    assert everything == {(1, "city"): "corrected", (2, "age"): "corrected", (3, "city"): "kept", (0, "age"): "kept"}
    assert set(actions(list_cells(table, FINDINGS, fix="none", fill=True)).values()) == {"kept"}


def test_blanks_are_written_only_when_asked(table):
    assert actions(list_cells(table, FINDINGS, fill=True))[(3, "city")] == "filled"
    improbable = [finding(3, "city", "", "Oslo", 0.1, 0.9, "missing")]
    assert actions(list_cells(table, improbable)) == {}
    assert actions(list_cells(table, improbable, fill=True)) == {(3, "city"): "filled"}


def test_a_threshold_and_a_largest_share_bound_what_happens(table):
    assert len(list_cells(table, FINDINGS, threshold=0.75)) == 2
    capped = list_cells(table, FINDINGS, fix="all", max_share=1 / 12)
    assert actions(capped)[(1, "city")] == "corrected"
    assert actions(capped)[(2, "age")] == "kept"


def test_suggestions_have_the_type_of_their_column(table):
    cells = list_cells(table, FINDINGS, fix="all")
    new = table.changed(changes_of(table, cells))
    assert new.dtypes.equals(table.frame.dtypes)
    assert new["age"].tolist() == [41, 40, 42, 43]
    assert new["city"].tolist() == ["Rome", "Rome", "Oslo", ""]
    unfit = list_cells(table, [finding(1, "age", "40", "forty")], fix="all")
    assert unfit["suggested"].tolist() == [None]
    assert unfit["action"].tolist() == ["kept"]


def test_what_was_not_judged_is_said(table):
    record = CleaningRecord(
        table,
        list_cells(table, FINDINGS),
        {"id": ("identifier", ""), "city": ("category", ""), "age": ("quantity", "")},
        {"city": "free text"},
        repeated_rows=[[0, 1]],
        repeated_keys={"id": {"a": [0, 1]}},
    )
    said = record.limits()
    assert said[0] == "Not judged: column 'city' (free text; blank cells: 1)."
    assert said[1] == "With fewer than 20 rows (4 here), most errors cannot be recognized."
    assert said[2] == "Rows 0, 1 are identical (counted from 0); repeated rows confirm one another."
    assert said[3] == "Column 'id' looks like a key, but 'a' repeats."
    part = replace(record, not_judged={}, judged_in_part={"id": "rare", "city": "rare"}).limits()
    assert part[0] == "Judged in part: columns 'id', 'city' (rare)."
    assert record.judged == ["id", "age"]
    assert record.counts == {"corrected": 1, "filled": 0, "kept": 3}


def test_columns_that_cannot_be_read_are_not_called_blank_and_an_index_is_named() -> None:
    source = ArrowTable(Path("a table"), pa.table({"l": [[1], [2]], "n": [1, 2]}))
    nested = from_frames(source.frame.rename_axis("k"), origin=source)
    record = CleaningRecord(nested, list_cells(nested, []), {"l": ("other", ""), "n": ("", "")}, {"l": "nested"})
    assert record.limits()[:2] == [
        "Not judged: the index ('k'); reset_index() makes columns of it.",
        "Not judged: column 'l' (nested).",
    ]
