"""Sparse features larger than memory: what has their size is in temporary files, and the verdict is the same."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from magnet import arrays
from magnet.datasets import synthetic
from magnet.detection import make
from magnet.detection.data.sparse_rows import (
    by_pieces,
    columns_of,
    concatenated,
    read_rows,
    row_pieces,
    stacked,
    stored_values,
)


@pytest.fixture
def matrix() -> sp.csr_matrix:
    x = sp.random(60, 13, density=0.2, format="csr", random_state=0, dtype=np.float32)
    filled = (np.arange(60) < 20) | (np.arange(60) > 24)
    return sp.csr_matrix(sp.diags(filled.astype(np.float32)) @ x)  # some rows without cells


@pytest.mark.parametrize("cells", [1, 7, 10_000])
def test_pieces_are_the_rows_in_order(monkeypatch, matrix, cells):
    monkeypatch.setattr(arrays, "CELLS_PER_BLOCK", cells)
    pieces = list(row_pieces(matrix))
    assert [rows.start for rows, _ in pieces] == [0, *(rows.stop for rows, _ in pieces[:-1])]
    assert pieces[-1][0].stop == 60
    assert all(piece.nnz <= cells or piece.shape[0] == 1 for _, piece in pieces)
    assert np.array_equal(np.vstack([piece.toarray() for _, piece in pieces]), matrix.toarray())
    for rows, piece in pieces:
        values = stored_values(matrix, rows)
        assert np.array_equal(values, piece.data)
        values[:] = 5
    assert (matrix.data == 5).all()
    dense = torch.from_numpy(matrix.toarray())
    assert np.array_equal(np.vstack([piece.toarray() for _, piece in row_pieces(dense)]), dense.numpy())


@pytest.mark.parametrize("on_disk", [False, True])
def test_what_is_made_of_pieces_is_what_is_made_of_the_matrix(monkeypatch, tmp_path, matrix, on_disk):
    monkeypatch.setattr(arrays, "CELLS_PER_BLOCK", 7)
    monkeypatch.setattr("magnet.recovery.io.sparse.ENTRIES_AT_ONCE", 5)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    double = by_pieces(matrix, lambda piece: 2 * piece, on_disk)
    assert np.array_equal(double.toarray(), 2 * matrix.toarray())
    by_column, expected = columns_of(double, on_disk), double.tocsc()
    assert np.array_equal(by_column.indices, expected.indices)
    assert np.array_equal(by_column.data, expected.data)
    assert concatenated([np.arange(3), np.arange(2)], on_disk).tolist() == [0, 1, 2, 0, 1]
    empty = stacked([sp.csr_matrix((2, 4), dtype=np.float32)] * 2, 4, on_disk)
    assert empty.shape == (4, 4)
    assert empty.nnz == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_a_file_is_read_without_zeros_and_with_sums_of_repeated_cells(monkeypatch, tmp_path, form):
    monkeypatch.setattr(arrays, "CELLS_PER_BLOCK", 2)
    parts = np.array([1, 2, 0, 4.0]), np.array([2, 2, 1, 0], np.int64), np.array([0, 2, 3, 3, 4], np.int64)
    stored = sp.csr_matrix((4, 3)) if form == "csr" else sp.csc_matrix((3, 4))
    stored.data, stored.indices, stored.indptr = parts
    sp.save_npz(tmp_path / "x.npz", stored)
    found = read_rows(tmp_path / "x.npz")
    assert found.dtype == np.float32
    assert np.array_equal(found.toarray(), stored.toarray())
    assert found.nnz == 2


def bag(kind: str, nodes: int = 300, words: int = 150) -> sp.csr_matrix:
    rng = np.random.default_rng(0)
    topic = rng.integers(3, size=nodes)
    x = rng.random((nodes, words)) < np.where(rng.integers(3, size=words) == topic[:, None], 0.2, 0.04)
    x = x.astype(np.float32)
    if kind == "counts":
        x *= rng.poisson(1.5, x.shape) + 1
    elif kind == "normalized":
        x /= np.maximum(x.sum(axis=1, keepdims=True), 1)
    elif kind == "signed":  # not a bag
        x *= rng.normal(size=x.shape)
    elif kind == "weights":
        x *= rng.random(x.shape) + 0.1
        x[5, 7] = 9.0
    x[-3:] = x[:3]
    return sp.csr_matrix(x)


@pytest.mark.parametrize("detector", ["auto", "context", "cell"])
@pytest.mark.parametrize("kind", ["words", "counts", "normalized", "weights", "signed"])
def test_sparse_features_on_disk_are_judged_like_those_in_memory(tmp_path, monkeypatch, detector, kind):
    data = synthetic(300, 4, seed=0)
    data.x = bag(kind)
    expected = make(detector).fit(data)
    sp.save_npz(tmp_path / "x.npz", data.x)
    monkeypatch.setattr(arrays, "CELLS_PER_BLOCK", 1000)
    data.x = tmp_path / "x.npz"
    found = make(detector).fit(data)
    assert found.verdict_.data.on_disk
    for name in ("node_scores_", "node_probability_", "probability_", "scores_", "trust_", "soft_trust_"):
        one, other = (getattr(each, name) for each in (found, expected))
        if one.layout == torch.sparse_csr:
            assert torch.equal(one.col_indices().long(), other.col_indices())
            one, other = one.values(), other.values()
        assert torch.equal(one, other), name
    assert torch.equal(found.flagged_, expected.flagged_)


FIT_WITHIN = """
import resource, sys
import scipy.sparse as sp, torch
from magnet import arrays
from magnet.datasets import synthetic
from magnet.detection import make, options
from magnet.detection.rows import pair_features

torch.set_num_threads(1)
path, limit = sys.argv[1], int(sys.argv[2])
# what does not grow with the features: blocks and samples, as small as these features are
arrays.CELLS_PER_BLOCK = 1 << 16
pair_features.SPARSE_CELLS = 1 << 17
object.__setattr__(options.DATA, "cells_per_block", 1 << 16)
object.__setattr__(options.ROWS, "max_pairs", 1 << 16)
object.__setattr__(options.CONTEXT, "mixture_events", 1 << 13)
small = synthetic(300, 200, seed=0)
small.x = sp.csr_matrix(small.x.numpy())
make("auto").fit(small).scores_  # imports and compiles
data = synthetic(700, 2, seed=0)
data.x = sp.load_npz(path) if limit < 0 else path
held = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData")) << 10
resource.setrlimit(resource.RLIMIT_DATA, (held + abs(limit),) * 2)
print(make("auto").fit(data).scores_.shape)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux")
def test_memory_does_not_grow_with_the_cells_that_are_stored(tmp_path):
    x = sp.random(700, 3000, density=0.45, format="csr", random_state=0, dtype=np.float32)  # 8 MB, ten such in memory
    x.data += 0.1
    sp.save_npz(tmp_path / "x.npz", x)

    def run(limit: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", FIT_WITHIN, str(tmp_path / "x.npz"), str(limit)]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)

    limit = 40 << 20
    assert "[700, 3000]" in run(limit).stdout
    assert "llocate" in run(-limit).stderr  # the same limit is too small for features in memory
