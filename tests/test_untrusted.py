from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import magnet
from magnet import untrusted
from magnet.datasets import planetoid, synthetic


def test_a_limit_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAGNET_MAX_BYTES", "1000")
    untrusted.memory_limit.cache_clear()
    try:
        np.savez(tmp_path / "a.npz", x=np.zeros(1000))
        with pytest.raises(ValueError, match="MAGNET_MAX_BYTES"), untrusted.open_npz(tmp_path / "a.npz"):
            pytest.fail("never gets here")
        matrix = untrusted.read_csr(np.ones(1), np.array([0]), np.array([0, 1]), (1, 500))
        with pytest.raises(ValueError, match="dense form"):
            untrusted.to_dense(matrix)
    finally:
        monkeypatch.delenv("MAGNET_MAX_BYTES")
        untrusted.memory_limit.cache_clear()
    assert untrusted.memory_limit() > 2**20


def test_an_array_that_is_shorter_than_its_header_says_is_refused_before_memory_is_reserved(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive, archive.open("x.npy", "w") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10)}
        np.lib.format.write_array_header_1_0(file, header)
    with (
        pytest.raises(ValueError, match=r"x.npy declares 80000000000 bytes"),
        untrusted.open_npz(tmp_path / "a.npz"),
    ):
        pytest.fail("never gets here")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": np.array([[0]])}, "must be a list of numbers"),
        ({"values": np.array(["a"])}, "must be a list of numbers"),
        ({"shape": np.array([1.5, 2])}, "two whole numbers"),
        ({"shape": np.array([2, 3])}, "must be 3 numbers"),
        ({"indptr": np.array([0, 2])}, "row pointers end at 2"),
        ({"indices": np.array([3])}, "column indices from 3 to 3"),
    ],
)
def test_arrays_that_are_no_sparse_matrix_are_refused(change: dict[str, np.ndarray], message: str) -> None:
    parts = {"values": np.ones(1), "indices": np.array([0]), "indptr": np.array([0, 1]), "shape": np.array([1, 3])}
    assert untrusted.read_csr(**parts).toarray().tolist() == [[1, 0, 0]]
    with pytest.raises(ValueError, match=message):
        untrusted.read_csr(**(parts | change))


def test_an_unpickled_matrix_is_checked_before_it_unfolds(tmp_path: Path) -> None:
    matrix = sp.csr_matrix(np.eye(3, dtype=np.float32))
    matrix.indices[1] = 10**8
    for key in ("y", "tx", "allx", "ty", "ally", "graph"):
        content = {0: [1], 1: [0]} if key == "graph" else matrix if key in ("allx", "tx") else np.eye(3)
        text = pickle.dumps(content, protocol=2)
        for new, old in ((b"scipy.sparse._csr", b"scipy.sparse.csr"), (b"numpy._core", b"numpy.core")):
            text = text.replace(new, old)
        (tmp_path / f"ind.cora.{key}").write_bytes(text)
    (tmp_path / "ind.cora.test.index").write_text("0\n1\n2\n")
    with pytest.raises(ValueError, match="damaged file"):
        planetoid.read("cora", tmp_path, 0)


@pytest.mark.parametrize("content", [{}, [1, 2], np.eye(3), sp.csr_matrix.__new__(sp.csr_matrix)])
def test_a_pickle_of_another_object_is_a_damaged_file(content: object, tmp_path: Path) -> None:
    text = pickle.dumps(content, protocol=2).replace(b"scipy.sparse._csr", b"scipy.sparse.csr")
    for key in ("y", "tx", "allx", "ty", "ally", "graph"):
        (tmp_path / f"ind.cora.{key}").write_bytes(text.replace(b"numpy._core", b"numpy.core"))
    (tmp_path / "ind.cora.test.index").write_text("0\n1\n2\n")
    with pytest.raises(ValueError, match="damaged file"):
        planetoid.read("cora", tmp_path, 0)


def test_only_a_json_object_is_read() -> None:
    assert untrusted.read_object('{"a": [1]}') == {"a": [1]}
    with pytest.raises(ValueError, match="it holds a JSON list, not an object"):
        untrusted.read_object("[1]")


def test_complex_features_are_refused() -> None:
    data = synthetic(nodes=60, features=4, seed=0)
    data.x = data.x.to(torch.complex64)
    with pytest.raises(ValueError, match=r"complex64; it must be .* of numbers"):
        magnet.MAGnet(detector="none").fit(data)
