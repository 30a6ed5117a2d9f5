"""Likelihoods of rates against sums of logarithms, and the weights of the rates."""

from __future__ import annotations

import torch

from magnet.detection.cells.rates import event_likelihood, rate_likelihood

RATES = torch.tensor([0.0, 0.003, 0.05, 0.3])


def test_logarithms_of_products_are_sums_of_logarithms():
    generator = torch.Generator().manual_seed(0)
    plain = (8 * torch.randn(50, 300, generator=generator)).clamp(-60, 60).expm1()
    plain[0] = torch.tensor(60.0).expm1()  # the product would not be finite
    plain[1] = -1.0
    expected = torch.stack([torch.log1p(e * plain.double()).sum(dim=1) for e in RATES.tolist()], dim=1)
    torch.testing.assert_close(rate_likelihood(plain, RATES).double(), expected, rtol=1e-5, atol=1e-4)


def test_likelihoods_of_events_are_summed_over_their_rows():
    generator = torch.Generator().manual_seed(0)
    row = torch.randint(0, 20, (3000,), generator=generator).sort().values
    row = row[row != 7]  # a row without events
    right, wrong = (torch.randn(row.numel(), 5, generator=generator).mul(6).exp() for _ in range(2))
    found = event_likelihood(21, row, right, wrong, RATES)
    for k, e in enumerate(RATES.tolist()):
        each = ((1 - e) * right.double() + e * wrong.double()).log()
        expected = torch.zeros(21, 5, dtype=torch.float64).index_add_(0, row, each)
        torch.testing.assert_close(found[:, k].double(), expected, rtol=1e-5, atol=1e-4)
    assert (found[[7, 20]] == 0).all()
