"""Suggested values of cells, from their neighbors and the rest of their row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

from magnet.arrays import Bools, Floats, Ints
from magnet.detection import Column
from magnet.graph import Graph
from magnet.recovery import propagate
from magnet.tables.numbers.context import MAX_SQUARE, link_means, most_correlated, unit_columns
from magnet.tables.numbers.ridge import PENALTIES, RidgePath
from magnet.tables.numbers.tails import MIN_SPREAD

ROUNDS = 4  # of chained regressions at most
SETTLED = 1e-3  # spreads; a smaller change of all predictions ends the rounds
MAX_FEATURES = 512  # wider tables, such as bags of words, get the harmonic extension
MAX_ROWS = 50_000  # that one regression is fitted on
MIN_TRUSTED = 30  # trusted cells that a regression needs


def suggest(x: Tensor, trust: Tensor, graph: Graph, columns: Sequence[Column], context: bool = True) -> Tensor:
    r"""Predict untrusted cells by ridge regression: ``[n, d]``, the given values where they are trusted.

    For each column j, fitted on the nodes i where it is trusted,

    .. math::
        x_{ij} \approx \beta_0 + \beta_1 c^{(1)}_{ij} + \beta_2 c^{(2)}_{ij}
            + \sum_k \gamma_k x_{ik} + \sum_k \gamma'_k x_{ik}^2 + \sum_k \delta_k c^{(1)}_{ik}

    where :math:`c^{(1)}, c^{(2)}` are means over trusted neighbors and over two-step neighbors, neither of which ever
    contains the cell itself, and k runs over the columns most correlated with j. Untrusted :math:`x_{ik}` start at
    their harmonic extension and take the latest predictions.

    Args:
        x: scaled features ``[n, d]``, NaN if missing.
        trust: ``[n, d]``, 1 = trusted, 0 = to be predicted; the same within a categorical column.
        graph: the graph.
        columns: what the columns of x are.
        context: whether neighbors add information; not if nearest neighbors were chosen by the very
            cells that are predicted, wrong ones included. (default: ``True``)
    """
    known = (trust > 0).numpy()
    start = propagate(
        torch.where(trust > 0, x, torch.full_like(x, torch.nan)), trust, graph, lam=0.0, coordinates="degree"
    )
    filled: Floats = start.x.double().numpy()
    if known.all() or known.shape[1] > MAX_FEATURES:
        return start.x
    contexts = link_means(graph.adjacency, filled, known) if context else None
    wanted = [c for c in columns if MIN_TRUSTED <= known[:, c.start].sum() < len(known)]
    # matrices this small are not worth a second thread, which on a busy machine costs more than it brings
    with threadpool_limits(1):
        _regress(known, filled, contexts, wanted)
    return torch.from_numpy(filled).to(x.dtype)


def _regress(
    known: Bools,
    filled: Floats,
    contexts: tuple[Floats, Floats] | None,
    wanted: Sequence[Column],
) -> None:
    """Rounds of regressions; ``filled`` takes the predictions."""
    rng = np.random.default_rng(0)
    x = unit_columns(filled)
    related = {c.start: most_correlated(x, slice(c.start, c.stop)) for c in wanted}
    for _ in range(ROUNDS):
        before = filled.copy()
        for c in wanted:
            own, free = slice(c.start, c.stop), np.flatnonzero(~known[:, c.start])
            given = np.flatnonzero(known[:, c.start])
            if given.size > MAX_ROWS:
                given = rng.choice(given, MAX_ROWS, replace=False)
            target = filled[given, own]
            features = (_features(filled, contexts, own, related[c.start], rows) for rows in (given, free))
            predicted = _ridge(next(features), target, next(features))
            filled[free, own] = predicted.clip(target.min(axis=0), target.max(axis=0))
        if np.abs(filled - before).max() < SETTLED:
            break


def _features(
    filled: Floats,
    contexts: tuple[Floats, Floats] | None,
    own: slice,
    others: Ints,
    rows: Ints,
) -> Floats:
    """The predictors of a column, for some rows."""
    row = filled[np.ix_(rows, others)]
    parts = [row, np.square(row).clip(0, MAX_SQUARE)]
    if contexts is not None:
        near, far = contexts
        parts += [near[rows, own], far[rows, own], near[np.ix_(rows, others)]]
    return np.concatenate(parts, axis=1)


def _ridge(features: Floats, target: Floats, new_features: Floats) -> Floats:
    """Ridge predictions of several targets, the penalty chosen by leaving out each row in turn."""
    center, spread = features.mean(axis=0), features.std(axis=0)
    spread[spread < MIN_SPREAD] = 1.0
    mean = target.mean(axis=0)
    path = RidgePath((features - center) / spread, target - mean, np.ones(len(target)))
    penalty = min(PENALTIES, key=lambda each: float(np.square(path.left_out(each)[0]).sum()))
    return np.asarray(mean + ((new_features - center) / spread) @ path.coefficients(penalty))
