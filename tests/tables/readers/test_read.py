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
    assert new["age"].tolist() == ["40", "41", "39"]
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


NUMBERS = """<?xml version='1.0' encoding='iso-8859-1'?>
<!DOCTYPE graphml SYSTEM "http://example.org/g.dtd">
<!-- made by händ -->
<g:graphml xmlns:g="http://graphml.graphdrawing.org/xmlns">
  <g:key id="d0" for="node" attr.name="age" attr.type="int"><g:default>7</g:default></g:key>
  <g:key id="d1" for="node" attr.name="big" attr.type="long"/>
  <g:graph edgedefault="undirected">
    <g:node id="a>b"/>
    <g:node id="b"><g:data key="d0"> 40 </g:data><g:data key="d1">92233720368547758079</g:data></g:node>
    <g:node id='c'><g:data key="d1"/></g:node>
    <g:node id="d"><!-- c --><g:data key="d0">15</g:data></g:node>
    <g:edge source="a>b" target="b"/>
  </g:graph>
</g:graphml>
"""


def test_graphml_is_kept_to_the_byte_and_defaults_count(tmp_path: Path) -> None:
    content = NUMBERS.encode("iso-8859-1")
    (tmp_path / "g.graphml").write_bytes(content)
    table = read(tmp_path / "g.graphml")
    assert table.ids.tolist() == ["a>b", "b", "c", "d"]
    assert table.text_columns()["age"] == ["7", " 40 ", "7", "15"]
    assert table.text_columns()["big"] == ["", "92233720368547758079", "", ""]
    change_and_write(table, tmp_path / "same.graphml", {})
    assert (tmp_path / "same.graphml").read_bytes() == content
    changes: dict[str, tuple[list[int], list[object]]] = {"age": ([0, 1, 3], ["41", "42", "2"]), "big": ([2], ["5"])}
    change_and_write(table, tmp_path / "h.graphml", changes)
    expected = (
        content.replace(b'<g:node id="a>b"/>', b'<g:node id="a>b"><g:data key="d0">41</g:data></g:node>')
        .replace(b" 40 ", b"42")
        .replace(b">15<", b">2<")
        .replace(b'<g:data key="d1"/>', b'<g:data key="d1">5</g:data>')
    )
    assert (tmp_path / "h.graphml").read_bytes() == expected
    with pytest.raises(ValueError, match="no whole number"):
        table.parse_cell("age", "1.5")


def test_deep_graphml_is_refused(tmp_path: Path) -> None:
    deep = "<data>" * 200_000
    (tmp_path / "g.graphml").write_text(f"<graphml><graph><node id='a'>{deep}")
    with pytest.raises(BadTable, match="more than 100 deep"):
        read(tmp_path / "g.graphml")


@pytest.mark.parametrize(
    ("indices", "indptr", "shape"),
    [
        ([0, 1, 2, 10**8], [0, 1, 2, 3, 4], [4, 3]),
        ([0, -(10**8), 2, 1], [0, 1, 2, 3, 4], [4, 3]),
        ([0, 1, 2, 1], [0, 10**8, 2, 3, 4], [4, 3]),
        ([0, 1, 2, 1], [-(10**8), 1, 2, 3, 4], [4, 3]),
        ([0, 1, 2, 1], [0, 1, 2, 3, 10**8], [4, 3]),
        ([0, 1, 2, 1], [0, 1, 2, 3, 4], [2**33, 2**33]),
        ([0, 1, 2, 1], [0, 1, 2, 3, 4], [-4, 3]),
    ],
)
def test_sparse_indices_out_of_range_are_refused(
    tmp_path: Path, indices: list[int], indptr: list[int], shape: list[int]
) -> None:
    parts = {"indices": indices, "indptr": indptr, "shape": shape}
    arrays = {f"attr_{name}": np.array(part) for name, part in parts.items()}
    np.savez(tmp_path / "a.npz", attr_data=np.ones(4), edge_index=EDGES, **arrays)
    with pytest.raises(BadTable, match="sparse matrix"):
        read(tmp_path / "a.npz")
    from magnet.datasets.npz import load_graph

    with pytest.raises(ValueError, match="sparse matrix"):
        load_graph(tmp_path / "a.npz")


