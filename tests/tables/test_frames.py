"""Frames of other libraries come back as they came."""

from types import SimpleNamespace

import networkx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from torch_geometric.data import Data

import magnet
from magnet.tables.frames import native_frame, to_pandas

polars = pytest.importorskip("polars")


def test_a_polars_frame_keeps_its_types_and_values():
    frame = polars.DataFrame(
        {"city": ["Rome", "Rmoe", None], "age": polars.Series([1, 2, 3], dtype=polars.Int8), "when": [None, None, None]}
    )
    new = native_frame(frame, {"city": (np.array([1]), ["Rome"]), "age": (np.array([0]), [7])})
    assert new.schema == frame.schema
    assert new["city"].to_list() == ["Rome", "Rome", None]
    assert new["age"].to_list() == [7, 2, 3]
    assert frame["age"].to_list() == [1, 2, 3]
    assert native_frame(frame, {}) is frame


def test_pandas_frames_are_not_copied_and_other_things_are_refused():
    frame = pd.DataFrame({"a": [1]})
    assert to_pandas(frame) is frame
    with pytest.raises(ValueError, match="has no columns"):
        magnet.clean(pd.DataFrame(index=range(3)))
    with pytest.raises(ValueError, match="networkx graphs and scipy sparse matrices"):
        magnet.clean(frame, edges=[(0, 1)])
    for other in (None, pd.Series([1, 2]), pa.array([1])):
        with pytest.raises(ValueError, match="is not a data frame"):
            magnet.clean(other)
    with pytest.raises(ValueError, match="a list is not a data frame; pandas, polars and Arrow tables are accepted"):
        to_pandas([1, 2])
    hints = {
        "read the file first": "a.csv",
        "collect it first": polars.LazyFrame({"a": [1]}),
        "use magnet.MAGnet": Data(),
    }
    for hint, other in hints.items():
        with pytest.raises(ValueError, match=hint):
            magnet.clean(other)


def test_clean_gives_polars_back_for_polars():
    states = ["Ohio"] * 30 + ["Iowa"] * 30
    states[3] = "Ohoi"
    frame = polars.DataFrame({"state": states, "code": ["OH"] * 30 + ["IA"] * 30})
    cleaned = magnet.clean(frame).cleaned
    assert isinstance(cleaned, polars.DataFrame)
    assert cleaned["state"].to_list() == ["Ohio"] * 30 + ["Iowa"] * 30
    assert cleaned.schema == frame.schema


class HandsOverArrow:
    """What knows no more than Arrow's interface for handing tables over."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class LikeDataset:
    """As much of a Hugging Face ``Dataset`` as is used: rows in an order of their own."""

    def __init__(self, table, order):
        self.data, self.order = SimpleNamespace(table=table), order

    def with_format(self, kind):
        assert kind == "arrow"
        return self

    def __getitem__(self, rows):
        return self.data.table.take(self.order)[rows.start : rows.stop]


def states() -> pa.Table:
    names = ["Ohio"] * 30 + ["Iowa"] * 30
    names[3] = "Ohoi"
    return pa.table(
        {"state": pa.array(names, pa.large_string()), "code": pa.array(["OH"] * 30 + ["IA"] * 30).dictionary_encode()}
    )


def test_what_hands_over_arrow_is_cleaned_as_arrow():
    for given in (states(), HandsOverArrow(states()), SimpleNamespace(data=SimpleNamespace(table=states()))):
        cleaned = magnet.clean(given).cleaned
        assert cleaned.schema == states().schema
        assert cleaned["state"].to_pylist() == ["Ohio"] * 30 + ["Iowa"] * 30


def test_a_dataset_keeps_its_order_of_rows():
    order = list(range(59, -1, -1))
    result = magnet.clean(LikeDataset(states(), order))
    assert result.suspicious_cells["row"].tolist() == [56]
    assert result.cleaned["state"].to_pylist() == ["Iowa"] * 30 + ["Ohio"] * 30


def test_links_come_as_networkx_and_scipy_graphs():
    rng = np.random.default_rng(0)
    ids = rng.permutation(40)
    nodes = pd.DataFrame({"id": ids, "level": np.round(20 + 5 * np.sin(ids / 6), 2)})
    graph = networkx.path_graph(40)
    named = magnet.clean(nodes, graph, id="id").table.links
    ends = pd.DataFrame({"source": range(39), "target": range(1, 40)})
    expected = magnet.clean(nodes, ends, id="id").table.links
    assert np.array_equal(named.edge_index, expected.edge_index)
    matrix = networkx.to_scipy_sparse_array(graph, nodelist=ids.tolist())
    assert np.array_equal(magnet.clean(nodes, matrix, id="id").table.links.edge_index, expected.edge_index)
    with pytest.raises(ValueError, match="the graph has 39 nodes; the table has 40 rows"):
        magnet.clean(nodes, matrix[:39, :39], id="id")
