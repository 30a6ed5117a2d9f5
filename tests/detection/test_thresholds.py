"""Thresholds and probabilities without labels."""

from __future__ import annotations

import torch

from magnet.detection.thresholds import tail_probability


def test_tail_probability_keeps_to_the_upper_end():
    scores = torch.cat([torch.randn(1000, generator=torch.Generator().manual_seed(0)), torch.tensor([15.0, -15.0])])
    p, share = tail_probability(scores)
    assert p[-2] > 0.99
    assert p[-1] < 0.01
    assert share < 0.02
    assert float(tail_probability(torch.ones(10))[0].max()) == 0
