from __future__ import annotations

from pathlib import Path

import numpy as np
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
