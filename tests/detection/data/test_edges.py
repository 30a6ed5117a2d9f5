"""Products and maxima over the edges."""

from __future__ import annotations

import torch

from magnet.detection.data.edges import neighbor_max, pair_products, segment_max


def test_loops_over_edges_agree_with_torch(small_data):
    data = small_data
    left, right = data.edges
    z = torch.randn(30, 7, generator=torch.Generator().manual_seed(1)) - 2  # maxima below 0 count as well
    torch.testing.assert_close(
        torch.from_numpy(pair_products(left.numpy(), right.numpy(), z.numpy())), (z[left] * z[right]).sum(dim=1)
    )
    a = data.graph.adjacency
    found = torch.from_numpy(neighbor_max(a.indptr, a.indices, z.numpy()))
    torch.testing.assert_close(found, segment_max(z[right], data.num_neighbors.long()), rtol=0, atol=0)
