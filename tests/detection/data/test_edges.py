"""Products and maxima over the edges."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from magnet.detection.data.edges import neighbor_max, over_rows, segment_max, sparse_product
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
