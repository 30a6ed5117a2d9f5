"""Columns as distinct texts and codes."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp

from magnet.tables.coded import DENSE, CodedColumn, CodedTable, distinct, joint, row_counts


def test_a_column_is_its_distinct_texts_and_their_places() -> None:
    column = CodedColumn.of("x", ["b", "a", "", "b"])
    assert column.values == ["b", "a", ""]
    assert column.read.tolist() == [0, 1, 2, 0]
    assert column.blank == 2
    assert column.code("new") == 3
    assert column.counts().tolist() == [2, 1, 1, 0]
    order, starts = column.rows_by_value()
    assert order[starts[0] : starts[1]].tolist() == [0, 3]


def test_repairs_change_the_current_column_only() -> None:
    column = CodedColumn.of("x", ["b", "a", "b"])
    column.current[1] = 0
    assert column.counts().tolist() == [3, 0]
    assert column.read_counts().tolist() == [2, 1]
    assert [text for _, text, _ in column.texts(repaired=True)] == ["b"]


def test_decimal_commas_are_exchanged_and_written_back() -> None:
    column = CodedColumn.of("price", ["3,14", "1.250,75", "8"])
    assert column.values == ["3.14", "1,250.75", "8"]
    assert column.as_in_file("12.5") == "12,5"
    assert CodedColumn.of("price", ["3.14", "8"]).as_in_file("12.5") == "12.5"


def test_texts_are_counted_matched_and_filtered_without_blanks() -> None:
    texts = CodedColumn.of("x", ["a1", "a2", "a1", "", " "]).texts()
    assert list(texts) == [(0, "a1", 2), (1, "a2", 1)]
    assert texts.total == 3
    assert texts.tally(len) == {2: 3}
    assert {k: m[1] for k, m in texts.matching(re.compile(r"a(1)")).items()} == {0: "1"}
    assert texts.only(lambda text: text == "a2").total == 1


def test_skipped_and_empty_columns_are_not_judged() -> None:
    table = CodedTable.of({"a": ["x"], "b": ["y"]})
    table.skip = frozenset(["b"])
    assert [j for j, _ in table.judged()] == [0]
    assert [j for j, _ in table.judged(["date"])] == []
    assert table.position("b") == 1
    with pytest.raises(KeyError, match="no column 'c'; the table has 'a', 'b'"):
        table.position("c")


def test_pairs_of_codes_get_one_code_each() -> None:
    codes, count = distinct(np.array([7, 3, 7]))
    assert (codes.tolist(), count) == ([0, 1, 0], 2)
    assert joint(np.array([0, 0, 1, 0]), np.array([0, 5, 0, 0])).tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize("keys", [30, 30 * DENSE * 1000])
def test_rows_are_counted_by_key(keys: int) -> None:
    key = np.random.default_rng(0).integers(6, size=200) * (keys // 6)
    assert row_counts(key, keys).tolist() == [int((key == k).sum()) for k in key]


def test_what_is_kept_of_a_column_is_computed_again_after_a_change() -> None:
    column = CodedColumn.of("x", ["a", "b", "b"])
    assert (column.levels(), column.repairs) == (2, 0)
    column.repair(np.array([0, 1, 1]))  # nothing changes
    assert (column.levels(), column.repairs) == (2, 0)
    assert column.keep("levels", lambda: -1) == 2
    column.repair(np.array([1, 1, 1]))
    assert (column.levels(), column.repairs) == (1, 1)
    column.rewrite(0, "new")
    assert column.levels() == 2
    assert column.values[column.read[0]] == column.values[column.current[0]] == "new"
    assert pickle.loads(pickle.dumps(column)).keep("levels", lambda: -1) == -1  # tasks compute their own


def test_a_row_has_no_vote_of_its_own() -> None:
    links = sp.csr_array(np.array([[5.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 3.0]]))
    table = CodedTable.of({"x": ["a", "b", "c"]}, links=links)
    assert table.voters is not None
    assert table.voters.toarray().tolist() == [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    assert table.voters.nnz == 4
    assert CodedTable.of({"x": ["a"]}).voters is None


def test_texts_are_those_of_a_slow_look_at_every_value() -> None:
    column = CodedColumn.of("x", ["12", " ", "7 kg", "", "a1", "12", "\t", "9"])
    digits, unit = re.compile(r"\d+"), re.compile(r"(\d+) kg")
    for text in ("", "  ", "13"):  # texts join the vocabulary later
        column.rewrite(0, text)
        texts = column.texts()
        assert texts.codes == [k for k in range(len(column.values)) if column.values[k].strip() and k in column.read]
        assert column.blanks(column.read).tolist() == [not column.values[k].strip() for k in column.read]
        expected = {k: t.strip() for k, t, _ in texts if digits.fullmatch(t.strip()) or unit.fullmatch(t.strip())}
        assert {k: match[0] for k, match in texts.matching(digits, unit).items()} == expected


@pytest.mark.parametrize("share", [0.0, 0.4, 0.5, 0.500001, 0.9])
def test_a_search_ends_where_too_few_rows_are_left(share: float) -> None:
    texts = CodedColumn.of("x", ["1", "a", "2", "b", "1", "a", "c", "1"]).texts()  # half of the rows hold digits
    asked: list[str] = []

    def is_digit(text: str) -> bool:
        asked.append(text)
        return text.isdigit()

    found = texts.at_least(share, is_digit)
    assert (found is None) == (texts.only(str.isdigit).total < share * texts.total)
    if found is None:
        assert len(asked) < 5 or share <= 0.500001
    else:
        assert found.codes == texts.only(str.isdigit).codes
