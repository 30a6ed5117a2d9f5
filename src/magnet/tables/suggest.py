"""What a cell should hold, from its neighbors and from the rest of its row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from torch import Tensor

from magnet.detection import Column
from magnet.graph import Graph
from magnet.recovery import propagate

FloatArray = NDArray[np.float64]

MAX_OTHERS = 40  # features of the row, and as many of its neighbors, that one column is predicted from
MAX_SQUARE = 9.0  # that of a value three spreads out
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
ROUNDS = 4
SHRINK = 0.5  # how many neighbors at the column's mean every node has besides its own
MAX_FEATURES = 512  # wider tables, such as bags of words, get the harmonic extension
MAX_ROWS = 50_000  # that one regression is fitted on
FEWEST = 30  # trusted cells that a regression needs


class Suggestions(NamedTuple):
    """Suggested values ``x`` ``[n, d]`` (the given ones where they are trusted), and their usual ``error`` ``[d]`` in
    each column (NaN where it is not known)."""

    x: Tensor
    error: FloatArray


def suggest(
    x: Tensor,
    trust: Tensor,
    graph: Graph,
    columns: Sequence[Column],
    context: bool = True,
    asked: NDArray[np.bool_] | None = None,
) -> Suggestions:
    r"""Predict untrusted cells by ridge regression.

    For each column j, fitted on the nodes i where it is trusted,

    .. math::
        x_{ij} \approx \beta_0 + \beta_1 c^{(1)}_{ij} + \beta_2 c^{(2)}_{ij}
            + \sum_k \gamma_k x_{ik} + \sum_k \gamma'_k x_{ik}^2 + \sum_k \delta_k c^{(1)}_{ik}

    where :math:`c^{(1)}, c^{(2)}` are means over trusted neighbors and over two-step neighbors, neither of which ever
    contains the cell itself, and k runs over the columns most correlated with j. Untrusted :math:`x_{ik}` start at
    their harmonic extension and take the latest predictions.

    Args:
        x: scaled features ``[n, d]``, NaN where there is none.
        trust: ``[n, d]``, 1 = believed, 0 = to be predicted; the same within a categorical column.
        graph: the graph.
        columns: what the columns of x are.
        context: whether the neighbors tell anything new; not so where nearest neighbors were chosen by the very
            cells that are predicted, wrong ones included. (default: ``True``)
        asked: bool ``[n, d]``, trusted cells that are predicted as well, without themselves, and still count for the
            others. (default: none)

    The usual error is 1.4826 times the median absolute error of trusted cells that are left out in turn.
    """
    known = (trust > 0).numpy()
    start = propagate(
        torch.where(trust > 0, x, torch.full_like(x, torch.nan)), trust, graph, lam=0.0, coordinates="degree"
    )
    filled: FloatArray = start.x.double().numpy()
    error = np.full(known.shape[1], np.nan)
    asked = np.zeros_like(known) if asked is None else asked & known
    if (known & ~asked).all() or known.shape[1] > MAX_FEATURES:
        return Suggestions(start.x, error)
    value = np.where(known, filled, 0.0)
    contexts = _contexts(graph.adjacency, value, known) if context else None
    wanted = [c for c in columns if FEWEST <= (known & ~asked)[:, c.start].sum() < len(known)]
    # matrices this small are not worth a second thread, which on a busy machine costs more than it brings
    with threadpool_limits(1):
        _regress(known, asked, filled, error, contexts, wanted)
    return Suggestions(torch.from_numpy(filled).to(x.dtype), error)


def _regress(
    known: NDArray[np.bool_],
    asked: NDArray[np.bool_],
    filled: FloatArray,
    error: FloatArray,
    contexts: tuple[FloatArray, FloatArray] | None,
    wanted: Sequence[Column],
) -> None:
    """Rounds of regressions; ``filled`` takes the predictions, ``error`` their usual errors."""
    rng = np.random.default_rng(0)
    related = {c.start: _related(c, filled) for c in wanted}

    def predict(c: Column, rows: NDArray[Any]) -> FloatArray:
        own = slice(c.start, c.stop)
        given = np.flatnonzero((known & ~asked)[:, c.start])
        if given.size > MAX_ROWS:
            given = rng.choice(given, MAX_ROWS, replace=False)
        target = filled[given, own]
        features = (_features(filled, contexts, own, related[c.start], some) for some in (given, rows))
        predicted, error[own] = _ridge(next(features), target, next(features))
        return np.asarray(predicted.clip(target.min(axis=0), target.max(axis=0)))

    for _ in range(ROUNDS):
        before = filled.copy()
        for c in wanted:
            free = np.flatnonzero(~known[:, c.start])
            filled[free, c.start : c.stop] = predict(c, free)
        if np.abs(filled - before).max() < 1e-3:
            break
    answers = [(c, np.flatnonzero(asked[:, c.start])) for c in wanted if asked[:, c.start].any()]
    for c, rows, values in [(c, rows, predict(c, rows)) for c, rows in answers]:
        filled[rows, c.start : c.stop] = values


def _features(
    filled: FloatArray,
    contexts: tuple[FloatArray, FloatArray] | None,
    own: slice,
    others: NDArray[np.intp],
    rows: NDArray[Any],
) -> FloatArray:
    """What a column is predicted from, for some rows."""
    row = filled[np.ix_(rows, others)]
    parts = [row, np.square(row).clip(0, MAX_SQUARE)]
    if contexts is not None:
        near, far = contexts
        parts += [near[rows, own], far[rows, own], near[np.ix_(rows, others)]]
    return np.concatenate(parts, axis=1)


def _contexts(adjacency: sp.csr_matrix, value: FloatArray, known: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Means over the trusted cells of neighbors and of two-step neighbors, without the node itself."""
    counted = known.astype(np.float64)
    mean = value.sum(axis=0) / np.maximum(counted.sum(axis=0), 1)

    def average(total: Any, weight: Any) -> FloatArray:
        return np.asarray((total + SHRINK * mean) / (weight + SHRINK))

    near = average(adjacency @ value, adjacency @ counted)
    back = np.asarray(adjacency.multiply(adjacency).sum(axis=1)).reshape(-1, 1)
    total = adjacency @ (adjacency @ value) - back * value
    weight = adjacency @ (adjacency @ counted) - back * counted
    return near, average(total, np.maximum(weight, 0.0))