def test_a_torch_tensor_with_indices_out_of_range_is_refused(tmp_path: Path) -> None:
    x = torch.sparse_csr_tensor(
        torch.tensor([0, 1, 2]), torch.tensor([0, 10**8]), torch.ones(2), size=(2, 3), check_invariants=False
    )
    torch.save({"x": x}, tmp_path / "g.pt")
    with pytest.raises(BadTable, match="cannot be read as a PyG file"):
        read(tmp_path / "g.pt")


def test_what_unfolds_beyond_memory_is_refused(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", b"")
        archive.infolist()[0].file_size = 2**50
    with pytest.raises(BadTable, match="GiB of memory"):
        read(tmp_path / "a.npz")
    torch.save({"x": torch.zeros(1).expand(2**25, 2**25)}, tmp_path / "a.pt")
    with pytest.raises(BadTable, match="GiB of memory"):
        read(tmp_path / "a.pt")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int64])
@pytest.mark.parametrize("layout", ["dense", "coo", "csr"])
def test_pt_keeps_type_and_layout(tmp_path: Path, dtype: torch.dtype, layout: str) -> None:
    x = torch.tensor([[1.5, 0, 3], [2.5, 1, 4], [0, 1, 7], [1.25, 0, 2]]).to(dtype)
    stored = {"dense": x, "coo": x.to_sparse_coo(), "csr": x.to_sparse_csr()}[layout]
    torch.save({"x": stored, "edge_index": torch.from_numpy(EDGES)}, tmp_path / "g.pt")
    table = read(tmp_path / "g.pt")
    change_and_write(table, tmp_path / "h.pt", {"x1": ([0], [table.parse_cell("x1", "2")])})
    new = torch.load(tmp_path / "h.pt")["x"]
    assert (new.dtype, new.layout) == (stored.dtype, stored.layout)
    expected = x.clone()
    expected[0, 1] = 2
    assert torch.equal(new.to_dense() if layout != "dense" else new, expected)


def test_parquet_columns_of_every_type(tmp_path: Path) -> None:
    import datetime
    from decimal import Decimal

    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "price": pa.array([Decimal("1.50"), Decimal("2.25"), None], pa.decimal128(9, 2)),
        "big": pa.array([2**62, 2**62 + 1, None], pa.int64()),
        "day": pa.array([datetime.date(2024, 2, 29), None, None]),
        "kind": pa.array(["u", "v", None]).dictionary_encode(),
        "tags": pa.array([["a"], [], None]),
        "raw": pa.array([b"a", b"\xff", None]),
        "half": pa.array(np.array([0.5, 1.5, 2.5], dtype=np.float16)),
        "far": pa.array([2**61, 0, None], pa.timestamp("us")),
    }
    pq.write_table(pa.table(columns), tmp_path / "n.parquet")
    table = read(tmp_path / "n.parquet")
    text = table.text_columns()
    assert text["price"] == ["1.50", "2.25", ""]
    assert text["big"] == ["4611686018427387904", "4611686018427387905", ""]
    assert text["day"] == ["2024-02-29", "", ""]
    assert {"tags", "raw"} <= set(table.left_alone)
    assert {f.name: f.kind for f in table.fields}["tags"] == "text"
    wanted = {"price": "3.75", "big": str(2**62 + 7), "day": "2024-03-01", "kind": "u"}
    changes: dict[str, tuple[list[int], list[object]]] = {
        name: ([2], [table.parse_cell(name, word)]) for name, word in wanted.items()
    }
    change_and_write(table, tmp_path / "m.parquet", changes)
    new = pq.read_table(tmp_path / "m.parquet")
    assert new.schema.equals(pq.read_schema(tmp_path / "n.parquet"))
    assert new["price"].to_pylist()[2] == Decimal("3.75")
    assert new["big"].to_pylist() == [2**62, 2**62 + 1, 2**62 + 7]
    assert new["day"].to_pylist()[2] == datetime.date(2024, 3, 1)
    assert new["kind"].to_pylist() == ["u", "v", "u"]
    for name in ("tags", "raw", "half", "far"):
        assert new[name].equals(pa.table(columns)[name])
    with pytest.raises(ValueError, match="decimal128"):
        table.parse_cell("price", "12345678901")
