"""Sparse files, column by column."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from magnet import FrameletTransform, propagate, recover
from magnet.recovery.io import sparse
from magnet.recovery.io.sparse import open_sparse


def matrix(form: str = "csr", dtype: type = np.float64) -> sp.spmatrix:
    x = sp.random(305, 40, density=0.1, format="csr", random_state=0)
    x.data = np.round(x.data * 20 + 1)
    x.data[x.indices == 5] = 0  # stored zeros
    return x.asformat(form).astype(dtype)


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_columns_are_those_of_the_matrix(tmp_path, monkeypatch, compressed, form, dtype):
    monkeypatch.setattr(sparse, "ENTRIES_AT_ONCE", 37)  # pieces begin and end within rows
    x = matrix(form, dtype)
    sp.save_npz(tmp_path / "x.npz", x, compressed=compressed)
    found = open_sparse(tmp_path / "x.npz")
    assert found.shape == x.shape
    assert found.dtype == dtype
    for first, last in ((0, 40), (3, 4), (5, 6), (30, 40)):
        assert np.array_equal(found.dense(first, last), x.toarray()[:, first:last])


def test_entries_of_one_cell_are_added(tmp_path):
    x = sp.csr_matrix((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    sp.save_npz(tmp_path / "x.npz", x)
    assert open_sparse(tmp_path / "x.npz").dense(0, 2).tolist() == [[0, 2], [1, 0]]


@pytest.mark.parametrize("compressed", [True, False])
def test_recovery_and_propagation_from_a_file_are_those_from_memory(graph, tmp_path, compressed):
    W, x = FrameletTransform(graph), matrix()
    trust = sp.csr_matrix((np.random.default_rng(0).random(x.shape) < 0.8).astype(np.float64))
    paths = [tmp_path / "x.npz", tmp_path / "trust.npz"]
    for path, each in zip(paths, (x, trust), strict=True):
        sp.save_npz(path, each, compressed=compressed)
    for solve, options in ((recover, {"max_iter": 5}), (propagate, {"lam": 3.0})):
        expected = solve(x, trust, W, **options).x
        found = solve(*paths, W, out=tmp_path / "u.npy", block_columns=16, **options).x
        assert np.array_equal(found, torch.as_tensor(expected))


def test_bad_files_are_named(graph, tmp_path):
    W = FrameletTransform(graph)
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    outside = sp.csr_matrix((305, 3))
    outside.data, outside.indices = np.ones(2), np.array([0, 3], np.int32)
    outside.indptr = np.r_[0, np.full(305, 2)].astype(np.int32)
    sp.save_npz(tmp_path / "outside.npz", outside)
    sp.save_npz(tmp_path / "coo.npz", matrix("coo"))
    (tmp_path / "text.npz").write_text("no archive")
    for name, message in (("other", "format"), ("outside", "column indices"), ("coo", "CSR or CSC"), ("text", "zip")):
        with pytest.raises(ValueError, match=rf"x: '.*{name}\.npz' cannot be read as a \.npz file \(.*{message}"):
            recover(tmp_path / f"{name}.npz", None, W)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("compressed", [True, False])
def test_memory_is_bounded(tmp_path, compressed):
    """64 MB of entries; what is not the cache of a file stays below half of that."""
    rng = np.random.default_rng(0)
    rows, columns, per_row = 2000, 4000, 2000
    indices = np.sort(rng.permuted(np.tile(np.arange(columns, dtype=np.int32), (rows, 1)), axis=1)[:, :per_row], axis=1)
    starts = np.arange(0, rows * per_row + 1, per_row)
    x = sp.csr_matrix((np.ones(rows * per_row), indices.ravel(), starts), shape=(rows, columns))
    save = np.savez_compressed if compressed else np.savez
    arrays = {"data": x.data, "indices": x.indices.astype(np.int64), "indptr": x.indptr, "shape": x.shape}
    save(tmp_path / "x.npz", format=b"csr", **arrays)
    code = """
import sys, threading, time
from magnet.recovery.io.sparse import open_sparse

def own():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon")) / 1024

def watch():
    global most
    while running:
        most = max(most, own())
        time.sleep(0.002)

before = most = own()
running = True
thread = threading.Thread(target=watch)
thread.start()
found = open_sparse(sys.argv[1])
total = sum(float(found.dense(first, first + 64).sum()) for first in range(0, found.shape[1] - 63, 64))
running = False
thread.join()
print(total, most - before)
"""
    command = [sys.executable, "-c", code, str(tmp_path / "x.npz")]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    total, megabytes = map(float, run.stdout.split())
    assert total == float(x[:, : columns - columns % 64].sum())
    assert megabytes < 32
