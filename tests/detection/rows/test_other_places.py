"""Rows beside themselves at other nodes."""

from __future__ import annotations

import torch

from magnet.detection.metrics import areas
from magnet.detection.rows.other_places import compare_with_other_places


def test_a_row_that_fits_everywhere_is_judged_by_its_own_standard():
    """The logits have an effect of the row and one of the node, each larger than that of belonging together."""
    generator = torch.Generator().manual_seed(0)
    n, k = 3000, 40
    row, node = 3 * torch.randn(n, generator=generator), 3 * torch.randn(n, generator=generator)
    swapped = torch.arange(n) < 300
    logit = row + node + torch.where(swapped, 0.0, 3.0) + torch.randn(n, generator=generator)
    chosen = torch.randperm(n, generator=generator)[:k]
    at_node = row[chosen] + node[:, None] + torch.randn(n, k, generator=generator)
    of_row = row[:, None] + node[chosen] + torch.randn(n, k, generator=generator)
    allowed = torch.arange(n)[:, None] != chosen
    everything = torch.ones(n, dtype=torch.bool)
    half = torch.arange(n) % 2
    judged, null = compare_with_other_places(
        logit, (at_node, allowed, chosen), (of_row, allowed, chosen), torch.ones(n), everything, half, 16
    )
    assert areas(swapped, -logit)[0] < 0.75
    assert areas(swapped, -judged)[0] > 0.95
    # swapped rows are distributed as rows at other nodes
    assert abs(float((null[allowed] < judged[swapped].median()).float().mean()) - 0.5) < 0.15
