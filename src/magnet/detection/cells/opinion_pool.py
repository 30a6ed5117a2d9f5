"""Logarithmic opinion pool (Genest & Zidek 1986): several predictive distributions of a cell, combined into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from magnet.detection.options import DATA, POOL, TINY
from magnet.detection.thresholds import empirical_bayes_share

MIN_PREDICTIVE = 1e-7  # probability of a value under a predictor, so that its logarithm is finite in float32
UNSEEN = 1e-3  # cells added to every value's count, for values that no cell holds (not swept)
MIN_START = 0.01  # least weight of a predictor where the search begins: the root of 0 has no gradient (not swept)
EM_STEPS, LBFGS_STEPS = 200, 60  # at most (not swept)


@dataclass(frozen=True)
class LogOpinionPool:
    r"""Probabilities of the K values of a column, from the predictive distributions :math:`p_m` of several predictors:

    .. math::
        \pi_k = (1 - \delta) \frac{\prod_m p_{km}^{\beta_m}}{\sum_l \prod_m p_{lm}^{\beta_m}} + \delta b_k

    The product makes a value that all predictors find rare much rarer than a mean of them would. The noise
    :math:`\delta` is how often a right value is unexpected, at its rate :math:`b_k` in the column. The share t of
    unexpected values can be estimated, but not how many of them are right. We take

    .. math::
        \delta = \frac{t^3}{t^2 + 0.02^2},

    so that below a share of 2 % unexpected values are treated as errors, and above it as genuine variation. For a cell
    that is judged, t is the share among the other cells.

    Args:
        weights: :math:`\beta` ``[predictors]``.
        rates: :math:`b` ``[K]``.
        unexpected: t.
        cells: how many cells t was estimated from.
    """

    weights: Tensor
    rates: Tensor
    unexpected: float
    cells: int

    def probability(self, predictive: Tensor, value: Tensor) -> Tensor:
        """``[n, K]`` from ``predictive`` ``[n, K, predictors]``, for cells that hold ``value`` ``[n]`` (-1: none)."""
        pooled = _pooled(predictive.clamp_min(MIN_PREDICTIVE).log(), self.weights)
        held = value.clamp_min(0)
        observed = pooled.gather(1, held[:, None])[:, 0]
        own = contamination_posterior(observed, self.rates[held], self.unexpected) * (value >= 0)
        t = (self.unexpected - own / max(1, self.cells)).clamp_min(0)
        noise = (t.pow(3) / (t.square() + DATA.max_exceptions**2)).clamp_min(POOL.min_noise)[:, None]
        return (1 - noise) * pooled + noise * self.rates


def _pooled(logs: Tensor, weights: Tensor) -> Tensor:
    """The normalized product of predictive distributions ``[n, K, predictors]``, given as logarithms."""
    return torch.softmax(logs @ weights, dim=1)


def contamination_posterior(expected: Tensor, rate: Tensor, share: Tensor | float) -> Tensor:
    """Probability ``[n]`` that a value was drawn at its rate in the column, if a share of the values is, and not from
    the predictive distribution."""
    return share * rate / (share * rate + (1 - share) * expected).clamp_min(TINY)


def fit_pools(predictive: Sequence[Tensor], values: Sequence[Tensor]) -> list[LogOpinionPool]:
    """The pools of columns of one kind: first the weights for all of them together, then, shrunk toward those, for
    each column.

    Args:
        predictive: for each column ``[n, K, predictors]``.
        values: for each column which of the K values is there, ``[n]``.

    Example:
        >>> said = torch.tensor([[0.9, 0.1]] * 90 + [[0.2, 0.8]] * 10)  # the first predictor was never wrong
        >>> predictive = torch.stack([said, torch.full((100, 2), 0.5)], dim=2)
        >>> value = said.argmax(dim=1)
        >>> pool = fit_pools([predictive], [value])[0]
        >>> bool(pool.probability(predictive, value)[0, 1] < 0.02)  # the pooled confidence exceeds the predictor's own
        True
    """
    counts = [torch.bincount(v, minlength=p.shape[1]).float() + UNSEEN for p, v in zip(predictive, values, strict=True)]
    rates = [0.5 * c / c.sum() + 0.5 / c.numel() for c in counts]
    start = torch.zeros(predictive[0].shape[2], device=predictive[0].device)
    start[1] = 1.0
    shared = _fit_weights(predictive, values, rates, start, 1.0)
    pools = []
    for p, v, b in zip(predictive, values, rates, strict=True):
        weights = _fit_weights([p], [v], [b], shared, POOL.shared_cells)
        expected = _pooled(p.clamp_min(MIN_PREDICTIVE).log(), weights).gather(1, v[:, None])[:, 0]
        pools.append(LogOpinionPool(weights, b, _unexpected_share(expected, b[v]), v.numel()))
    return pools


def _unexpected_share(expected: Tensor, rate: Tensor) -> float:
    """The share of values that the predictors do not explain."""
    if expected.numel() == 0:
        return 0.0
    return empirical_bayes_share(
        lambda share: float(contamination_posterior(expected, rate, share).mean()), max_iter=EM_STEPS
    )


def _fit_weights(
    predictive: Sequence[Tensor], values: Sequence[Tensor], rates: Sequence[Tensor], start: Tensor, strength: float
) -> Tensor:
    """The weights of largest posterior density; those at the start count as much as ``strength`` cells.

    None is negative (the search is among their roots): no predictor counts with the opposite sign.
    """
    prior = start.double()
    root = prior.clamp_min(MIN_START).sqrt()
    logs = [p.double().clamp_min(MIN_PREDICTIVE).log() for p in predictive]
    drawn = [POOL.unexplained * b.double()[v] for v, b in zip(values, rates, strict=True)]
    search = torch.optim.LBFGS([root], max_iter=LBFGS_STEPS, line_search_fn="strong_wolfe")
    kept = 1 - POOL.unexplained

    def loss() -> Tensor:
        r"""With :math:`e_i` the pooled probability of the value that is there, the gradient of :math:`\log e_i` is
        :math:`\ell_{i v_i} - \sum_k \pi_{ik} \ell_{ik}`; autograd takes twice as long."""
        weights = root.square()
        total, slope = 0.5 * strength * (weights - prior).square().sum(), strength * (weights - prior)
        for p, v, other in zip(logs, values, drawn, strict=True):
            pooled = _pooled(p, weights)
            expected = kept * pooled.gather(1, v[:, None])
            likelihood = expected + other[:, None]
            total = total - likelihood.log().sum()
            share = expected / likelihood
            slope = slope + p.flatten(0, 1).T @ (pooled * share).scatter_add_(1, v[:, None], -share).flatten()
        root.grad = 2 * root * slope
        return total

    search.step(loss)
    return root.square().float()
