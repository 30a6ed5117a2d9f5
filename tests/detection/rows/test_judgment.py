"""How well rows fit their nodes."""

from __future__ import annotations

import torch

from magnet.detection.rows.judgment import _expand, _pair_logits
from magnet.detection.rows.logistic import CrossFit


def test_logits_of_pairs_are_those_of_the_products_of_their_features():
    generator = torch.Generator().manual_seed(0)
    n, m, f = 40, 7, 3
    features, amount = torch.randn(n, m, f, generator=generator), torch.rand(n, 2, generator=generator)
    half = torch.randint(0, 2, (n,), generator=generator)
    size = 4 * f + 2
    centre, spread = torch.randn(size, generator=generator), torch.rand(size, generator=generator) + 0.5
    model = CrossFit(centre, spread, torch.randn(2, size + 1, generator=generator))
    columns = list(features.unbind(dim=2))
    at_nodes = _pair_logits(model, columns, amount[:, None], half[:, None])
    at_places = _pair_logits(model, columns, amount[None, :m], half[None, :m])
    for k in range(m):
        torch.testing.assert_close(at_nodes[:, k], model.logit(_expand(features[:, k], amount), half))
        moved = _expand(features[:, k], amount[k].expand(n, 2))
        torch.testing.assert_close(at_places[:, k], model.logit(moved, half[k].expand(n)))
