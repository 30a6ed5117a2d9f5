"""Tails of residuals: which far values belong to the column, and which are wrong?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import t
from torch import Tensor

from magnet.detection.data.scales import order_statistics
from magnet.detection.data.scratch import cached_rows
from magnet.detection.options import CELLS, MIN_PROBABILITY, MIN_WEIGHT, NUMERIC
from magnet.scales import NORMAL_MAD
from magnet.threads import CELLS_PER_THREAD, map_threads

MIDDLE, FAR = 0.5, 0.9  # quantiles of ``|u|`` whose ratio tells how heavy a tail is (not swept)
ROW_BITS = 32  # of the row in a sorted number, see _descending


@dataclass(frozen=True, eq=False)
class Tail:
    """How right residuals are distributed in each column: t distributions ``t_dofs``, averaged.

    Args:
        log_weight: posterior of each of the K degrees of freedom ``[K, c]``.
        scale: the scale that goes with it ``[K, c]``, at least 1.
    """

    log_weight: Tensor
    scale: Tensor

    @classmethod
    def of(cls, dof: Tensor) -> Tail:
        """t distributions with the given degrees of freedom ``[c]``, all of them in ``t_dofs``."""
        dofs = torch.tensor(NUMERIC.t_dofs, device=dof.device)
        weight = (dofs[:, None] == dof).float().log()
        return cls(weight, torch.ones_like(weight))

    def log_density(self, u: Tensor) -> Tensor:
        """Of residuals ``[n, c]`` over their spread."""
        out = torch.full_like(u, -torch.inf)
        for rows in cached_rows(u):
            for dof, weight, scale in zip(NUMERIC.t_dofs, self.log_weight, self.scale, strict=True):
                right = weight + log_t_density(u[rows] / scale, dof) - scale.log()
                out[rows] = torch.logaddexp(out[rows], right)
        return out


def fit_tail(u: Tensor, log_wrong: Tensor, max_dof: Tensor, by_row: bool = True) -> Tail:
    r"""The tail of the residuals of each column, by EM beside wrong values, for each number of degrees of freedom:

    .. math::
        p(u) = (1 - \varepsilon)\, t_\nu(u / s) / s + \varepsilon\, f_{\text{wrong}}(u) .

    They are averaged by their likelihoods, so a tail that runs out evenly is a heavy tail, and only what no likely tail
    reaches is wrong. (A fit to the middle of the distribution calls every column wrong whose tail is heavier than its
    middle promises.)

    Args:
        u: residuals over their spread ``[n, c]``, NaN if missing.
        log_wrong: log density of wrong values, in units of u.
        max_dof: of each column ``[c]``.
        by_row: whether the rest of the row has been taken out of the residuals. Where it has not, far values come
            together in rows, and the fitted tails are widened: the scales that fit a column have the median of the
            residuals, those of the density are at least 1. (``benchmarks/clean.py``: of the rows of made-up graphs with
            300 or 500 columns 18 % are flagged without, 6 % with this. Where the rest of the row is known, fewer of the
            outliers of WordNet are found with such tails.) (default: ``True``)
    """
    size, weight, wrong = _farthest_and_some(u, log_wrong)
    fits, scales = [], []
    rate, rows = NUMERIC.prior_wrong_rate, NUMERIC.prior_cells
    for dof, median_scale in zip(NUMERIC.t_dofs, _median_scales(NUMERIC.t_dofs), strict=True):
        least = 1.0 if by_row else median_scale
        s, e = torch.ones_like(max_dof), torch.full_like(max_dof, rate)
        for _ in range(NUMERIC.tail_steps):
            right = log_t_density(size / s, dof) - s.log()
            p = torch.sigmoid(wrong - right + torch.logit(e))
            kept = weight * (1 - p)
            pull = kept * (dof + 1) / (dof + (size / s).square())
            s = ((pull * size.square()).sum(dim=0) / kept.sum(dim=0).clamp_min(MIN_WEIGHT)).sqrt().clamp_min(least)
            e = ((weight * p).sum(dim=0) + rate * rows) / (weight.sum(dim=0) + rows)
            e = e.clamp(MIN_PROBABILITY, CELLS.max_rate)
        right = log_t_density(size / s, dof) - s.log()
        fit = (weight * torch.logaddexp(right + torch.log1p(-e), wrong + e.log())).sum(dim=0)
        fit = fit + rows * (rate * e.log() + (1 - rate) * torch.log1p(-e))
        fits.append(torch.where(dof > max_dof, -torch.inf, fit))
        scales.append(s)
    prior = torch.tensor(NUMERIC.t_prior, device=u.device).log()[:, None]
    return Tail(torch.log_softmax(torch.stack(fits) + prior, dim=0), torch.stack(scales).clamp_min(1))


def _farthest_and_some(u: Tensor, log_wrong: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Representative sizes ``[m, c]`` of the residuals, their counts, and their ``log_wrong``: the farthest
    for themselves, the others in bins of equal numbers."""
    n = u.shape[0]
    exact, bins = NUMERIC.tail_exact, NUMERIC.tail_bins
    if n <= exact + bins:
        at, count = torch.arange(n, device=u.device), torch.ones(n, device=u.device)
    else:
        edges = torch.linspace(exact, n, bins + 1, device=u.device).long()
        at = torch.cat([torch.arange(exact, device=u.device), (edges[:-1] + edges[1:]) // 2])
        count = torch.cat([torch.ones(exact, device=u.device), edges.diff().float()])
    size, order = _descending(u.abs().nan_to_num(nan=-1.0), at)
    wrong = log_wrong.gather(0, order)
    known = size >= 0
    return size.clamp_min(0), known * count[:, None], torch.where(known, wrong, torch.zeros_like(wrong))


def _descending(values: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
    """The numbers at some places ``[m]`` of each column of ``[n, c]``, sorted from the largest on, and their rows
    (equal ones in the order of the rows)."""
    if values.device.type != "cpu":
        ordered, order = values.sort(dim=0, descending=True, stable=True)
        return ordered[at], order[at]
    # Whole numbers are sorted ten times as fast: the bits of a float in the upper half, its row in the lower one.
    n, c = values.shape
    bits = values.T.contiguous().view(torch.int32).numpy()  # -1 becomes negative
    rows = np.arange(n, dtype=np.int64)

    def largest(j: int) -> NDArray[np.int64]:
        keys = (-bits[j].astype(np.int64) << ROW_BITS) | rows
        keys.sort()
        return keys[at.numpy()]

    threads = max(1, min(torch.get_num_threads(), n * c // CELLS_PER_THREAD))
    keys = torch.from_numpy(np.stack(map_threads(largest, range(c), threads), axis=1))
    return (-(keys >> ROW_BITS)).int().view(torch.float32), keys & ((1 << ROW_BITS) - 1)


def fit_t_dof(u: Tensor, min_median: float = MIN_WEIGHT) -> Tensor:
    """Degrees of freedom ``[c]`` of the t distribution whose 90 % point of ``|u|``, relative to the median, is nearest
    to that of the data.

    Args:
        u: standardized residuals ``[n, c]``, NaN where missing.
        min_median: least median: that of residuals divided by their own median deviation is smaller only where most of
            them are equal, and then says nothing about the tail. (default: none)
    """
    known = (~u.isnan()).sum(dim=0)
    ranks = torch.stack([((known - 1).clamp_min(0) * q).long() for q in (MIDDLE, FAR)])
    low, high = order_statistics(u.abs(), ranks)
    ratio = (high.clamp_min(min_median) / low.clamp_min(min_median)).nan_to_num()
    nearest = (ratio[:, None].log() - _tail_ratios(NUMERIC.t_dofs).to(u.device).log()).abs().argmin(dim=1)
    return torch.tensor(NUMERIC.t_dofs, device=u.device)[nearest]


@cache
def _tail_ratios(dofs: tuple[float, ...]) -> Tensor:
    """The 90 % point of ``|t|`` divided by its median, for each number of degrees of freedom.

    Example:
        >>> [round(ratio, 2) for ratio in _tail_ratios((1.0, 30.0)).tolist()]
        [6.31, 2.49]
    """
    return torch.tensor([t.ppf((1 + FAR) / 2, dof) / t.ppf((1 + MIDDLE) / 2, dof) for dof in dofs], dtype=torch.float32)


@cache
def _median_scales(dofs: tuple[float, ...]) -> tuple[float, ...]:
    """The scale of each t distribution whose median size is that of the standard normal one, as residuals over their
    robust spread have it.

    Example:
        >>> [round(scale, 2) for scale in _median_scales((1.0, 4.0, 30.0))]
        [0.67, 0.91, 0.99]
    """
    return tuple(float(1 / (NORMAL_MAD * t.ppf((1 + MIDDLE) / 2, dof))) for dof in dofs)


def log_t_density(u: Tensor, nu: Tensor | float) -> Tensor:
    """Log density of the t distribution."""
    nu = torch.as_tensor(nu, dtype=u.dtype, device=u.device)
    constant = torch.lgamma((nu + 1) / 2) - torch.lgamma(nu / 2) - 0.5 * (nu * math.pi).log()
    return constant - (nu + 1) / 2 * torch.log1p(u.square() / nu)
