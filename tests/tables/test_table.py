from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from magnet.tables import BadTable, from_frames
from magnet.tables.errors import TableWarning

NODES = pd.DataFrame({"id": ["a", "b ", "c", "c", ""], "age": [40, 41, 42, 43, 44]})


def test_odd_edges_are_dropped_merged_and_counted() -> None:
    edges = pd.DataFrame(
        {
            "source": ["a", "b ", "a", "a", "x", "c", "a"],
            "target": ["b ", "a", "a", "b", "a", "a", "c"],
            "weight": [1.0, 3.0, 1.0, 2.0, 1.0, -1.0, 0.5],
        }
    )
    with pytest.warns(TableWarning, match="1 of the 7 edges"):
        table = from_frames(NODES, edges)
    facts = {**table.facts, **table.links.facts}
    assert facts["rows whose id another row has"] == 1
    assert facts["rows without an id"] == 1
    assert facts["edges to unknown ids"] == 1
    assert facts["an unknown id"] == "x"
    assert facts["self-loops"] == 1
    assert facts["edges without a usable weight"] == 1
    assert facts["pairs that occur again"] == 2
    assert facts["edges used"] == 2
    assert table.links.edge_index.tolist() == [[0, 0, 1, 2], [1, 2, 0, 0]]
    assert table.links.edge_weight is not None
    assert table.links.edge_weight.tolist() == [3.0, 0.5, 3.0, 0.5]
    assert table.ids.tolist()[-1] == "(row 4)"


def test_the_id_column_is_the_one_the_edges_name() -> None:
    nodes = pd.DataFrame({"n": [1, 2, 3], "key": ["x", "y", "z"], "age": [4, 5, 6]})
    by_text = pd.DataFrame({"from": ["x", "y"], "to": ["y", "z"]})
    by_number = pd.DataFrame({"from": [1.0, 2.0], "to": [2.0, 3.0]})
    assert from_frames(nodes, by_text).id == "key"
    assert from_frames(nodes, by_number).id == "n"
    assert from_frames(nodes, by_number).links.facts["edges used"] == 2


def test_the_labels_of_an_index_name_the_rows_unless_the_edges_number_them() -> None:
    nodes = pd.DataFrame({"age": [4, 5, 6]}, index=["x", "y", "z"])
    by_label, by_number = (pd.DataFrame({"from": ends, "to": ends[::-1]}) for ends in (["x", "y"], [0, 1]))
    for edges, names in ((None, ["x", "y", "z"]), (by_label, ["x", "y", "z"]), (by_number, ["0", "1", "2"])):
        table = from_frames(nodes, edges)
        assert table.ids.tolist() == names
        assert edges is None or table.links.facts["edges used"] == 1
    assert from_frames(nodes.set_axis([7, 7, 8])).ids.tolist() == ["0", "1", "2"]


def test_columns_of_one_name_keep_their_labels() -> None:
    nodes = pd.DataFrame([[1, "x"], [2, "y"]], columns=["a", "a"])
    with pytest.warns(TableWarning, match="several columns are named 'a'"):
        table = from_frames(nodes)
    changed = table.changed({"a (2)": (np.array([1]), ["z"])})
    assert changed.columns.tolist() == ["a", "a"]
    assert changed.iloc[:, 1].tolist() == ["x", "z"]


def test_edges_without_a_header_line_lose_no_edge() -> None:
    edges = pd.DataFrame([["b ", "c"]], columns=["a", "c"])
    assert from_frames(NODES, edges).links.facts["edges used"] == 2


def test_edges_that_fit_nowhere_are_an_error() -> None:
    with pytest.raises(BadTable, match="none of the 1 edges joins two rows"):
        from_frames(NODES, pd.DataFrame({"source": ["q"], "target": ["r"]}), id="id")
    with pytest.raises(BadTable, match="two columns of node ids are needed"):
        from_frames(NODES, pd.DataFrame({"source": ["q"]}))


def test_nothing_to_clean_is_said() -> None:
    with pytest.raises(BadTable, match="has a header but no rows"):
        from_frames(NODES.head(0))
    with pytest.raises(ValueError, match="id is 'key'; the columns are 'id', 'age'"):
        from_frames(NODES, id="key")
