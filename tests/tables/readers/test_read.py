from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

from magnet.tables import BadTable, Table, read

X = np.array([[1.5, 0, 3], [2.5, 1, 4], [np.nan, 1, 7], [1.25, 0, 2]], dtype=np.float32)
EDGES = np.array([[0, 1, 2], [1, 2, 3]])


def change_and_write(table: Table, path: Path, changes: dict[str, tuple[list[int], list[object]]]) -> None:
    assert table.source is not None
    table.source.write(path, {name: (np.array(rows), values) for name, (rows, values) in changes.items()})


def test_npz_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "g.npz"
    np.savez(path, x=X, edge_index=EDGES, y=np.arange(4), columns=np.array(["a", "b", "c"]))
    table = read(path)
    assert [f.name for f in table.fields] == ["a", "b", "c"]
    assert table.links.facts["edges used"] == 3
    change_and_write(table, tmp_path / "h.npz", {"a": ([2], [9.0])})
    with np.load(tmp_path / "h.npz") as new:
        assert sorted(new.files) == ["columns", "edge_index", "x", "y"]
        assert new["x"].dtype == np.float32
        assert new["x"][2, 0] == 9
        np.testing.assert_array_equal(np.delete(new["x"].ravel(), 6), np.delete(X.ravel(), 6))


@pytest.mark.parametrize("form", ["data", "dict", "sparse"])
def test_pt_round_trip(tmp_path: Path, form: str) -> None:
    x = torch.from_numpy(X).nan_to_num()
    content: object = Data(x=x, edge_index=torch.from_numpy(EDGES), y=torch.arange(4))
    if form == "dict":
        content = {"x": x, "edge_index": torch.from_numpy(EDGES)}
    elif form == "sparse":
        content = Data(x=x.to_sparse_csr(), edge_index=torch.from_numpy(EDGES))
    torch.save(content, tmp_path / "g.pt")
    table = read(tmp_path / "g.pt")
    change_and_write(table, tmp_path / "h.pt", {"x2": ([0], [5])})
    again = read(tmp_path / "h.pt").frame
    expected = X.copy()
    expected[2, 0], expected[0, 2] = 0, 5
    np.testing.assert_array_equal(again.to_numpy(), expected)


def test_parquet_keeps_types_and_metadata(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "id": pa.array(["a", "b", "c"]),
        "n": pa.array([1, None, 3], pa.int32()),
        "v": pa.array([1.5, 2.5, 3.5], pa.float32()),
        "c": pa.array(["x", "y", "x"]).dictionary_encode(),
        "when": pa.array([1, 2, 3], pa.timestamp("us", tz="UTC")),
    }
    original = pa.table(columns).replace_schema_metadata({"made": "by hand"})
    pq.write_table(original, tmp_path / "n.parquet")
    table = read(tmp_path / "n.parquet")
    change_and_write(table, tmp_path / "m.parquet", {"n": ([1], [2]), "c": ([0], ["y"])})
    new = pq.read_table(tmp_path / "m.parquet")
    assert new.schema.equals(original.schema, check_metadata=True)
    assert new["n"].to_pylist() == [1, 2, 3]
    assert new["c"].to_pylist() == ["y", "y", "x"]
    for name in ("id", "v", "when"):
        assert new[name].equals(original[name])


GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="age" attr.type="int"/><key id="d1" for="node" attr.name="city" attr.type="string"/>
<key id="d2" for="edge" attr.name="weight" attr.type="double"/>
<graph edgedefault="undirected">
<node id="n 0"><data key="d0">40</data><data key="d1">Rome</data></node>
<node id="n1"><data key="d0">41</data><data key="d1">Oslo &amp; co</data></node>
<node id="n2"><data key="d1">Rome</data></node>
<edge source="n 0" target="n1"><data key="d2">2.5</data></edge><edge source="n1" target="n2"/>
</graph></graphml>"""


def test_graphml_round_trip(tmp_path: Path) -> None:
    (tmp_path / "g.graphml").write_text(GRAPHML)
    table = read(tmp_path / "g.graphml")
    assert table.ids.tolist() == ["n 0", "n1", "n2"]
    assert table.links.edge_weight is not None
    assert table.links.edge_weight.tolist() == [2.5, 2.5, 1.0, 1.0]
    change_and_write(table, tmp_path / "h.graphml", {"age": ([2], [39]), "city": ([0], ["<Bern>"])})
    new = read(tmp_path / "h.graphml").frame
    assert new["age"].tolist() == [40, 41, 39]
    assert new["city"].tolist() == ["<Bern>", "Oslo & co", "Rome"]
    import networkx

    assert networkx.read_graphml(tmp_path / "h.graphml").nodes["n2"]["age"] == 39


def test_a_folder_is_searched(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id,age\na,40\nb,41\nc,44\n")
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    (tmp_path / "readme.md").write_text("hello")
    assert read(tmp_path).links.facts["edges used"] == 1
    (tmp_path / "nodes.csv").rename(tmp_path / "people.csv")
    with pytest.raises(ValueError, match=r"is a folder with edges.csv, people.csv; name the file"):
        read(tmp_path)


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {os.environ['MAGNET_BOMB']}",)


@pytest.mark.parametrize("name", ["torch.pt", "plain.pt", "array.npz"])
def test_pickle_bombs_do_not_go_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("MAGNET_BOMB", str(tmp_path / "exploded"))
    path = tmp_path / name
    if name == "torch.pt":
        torch.save({"x": Bomb()}, path)
    elif name == "plain.pt":
        path.write_bytes(pickle.dumps(Bomb()))
    else:
        np.savez(path, x=np.array([Bomb()], dtype=object), edge_index=EDGES)
    with pytest.raises(BadTable, match="not loaded"):
        read(path)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"PAR1 and then nothing", "cannot be read as Parquet"),
        ("a.npz", b"PK\x03\x04 torn", "cannot be read as .npz"),
        ("a.npz", b"", "cannot be read as .npz"),
        ("a.pt", b"PK\x03\x04 torn", "cannot be read as a PyG file"),
        ("a.pt", b"", "cannot be read as a PyG file"),
        ("a.graphml", b"<graphml><graph>", "cannot be read as GraphML: no element found"),
        ("a.graphml", b"<html></html>", "holds 0 graphs in a <html>"),
        ("a.graphml", b"<graphml><graph/></graphml>", "holds no nodes"),
        ("a.graphml", b'<!DOCTYPE g [<!ENTITY a "b">]><graphml><graph/></graphml>', "declares XML entities"),
    ],
)
def test_damaged_files_are_refused_in_words(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadTable, match=message):
        read(tmp_path / name)


def test_a_truncated_parquet_is_refused(tmp_path: Path) -> None:
    pd.DataFrame({"id": range(1000), "v": np.random.default_rng(0).normal(size=1000)}).to_parquet(
        tmp_path / "a.parquet"
    )
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadTable, match="cannot be read as Parquet"):
        read(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"edge_index": EDGES}, "'x' and 'edge_index' are needed"),
        ({"x": np.zeros(3)}, "must be numbers"),
        ({"x": np.zeros((3, 0))}, "must be numbers"),
        ({"x": X, "edge_index": EDGES + 2}, "names node 5; x has 4 rows"),
        ({"x": X, "edge_index": EDGES.astype(float)}, "must be integers"),
        ({"x": X, "edge_index": EDGES, "edge_weight": np.array([1, -1, 1])}, "one finite weight from 0"),
        ({"x": X.astype(complex)}, "complex"),
    ],
)
def test_impossible_arrays_are_refused(tmp_path: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(BadTable, match=message):
        read(tmp_path / "a.npz")


def test_wrong_names_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read(tmp_path / "none.csv")
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    with pytest.raises(ValueError, match="export it as CSV"):
        read(tmp_path / "a.xlsx")
