"""Linear opinion pool (Stone 1961): several predictions of an event, combined by a weighted mean.

:func:`mixing_weights` finds the weights. :func:`pool_words` is the mean itself for the words of a bag, in one pass over
the cells instead of a dozen: there the cells are many, and every array operation moves all of them through memory.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.detection.data.edges import jit, over_rows
from magnet.detection.options import CELLS, CONTEXT, MIN_SQUARE

EM_STEPS, EM_TOLERANCE = 100, 1e-5  # of the weights, at most, and their change that ends the steps

FloatArray = NDArray[np.float32]


def mixing_weights(values: Tensor) -> Tensor:
    """Weights ``[k]`` under which the mixture of likelihoods ``[n, k]`` is largest, by expectation maximization."""
    values = values.double().clamp_min(MIN_SQUARE)
    k = values.shape[1]
    a = torch.full((k,), 1 / k, dtype=torch.float64, device=values.device)
    if values.shape[0] == 0:
        return a.float()
    for _ in range(EM_STEPS):
        share = a * values
        new = (share / share.sum(dim=1, keepdim=True)).mean(dim=0)
        if float((new - a).abs().max()) < EM_TOLERANCE:
            break
        a = new
    return a.float()


class Neighborhood(NamedTuple):
    """Sums ``[n, c]`` of events over one hop and two hops (the last with walks that return), the events themselves, the
    weights ``[n]`` of both and of the walks that return, and the rate of the events in every column ``[c]``."""

    one: Tensor
    two: Tensor
    own: Tensor
    near: Tensor
    far: Tensor
    back: Tensor
    rate: Tensor


class RestOfRow(NamedTuple):
    """What :class:`~magnet.detection.cells.cooccurrence.Cooccurrence` knows about a range of words: sums ``[n, c]``
    over the words of a row, which words are there ``[n, c]``, what the word itself adds to its sum, without its weight
    and by its weight ``[c]``, weights, totals and lengths of the rows ``[n]``, and rates ``[c]``."""

    together: FloatArray
    present: FloatArray
    itself: FloatArray
    inverse: FloatArray
    weight: FloatArray
    total: FloatArray
    length: FloatArray
    rate: FloatArray


def pool_words(a: Tensor, near: Neighborhood, rest: RestOfRow | None) -> Tensor:
    """The pooled probabilities ``[n, c]``, within ``CONTEXT.min_probability`` of 0 and 1.

    Args:
        a: weights of the column's rate, the mean over one hop, that over two hops and, with ``rest``, the prediction
            from the other words of the row.
        near: the neighbors.
        rest: the other words of the row. (default: not used)
    """
    n, c = near.one.shape
    out = torch.empty(n, c)
    weights = np.zeros(4, np.float32)
    weights[: a.numel()] = a.numpy()
    limits = np.array(
        [CONTEXT.shrinkage, CONTEXT.min_lift, CONTEXT.min_probability, 1 - CONTEXT.min_probability], np.float32
    )
    nothing = RestOfRow(*(np.zeros((0, 0), np.float32),) * 2, *(np.zeros(0, np.float32),) * 6)
    sums = tuple(part.contiguous().numpy() for part in near)
    work = partial(_pool_rows, weights, limits, *sums, *(nothing if rest is None else rest), out.numpy())
    over_rows(work, np.arange(n + 1), c)
    return out


@jit
def _pool_rows(
    a: Any,
    limits: Any,
    one: Any,
    two: Any,
    own: Any,
    near: Any,
    far: Any,
    back: Any,
    base: Any,
    together: Any,
    present: Any,
    itself: Any,
    inverse: Any,
    weight: Any,
    total: Any,
    length: Any,
    rate: Any,
    out: Any,
    first: int,
    last: int,
) -> None:
    s, lift, lowest, highest = limits[0], limits[1], limits[2], limits[3]
    zero, unit = np.float32(0), np.float32(1)
    for i in range(first, last):
        by_near, by_far, walks = a[1] / (near[i] + s), a[2] / (far[i] + s), back[i]
        row = out[i]
        for c in range(row.size):
            shrunk = s * base[c]
            row[c] = a[0] * base[c] + by_near * (one[i, c] + shrunk) + by_far * (two[i, c] - walks * own[i, c] + shrunk)
        if together.size:
            words, w, of_row = length[i] + unit, weight[i], total[i]
            for c in range(row.size):
                # where the word is there, neither the word itself nor this row is evidence for it
                others = together[i, c] - present[i, c] * (itself[c] + w * (of_row - inverse[c]))
                expected = (max(others, zero) + rate[c]) / (words - present[i, c])
                row[c] += a[3] * expected if expected > lift * rate[c] else zero
        for c in range(row.size):
            row[c] = min(max(row[c], lowest), highest)


def log_ratio_of_words(probability: Tensor, events: Tensor) -> Tensor:
    r"""Log ratios ``[n, c]`` of wrong to right cells of 0/1 columns of a bag: :math:`(1 - \pi) / \pi` where the event
    happened, its inverse where it did not; 0 where the event is too rare to be judged, and where the odds against the
    cell are too small (``CELLS.min_bag_log_odds``).

    Args:
        probability: of the events ``[n, c]``.
        events: which of them happened, 0 or 1 ``[n, c]``.
    """
    out = torch.empty(probability.shape)
    rare = (events.sum(dim=0) < CELLS.min_column_events).float().numpy()
    least = np.array([np.exp(CELLS.min_bag_log_odds)], np.float32)
    arrays = probability.contiguous().numpy(), events.contiguous().numpy(), rare, least, out.numpy()
    over_rows(partial(_odds_of_rows, *arrays), np.arange(out.shape[0] + 1), out.shape[1])
    return out.log_()


@jit
def _odds_of_rows(probability: Any, events: Any, rare: Any, least: Any, out: Any, first: int, last: int) -> None:
    zero, unit = np.float32(0), np.float32(1)
    for i in range(first, last):
        row = out[i]
        for c in range(row.size):
            p = probability[i, c]
            happened = events[i, c] > zero
            odds = (unit - p) / p if happened else p / (unit - p)
            too_rare = happened and rare[c] > zero
            too_small = odds > unit and odds < least[0]
            row[c] = unit if too_rare or too_small else odds