def _related(c: Column, filled: FloatArray) -> NDArray[np.intp]:
    """The features most correlated with a column, other than its own."""
    others = np.array([k for k in range(filled.shape[1]) if not c.start <= k < c.stop], dtype=np.intp)
    if len(others) <= MAX_OTHERS:
        return others
    centered = filled - filled.mean(axis=0)
    size = np.linalg.norm(centered, axis=0)
    size[size == 0] = np.inf
    link = np.abs(centered.T @ centered[:, c.start : c.stop] / size[:, None] / size[c.start : c.stop]).max(axis=1)
    link[c.start : c.stop] = -1
    return np.sort(np.argsort(-link, kind="stable")[:MAX_OTHERS])


def _ridge(features: FloatArray, target: FloatArray, wanted: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Ridge predictions, the penalty chosen by leaving out each row in turn, and the usual error of doing so.

    With :math:`X = Z V^\top`, :math:`X^\top X = V \Lambda V^\top`, the row left out is predicted with the error
    :math:`r_i / (1 - h_i)`, :math:`h_i = 1/n + \sum_k Z_{ik}^2 / (\Lambda_k + \alpha)`.
    """
    center, spread = features.mean(axis=0), features.std(axis=0)
    spread[spread < 1e-9] = 1.0
    X, mean = (features - center) / spread, target.mean(axis=0)
    values, V = np.linalg.eigh(X.T @ X)
    values = values.clip(0)
    Z = X @ V
    projected = Z.T @ (target - mean)
    best, coefficients, usual = np.inf, projected, np.zeros(target.shape[1])
    for penalty in PENALTIES:
        inverse = 1 / (values + penalty)
        residual = target - mean - Z @ (inverse[:, None] * projected)
        leverage = 1 / len(X) + (Z * Z) @ inverse
        left_out = residual / (1 - leverage).clip(1e-6)[:, None]
        error = float(np.square(left_out).sum())
        if error < best:
            best, coefficients = error, inverse[:, None] * projected
            usual = 1.4826 * np.median(np.abs(left_out), axis=0)
    return mean + ((wanted - center) / spread) @ (V @ coefficients), usual
