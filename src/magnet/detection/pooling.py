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
# The chance of a value that nobody expects, before anything is seen.
NOISE = -5.0  # its log odds: 0.7 %


@dataclass(frozen=True)
class Pool:
    r"""Chances of the K values of a column, from the opinions :math:`p_m` of several predictors:

    .. math::
        \pi_k = (1 - \delta) \frac{\prod_m p_{km}^{\beta_m}}{\sum_l \prod_m p_{lm}^{\beta_m}} + \delta b_k

    The product makes a value that all predictors find rare much rarer than a mean of them would; the noise
    :math:`\delta` is how often a value comes out of the blue, at its rate :math:`b_k` in the column.

    Args:
        weights: :math:`\beta` and, last, the log odds of :math:`\delta`: ``[parts + 1]``.
        rates: :math:`b` ``[K]``.
    """

    weights: Tensor
    rates: Tensor

    def chance(self, opinions: Tensor) -> Tensor:
        """``[n, K]`` of opinions ``[n, K, parts]``."""
        together = torch.softmax(opinions.clamp_min(1e-7).log() @ self.weights[:-1], dim=1)
        noise = torch.sigmoid(self.weights[-1])
        return (1 - noise) * together + noise * self.rates


def fit_pools(opinions: Sequence[Tensor], values: Sequence[Tensor], wrong: float) -> list[Pool]:
    """The pools of columns of one kind: first the weights for all of them together, then, near to those, for each.

    Args:
        opinions: for each column ``[n, K, parts]``.
        values: for each column which of the K values is there, ``[n]``.
        wrong: share of the cells that hold a value of the column by mistake: as much of what comes out of the blue
            is not held to be noise.

    Example:
        >>> said = torch.tensor([[0.9, 0.1]] * 90 + [[0.2, 0.8]] * 10)  # nothing was ever against the first opinion
        >>> opinions = torch.stack([said, torch.full((100, 2), 0.5)], dim=2)
        >>> pool = fit_pools([opinions], [said.argmax(dim=1)], wrong=0.0)[0]
        >>> bool(pool.chance(opinions)[0, 1] < 0.02)  # so it is believed more than it believes itself
        True
    """
    rates = [torch.bincount(v, minlength=o.shape[1]).float() + 1e-3 for o, v in zip(opinions, values, strict=True)]
    rates = [0.5 * r / r.sum() + 0.5 / r.numel() for r in rates]
    start = torch.zeros(opinions[0].shape[2] + 1, device=opinions[0].device)
    start[1], start[-1] = 1.0, NOISE
    together = _weights(opinions, values, rates, wrong, start, 1.0)
    return [
        Pool(_weights([o], [v], [b], wrong, together, COMMON_CELLS), b)
        for o, v, b in zip(opinions, values, rates, strict=True)
    ]


def _weights(
    opinions: Sequence[Tensor],
    values: Sequence[Tensor],
    rates: Sequence[Tensor],
    wrong: float,
    start: Tensor,
    strength: float,
) -> Tensor:
    """The most likely weights, if those at the start are believed as much as ``strength`` cells."""
    prior = start.double()
    weights = prior.clone().requires_grad_(True)
    logs = [o.double().clamp_min(1e-7).log() for o in opinions]
    search = torch.optim.LBFGS([weights], max_iter=60, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        search.zero_grad()
        away = (weights - prior).square()
        total = 0.5 * (strength * away[:-1].sum() + away[-1])
        noise = torch.sigmoid(weights[-1])
        for o, v, b in zip(logs, values, rates, strict=True):
            together = torch.softmax(o @ weights[:-1], dim=1).gather(1, v[:, None])[:, 0]
            out_of_the_blue = b.double()[v]
            right = (1 - noise) * together + noise * out_of_the_blue
            total = total - ((1 - wrong) * right + wrong * out_of_the_blue).log().sum()
        total.backward()
        return total

    with torch.enable_grad():
        search.step(loss)
    return weights.detach().float()
