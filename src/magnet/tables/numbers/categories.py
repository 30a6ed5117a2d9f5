"""Categories that contradict linked rows and the rest of their row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from magnet.arrays import Bools, Floats, Ints
from magnet.tables.numbers.context import link_means
from magnet.tables.numbers.tails import MIN_SCALE, MIN_SPREAD

FOLDS = 5  # of the cross-validation by which every cell is predicted from others
MAX_FIT = 20_000  # rows that one regression is fitted on
MIN_LEVEL_ROWS = 10  # rows of a level that can be predicted
MIN_GAIN = 3.0  # standard errors by which the links must lower the log loss
KNEE = 0.02  # share of surprising cells: below it they are errors, above it genuine variation; as in detection
STEPS = 100  # of EM
ROUNDS = 3  # surprising cells leave the regression and the shares of linked rows after each
MIN_OWN_PROBABILITY = 0.02  # probability below which a cell is surprising
REGULARIZATION = 1.0  # of the logistic regression on standardized features, scikit-learn's default
MAX_ITER = 200  # of its solver, twice scikit-learn's default (not swept)
UNSEEN = 1e-6  # probability of a level besides, so that its logarithm is finite


class CategoryVerdict(NamedTuple):
    """Probability that each cell is wrong, the most likely level and its probability ``[n]`` each."""

    wrong: Floats
    suggestion: Ints
    confidence: Floats


def judge_category(codes: Ints, links: sp.csr_matrix, row: Floats) -> CategoryVerdict | None:
    r"""Judge a categorical column by linked rows and the rest of the row.

    :math:`P(v)` is a multinomial logistic regression on the shares of levels among rows one and two links away and on
    the rest of the row, fitted without the fold of the row. A share t of the values (by EM) follows the marginal
    distribution :math:`q` of the column instead. How many of those are errors is not identifiable; we take

    .. math::
        \delta = \frac{t^3}{t^2 + 0.02^2}, \qquad
        P(\text{wrong}) = \frac{(t - \delta)\, q(o)}{(t - \delta)\, q(o) + \delta\, q(o) + (1 - t) P(o)},

    so that disagreements are errors if they are few, and genuine variation if they are many.

    Args:
        codes: levels ``[n]``, -1 where the cell is blank.
        links: symmetric matrix of rows without loops.
        row: features of the rest of the row ``[n, p]``.

    Returns:
        None if the links carry no information about the column.
    """
    levels, counts = np.unique(codes[codes >= 0], return_counts=True)
    levels = levels[counts >= MIN_LEVEL_ROWS]
    known = np.flatnonzero(np.isin(codes, levels))
    if levels.size < 2 or known.size < FOLDS * MIN_LEVEL_ROWS:
        return None
    place = np.searchsorted(levels, codes[known])
    fold = np.random.default_rng(0).permutation(known.size) % FOLDS
    cells = np.arange(known.size)
    marginal = (np.bincount(place) / known.size)[place]
    trusted = np.ones(known.size, dtype=bool)
    for _ in range(ROUNDS):
        indicator = np.zeros((len(codes), levels.size))
        indicator[known[trusted], place[trusted]] = 1.0
        known_rows = np.broadcast_to(indicator.any(axis=1, keepdims=True), indicator.shape)
        features = np.column_stack([*link_means(links, indicator, known_rows), row])[known]
        share = _cross_fitted(features, place, fold, levels.size, trusted)
        own = share[cells, place]
        t = KNEE
        for _ in range(STEPS):
            t = float(np.mean(t * marginal / (t * marginal + (1 - t) * own)))
        genuine = t**3 / (t * t + KNEE * KNEE)
        error = (t - genuine) * marginal
        p_wrong = error / (error + genuine * marginal + (1 - t) * own)
        trusted = own > MIN_OWN_PROBABILITY
    without = _cross_fitted(row[known], place, fold, levels.size, trusted)
    gain = np.log(np.maximum(own, MIN_OWN_PROBABILITY)) - np.log(np.maximum(without[cells, place], MIN_OWN_PROBABILITY))
    if gain.mean() < MIN_GAIN * gain.std() / np.sqrt(known.size):
        return None
    wrong = np.zeros(len(codes))
    wrong[known] = p_wrong
    share[cells, place] = 0.0
    best = share.argmax(axis=1)
    suggestion, confidence = np.full(len(codes), -1, dtype=np.int64), np.zeros(len(codes))
    suggestion[known] = levels[best]
    confidence[known] = p_wrong * share[cells, best] / np.maximum(share.sum(axis=1), MIN_SCALE)
    return CategoryVerdict(wrong, suggestion, confidence)


def _cross_fitted(features: Floats, place: Ints, fold: Ints, levels: int, trusted: Bools) -> Floats:
    """Probabilities of the levels ``[n, levels]``, each row predicted by a regression without its fold."""
    from sklearn.linear_model import LogisticRegression  # a second of imports that tables without links do not need

    out = np.full((len(features), levels), UNSEEN)
    if features.shape[1] == 0:
        return out + np.bincount(place, minlength=levels) / len(place)
    spread = features.std(axis=0)
    scaled = (features - features.mean(axis=0)) / np.where(spread > MIN_SPREAD, spread, 1.0)
    for k in range(FOLDS):
        train, test = np.flatnonzero((fold != k) & trusted)[:MAX_FIT], np.flatnonzero(fold == k)
        model = LogisticRegression(C=REGULARIZATION, max_iter=MAX_ITER).fit(scaled[train], place[train])
        out[np.ix_(test, model.classes_)] += model.predict_proba(scaled[test])
    return np.asarray(out / out.sum(axis=1, keepdims=True))
