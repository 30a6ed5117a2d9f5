"""How likely the cells of a row are at each rate of wrong cells, and what the rates are.

On a CPU sums of logarithms are taken as logarithms of products: one logarithm for dozens of cells.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from magnet.detection.data.edges import jit, over_rows
from magnet.detection.options import CELLS, MIN_PROBABILITY, ROWS
from magnet.detection.thresholds import empirical_bayes_share

#: Two products between these two have a finite product, and so have one of them and four factors of events, which are
#: at most ``exp(CELLS.max_log_ratio)``.
MIN_PRODUCT, MAX_PRODUCT = 1e-150, 1e150
EM_STEPS, EM_TOLERANCE = 300, 1e-5  # of the share of rows with wrong cells, at most, and its change that ends them
CELLS_AT_ONCE, EVENTS_AT_ONCE = 32, 4  # factors of one product: fewer logarithms, and seldom beyond these limits


def rate_likelihood(plain: Tensor, rates: Tensor) -> Tensor:
    r""":math:`\sum_j \log(1 + e x_{ij})` ``[n, rates]`` for numbers ``x`` ``[n, c]`` and rates ``e``.

    Example:
        >>> rate_likelihood(torch.tensor([[1.0, 3.0]]), torch.tensor([0.0, 1.0])).exp().tolist()
        [[1.0, 8.0]]
    """
    if plain.device.type != "cpu":
        return torch.stack([torch.log1p(e * plain).sum(dim=1) for e in rates.tolist()], dim=1)
    n, c = plain.shape
    out = torch.zeros(n, rates.numel())
    over_rows(partial(_add_cells, plain.contiguous().numpy(), rates.double().numpy(), out.numpy()), np.arange(n + 1), c)
    return out


@jit
def _add_cells(plain: Any, rates: Any, out: Any, first: int, last: int) -> None:
    for i in range(first, last):
        row = plain[i]
        for k in range(rates.size):
            rate, total = rates[k], 1.0
            for start in range(0, row.size, CELLS_AT_ONCE):
                product = 1.0
                for j in range(start, min(row.size, start + CELLS_AT_ONCE)):
                    product *= 1 + rate * row[j]
                if MIN_PRODUCT < product < MAX_PRODUCT:
                    total *= product
                else:  # far too large or small: one by one
                    for j in range(start, min(row.size, start + CELLS_AT_ONCE)):
                        out[i, k] += math.log(1 + rate * row[j])
                if not MIN_PRODUCT < total < MAX_PRODUCT:
                    out[i, k] += math.log(total)
                    total = 1.0
            out[i, k] += math.log(total)


def event_likelihood(rows: int, row: Tensor, right: Tensor, wrong: Tensor, rates: Tensor) -> Tensor:
    r""":math:`\sum_a \log((1 - e) f_{am} + e g_{am})` ``[rows, rates, m]`` over the events ``a`` of each row.

    Args:
        row: of each event, in increasing order ``[events]``.
        right, wrong: how likely it is in a right and in a wrong cell, for each length of the row ``[events, m]``.
        rates: ``e``.
    """
    m = right.shape[1]
    out = torch.zeros(rows, rates.numel(), m, device=right.device)
    if right.device.type != "cpu":
        for k, e in enumerate(rates.tolist()):
            out[:, k].index_add_(0, row, ((1 - e) * right + e * wrong).log())
        return out
    start = np.searchsorted(row.numpy(), np.arange(rows + 1))
    arrays = start, right.contiguous().numpy(), wrong.contiguous().numpy(), rates.double().numpy(), out.numpy()
    over_rows(partial(_add_events, *arrays), start, m * rates.numel())
    return out


@jit
def _add_events(start: Any, right: Any, wrong: Any, rates: Any, out: Any, first: int, last: int) -> None:
    product = np.ones((rates.size, right.shape[1]))
    for i in range(first, last):
        product[:] = 1
        for a in range(start[i], start[i + 1]):
            for k in range(rates.size):
                for m in range(right.shape[1]):
                    product[k, m] *= (1 - rates[k]) * right[a, m] + rates[k] * wrong[a, m]
            if (a - start[i]) % EVENTS_AT_ONCE == EVENTS_AT_ONCE - 1:
                for k in range(rates.size):
                    for m in range(right.shape[1]):
                        if not MIN_PRODUCT < product[k, m] < MAX_PRODUCT:
                            out[i, k, m] += math.log(product[k, m])
                            product[k, m] = 1
        for k in range(rates.size):
            for m in range(right.shape[1]):
                out[i, k, m] += math.log(product[k, m])


def fit_rates(likelihood: Tensor) -> tuple[Tensor, Tensor, float]:
    r"""Empirical Bayes from log likelihoods ``[n, 1 + K, M]`` of rates (the first is 0) and lengths.

    The prior is :math:`g(e) h(r)`, uniform over the rates above 0; its weights are found by expectation maximization.
    Returns the posterior, the log odds ``[n]`` that the rate is above 0, and the share of such rows.
    """
    _, k, m = likelihood.shape
    no_evidence = float(likelihood.abs().max()) < MIN_PROBABILITY
    length = torch.full((m,), 1 / m, device=likelihood.device)
    # the rates above 0 have the same weight: their sum is all that the weights depend on
    both = torch.stack([likelihood[:, 0], likelihood[:, 1:].logsumexp(dim=1) - math.log(k - 1)], dim=1)
    prior = weighted = both

    def expected_share(share: float) -> float:
        nonlocal length, prior, weighted
        prior = (both.new_tensor([[1 - share], [share]]) * length).log()
        weighted = both + prior
        posterior = torch.softmax(weighted.flatten(1), dim=1).reshape(both.shape)
        length = posterior.sum(dim=1).mean(dim=0).clamp_min(MIN_PROBABILITY)
        length = length / length.sum()
        return float(1 - posterior[:, 0].sum(dim=1).mean())

    if no_evidence:
        share = ROWS.min_share
        expected_share(share)
    else:
        share = empirical_bayes_share(expected_share, (ROWS.min_share, CELLS.max_share), EM_TOLERANCE, EM_STEPS)
    odds = weighted[:, 1].logsumexp(dim=1) - weighted[:, 0].logsumexp(dim=1)
    each = torch.cat([prior[:1], (prior[1:] - math.log(k - 1)).expand(k - 1, m)])
    return torch.softmax((likelihood + each).flatten(1), dim=1).reshape(likelihood.shape), odds, share
