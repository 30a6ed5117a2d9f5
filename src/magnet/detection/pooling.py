"""Several opinions about what a cell of a table holds, made one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

# Cells of one column (times its values) that the weights are fitted on.
CELLS = 400_000
# What all columns of a kind have in common counts as much as so many cells of each.
COMMON_CELLS = 20.0
# Share of the cells that the weights need not explain: the opinions are not made vague for the sake of wrong cells.
UNEXPLAINED = 0.05
# Surprises that are fewer than this share of the column are mistakes rather than nature; more are nature rather.
MISTAKES = 0.02
# But nothing is rarer than this by nature.
RAREST = 1e-4


@dataclass(frozen=True)
class Pool:
    r"""Chances of the K values of a column, from the opinions :math:`p_m` of several predictors:

    .. math::
        \pi_k = (1 - \delta) \frac{\prod_m p_{km}^{\beta_m}}{\sum_l \prod_m p_{lm}^{\beta_m}} + \delta b_k

    The product makes a value that all predictors find rare much rarer than a mean of them would; the noise
    :math:`\delta` is how often a right value comes out of the blue, at its rate :math:`b_k` in the column. How many
    values come out of the blue (a share t) can be seen, but not how many of those are right. We take

    .. math::
        \delta = \frac{t^3}{t^2 + 0.02^2},

    so that the only city of a table that nobody expects there is a mistake, and one of many such cities (three in a
    hundred) is not. For a cell that is judged, t is the share among the others.

    Args:
        weights: :math:`\beta` ``[parts]``.
        rates: :math:`b` ``[K]``.
        surprises: t.
        cells: how many were counted for it.
    """

    weights: Tensor
    rates: Tensor
    surprises: float
    cells: int

    def chance(self, opinions: Tensor, value: Tensor) -> Tensor:
        """``[n, K]`` of opinions ``[n, K, parts]`` about cells that hold a value ``[n]``, -1 where there is none."""
        together = pooled(opinions.clamp_min(1e-7).log(), self.weights)
        there = value.clamp_min(0)
        own = surprise(together.gather(1, there[:, None])[:, 0], self.rates[there], self.surprises) * (value >= 0)
        t = (self.surprises - own / max(1, self.cells)).clamp_min(0)
        noise = (t.pow(3) / (t.square() + MISTAKES**2)).clamp_min(RAREST)[:, None]
        return (1 - noise) * together + noise * self.rates


def pooled(logs: Tensor, weights: Tensor) -> Tensor:
    """The product of opinions ``[n, K, parts]``, given as logarithms."""
    return torch.softmax(logs @ weights, dim=1)


def surprise(expected: Tensor, rate: Tensor, share: Tensor | float) -> Tensor:
    """Probability ``[n]`` that a value came out of the blue, if a share of them does."""
    return share * rate / (share * rate + (1 - share) * expected).clamp_min(1e-30)


def fit_pools(opinions: Sequence[Tensor], values: Sequence[Tensor]) -> list[Pool]:
    """The pools of columns of one kind: first the weights for all of them together, then, near to those, for each.

    Args:
        opinions: for each column ``[n, K, parts]``.
        values: for each column which of the K values is there, ``[n]``.

    Example:
        >>> said = torch.tensor([[0.9, 0.1]] * 90 + [[0.2, 0.8]] * 10)  # nothing was ever against the first opinion
        >>> opinions = torch.stack([said, torch.full((100, 2), 0.5)], dim=2)
        >>> value = said.argmax(dim=1)
        >>> pool = fit_pools([opinions], [value])[0]
        >>> bool(pool.chance(opinions, value)[0, 1] < 0.02)  # so it is believed more than it believes itself
        True
    """
    rates = [torch.bincount(v, minlength=o.shape[1]).float() + 1e-3 for o, v in zip(opinions, values, strict=True)]
    rates = [0.5 * r / r.sum() + 0.5 / r.numel() for r in rates]
    start = torch.zeros(opinions[0].shape[2], device=opinions[0].device)
    start[1] = 1.0
    together = _weights(opinions, values, rates, start, 1.0)
    pools = []
    for o, v, b in zip(opinions, values, rates, strict=True):
        weights = _weights([o], [v], [b], together, COMMON_CELLS)
        expected = pooled(o.clamp_min(1e-7).log(), weights).gather(1, v[:, None])[:, 0]
        pools.append(Pool(weights, b, _surprises(expected, b[v]), v.numel()))
    return pools


def _surprises(expected: Tensor, rate: Tensor, steps: int = 200) -> float:
    """The share of values that come out of the blue, by expectation maximisation."""
    share = UNEXPLAINED
    if expected.numel() == 0:
        return 0.0
    for _ in range(steps):
        new = float(surprise(expected, rate, share).mean())
        if abs(new - share) < 1e-6:
            break
        share = new
    return share


def _weights(
    opinions: Sequence[Tensor], values: Sequence[Tensor], rates: Sequence[Tensor], start: Tensor, strength: float
) -> Tensor:
    """The most likely weights, if those at the start are believed as much as ``strength`` cells.

    None is negative (the search is among their roots): no opinion counts the wrong way round.
    """
    prior = start.double()
    root = prior.clamp_min(0.01).sqrt().requires_grad_(True)
    logs = [o.double().clamp_min(1e-7).log() for o in opinions]
    search = torch.optim.LBFGS([root], max_iter=60, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        search.zero_grad()
        weights = root.square()
        total = 0.5 * strength * (weights - prior).square().sum()
        for o, v, b in zip(logs, values, rates, strict=True):
            expected = pooled(o, weights).gather(1, v[:, None])[:, 0]
            total = total - ((1 - UNEXPLAINED) * expected + UNEXPLAINED * b.double()[v]).log().sum()
        total.backward()
        return total

    with torch.enable_grad():
        search.step(loss)
    return root.detach().square().float()
