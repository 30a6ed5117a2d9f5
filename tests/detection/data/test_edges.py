"""Products and maxima over the edges."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from magnet.detection.data.edges import (
    nearest_neighbor,
    neighbor_max,
    over_rows,
    segment_max,
    sparse_contexts,
    sparse_product,
)
from magnet.detection.data.row_vectors import RowVectors


def test_loops_over_edges_agree_with_torch(small_data):
    data = small_data
    left, right = data.edges
    z = torch.randn(30, 7, generator=torch.Generator().manual_seed(1)) - 2  # maxima below 0 count as well
    products = RowVectors(z, None, data.device).link_products(data, torch.arange(data.num_nodes))
    torch.testing.assert_close(products, (z[left] * z[right]).sum(dim=1))
    sparse = RowVectors(None, sp.csr_matrix(z.numpy()), data.device)
    torch.testing.assert_close(sparse.link_products(data, torch.arange(data.num_nodes)), products)
    a = data.graph.adjacency
    found = torch.from_numpy(neighbor_max(a.indptr, a.indices, z.numpy()))
    torch.testing.assert_close(found, segment_max(z[right], data.num_neighbors.long()), rtol=0, atol=0)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_sparse_product_is_scipys_on_any_number_of_threads(threads, monkeypatch):
    monkeypatch.setattr("magnet.detection.data.edges.CELLS_PER_THREAD", 1)
    monkeypatch.setattr("torch.get_num_threads", lambda: threads)
    matrix = sp.random(300, 200, 0.05, format="csr", dtype=np.float32, random_state=0)
    dense = np.random.default_rng(0).normal(size=(200, 33)).astype(np.float32)
    np.testing.assert_array_equal(sparse_product(matrix, dense), matrix @ dense)
    np.testing.assert_array_equal(sparse_product(matrix, dense.T.copy().T), matrix @ dense)
    seen = []
    over_rows(lambda first, last: seen.extend(range(first, last)), matrix.indptr, 33)
    assert sorted(seen) == list(range(300))


def test_norms_and_products_of_sparse_contexts_are_those_of_dense_ones(small_data):
    """A context is the sum of rows one or two hops away, less the mean of the rows and the walks that return."""
    a, rng = small_data.graph.adjacency.astype(np.float64).tocsr(), np.random.default_rng(0)
    n = a.shape[0]
    z = sp.random(n, 12, 0.3, format="csr", random_state=1)
    w, own, mean = rng.random(n), rng.random(n), rng.random(12)
    one = (a @ sp.diags(w) @ z).tocsr()
    near, far = rng.random(n), rng.random(n)
    out = np.zeros((n, 4))
    parts = [(m.indptr, m.indices, m.data) for m in (a, z, one)]
    sparse_contexts(*parts, mean, own, near, far, out, 0, n)
    dense, first = z.toarray(), one.toarray() - near[:, None] * mean
    second = a @ one.toarray() - own[:, None] * dense - far[:, None] * mean
    expected = [
        *((c**2).sum(axis=1) for c in (first, second)),
        *(((dense - mean) * c).sum(axis=1) for c in (first, second)),
    ]
    np.testing.assert_allclose(out, np.stack(expected, axis=1), rtol=1e-9, atol=1e-9)


def test_the_nearest_neighbor_is_the_largest_weighted_cosine(small_data):
    a, rng = small_data.graph.adjacency.tocsr(), np.random.default_rng(0)
    n = a.shape[0]
    z, m, w, row = rng.normal(size=(n, 5)), rng.normal(size=5), rng.random(n), rng.permutation(n)
    ends = np.repeat(np.arange(n), np.diff(a.indptr))
    products = (z[row[ends]] * z[a.indices]).sum(axis=1)
    length, out = np.linalg.norm(z - m, axis=1), np.full(n, np.nan)
    nearest_neighbor(a.indptr, a.indices, row, products, z @ m, m @ m, length, w, out, 0, n)
    for i in range(n):
        others = a.indices[a.indptr[i] : a.indptr[i + 1]]
        cosines = [w[j] * (z[row[i]] - m) @ (z[j] - m) / (length[row[i]] * length[j]) for j in others]
        assert out[i] == pytest.approx(max(cosines, default=0.0))
