"""Error localization within a row: one wrong cell makes all others disagree with the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from scipy.special import bdtrc

from magnet.arrays import Bools, Floats
from magnet.tables.numbers.columns import ColumnVerdict
from magnet.tables.numbers.context import CUT, MAX_SQUARE
from magnet.tables.numbers.tails import DEGREES, log_t

DOUBTED = 0.5  # probability of being wrong from which a cell does not count for the others
UNUSUAL = 1e-3  # level of the test for too many errors in one row, or in one kind of rows
MAX_CONTEXT_SHARE = 0.025  # of usual values that disagree with their context; more are another kind of row, not errors
ENDS = (0.03, 0.1)  # shares of the rows in which another column is lowest, or highest (not swept)
MIN_OF_KIND = 4  # cells that disagree there (not swept)
FAR_OUT = 3.0  # spreads
MAX_WRONG = 4  # cells of a row up to which two of them may have been exchanged; a row with more is another one


def localize_in_rows(
    u: Floats, cells: Floats, is_doubted: Bools, center: Floats, spread: Floats, slopes: Floats, log_wrong: Floats
) -> tuple[Floats, Floats]:
    r"""Explain each row by at most one wrong cell (error localization; Fellegi and Holt 1976).

    One wrong cell moves the predictions of all others, so that each of them disagrees with the rest. If cell j is the
    wrong one and holds its prediction instead, the row has the pseudo-likelihood

    .. math::
        \varepsilon f_{\text{wrong}}(o_j) \prod_{k \ne j} t_4\big((y_k - \hat y_k^{(j)}) / s_k\big)

    where :math:`\hat y_k^{(j)}` is the prediction of cell k after that replacement and :math:`s_k` its spread, larger
    by that of the replaced cell; if none is wrong, :math:`\prod_k t_4((y_k - \hat y_k) / s_k)`.

    Args:
        u: residuals over their spreads, NaN if missing.
        cells: values that the predictions were made from.
        is_doubted: cells that already equal their prediction.
        center, spread: predictions.
        slopes: of the predictions in the cells and in their squares ``[2, q, q]``.
        log_wrong: log densities of the observed values if they are wrong, times their rate, in the units of u.

    Returns:
        Residuals ``[n, q]`` after that replacement; and for the replaced cell the share of its pseudo-likelihood among
        all cells of the row, 0 for all others.
    """
    rows = np.flatnonzero((np.abs(u) > FAR_OUT).any(axis=1))
    right = log_t(u[rows], DEGREES)
    best, scores = np.nansum(right, axis=1), np.full((rows.size, u.shape[1]), -np.inf)
    explained, which = u[rows], np.full(rows.size, -1)
    for j in np.flatnonzero(slopes.any(axis=(0, 1))).tolist():
        old, free = cells[rows, j], ~is_doubted[rows, j]
        new = np.where(free, np.clip(center[rows, j], -CUT, CUT), old)
        squares = np.minimum(new * new, MAX_SQUARE) - np.minimum(old * old, MAX_SQUARE)
        moved = np.outer(new - old, slopes[0, :, j]) + np.outer(squares, slopes[1, :, j])
        wider = np.outer(free * spread[rows, j], slopes[0, :, j]) / spread[rows]
        residual = (u[rows] - moved / spread[rows]) / np.sqrt(1 + wider * wider)
        rest = log_t(residual, DEGREES)
        rest[:, j] = np.nan
        scores[:, j] = np.where(np.isfinite(u[rows, j]), log_wrong[rows, j] + np.nansum(rest, axis=1), -np.inf)
        better = scores[:, j] > best
        best, which = np.where(better, scores[:, j], best), np.where(better, j, which)
        explained[better] = residual[better]
    found = which >= 0
    localized, out = np.zeros(u.shape), u.copy()
    out[rows] = explained
    total = np.logaddexp.reduce(scores[found], axis=1)
    localized[rows[found], which[found]] = np.exp(best[found] - total)
    return out, localized


def doubted(wrong: Floats, distance: Floats, before: Bools) -> Bools:
    """Cells doubted in the next pass: those that still are, and the farthest other cell of each row.

    The distance is that from the prediction, longer where the value is far out in its column too: a wrong cell moves
    the predictions of the others, but it does not move the others.
    """
    out = before & (wrong > DOUBTED)
    rest = np.where((wrong > DOUBTED) & ~out, np.abs(distance), 0.0)
    if rest.shape[1]:
        worst = rest.argmax(axis=1)
        rows = np.flatnonzero(rest[np.arange(len(rest)), worst] > 0)
        out[rows, worst[rows]] = True
    return out


def in_unusual_rows(wrong: Floats, y: Floats, u: Floats) -> Bools:
    """Cells judged wrong in rows with more of them than independent errors give: such a row is unusual as a whole.

    Cells that are far out in their column are counted apart from those that only disagree with their row: one wrong
    cell may make others look wrong, but it does not make them far out.
    """
    flagged = wrong > DOUBTED
    size = np.abs(np.nan_to_num(y))
    far = flagged & (size > np.maximum(FAR_OUT, np.where(flagged, 0.0, size).max(axis=0)))
    return np.asarray(
        (flagged & ~far & improbably_many(flagged, u)[:, None]) | (far & improbably_many(far, u)[:, None])
    )


def of_another_kind(wrong: Floats, y: Floats) -> Bools:
    """Cells judged wrong that are usual in their column, and of which too many are where another column is at one end:
    errors strike anywhere, but refunds do not weigh what sales weigh.

    Args:
        wrong: probability that each cell is wrong ``[n, q]``.
        y: values on the common scale, NaN if missing.
    """
    flagged, inside = wrong > DOUBTED, np.abs(np.nan_to_num(y)) < FAR_OUT
    usual, out = flagged & inside, np.zeros(wrong.shape, dtype=bool)
    found = usual.sum(axis=0)
    columns = np.flatnonzero(found >= MIN_OF_KIND)
    if not columns.size:
        return out
    right = np.where(flagged, np.nan, y)
    for share in ENDS:
        low, high = np.nanquantile(right, [share, 1 - share], axis=0)
        for end in (right <= low, right >= high):
            rows = end.sum(axis=0)
            there = usual[:, columns].T.astype(float) @ end
            chance = bdtrc(there - 1, found[columns, None], np.minimum(rows / len(y), 1.0))
            many = (there >= MIN_OF_KIND) & (there > MAX_CONTEXT_SHARE * rows) & (chance < UNUSUAL / (2 * y.shape[1]))
            for at, k in enumerate(columns.tolist()):
                for m in np.flatnonzero(many[at]).tolist():
                    if m != k:
                        out[:, k] |= usual[:, k] & end[:, m]
    return out


def improbably_many(flagged: Bools, u: Floats) -> Bools:
    """Rows ``[n]`` with more flagged cells than independent errors at the overall rate give (binomial test)."""
    count, judged = flagged.sum(axis=1), np.isfinite(u).sum(axis=1)
    rate = max(float(count.sum()) / max(int(judged.sum()), 1), 1 / max(len(u), 1))
    return np.asarray((count >= 3) & (bdtrc(count - 1, judged, rate) < UNUSUAL))


def exchanged(x: Floats, verdicts: Sequence[ColumnVerdict]) -> Iterator[tuple[int, int, int]]:
    """Rows and pairs of columns whose values, both wrong, are right in each other's place: two errors that are
    independent of each other hardly ever fit so.

    Args:
        x: numbers ``[n, q]``.
        verdicts: on the columns.
    """

    def distance(row: int, j: int, value: float) -> float:
        verdict = verdicts[j]
        assert verdict.scale is not None
        with np.errstate(invalid="ignore", over="ignore"):
            y = float(verdict.scale.forward(np.array([value]))[0])
        return abs(y - float(verdict.center[row])) / float(verdict.spread[row])

    wrong = np.column_stack([v.wrong if v.scale is not None else np.zeros(len(x)) for v in verdicts]) > DOUBTED
    count = wrong.sum(axis=1)
    for row in np.flatnonzero((count >= 2) & (count <= MAX_WRONG)).tolist():
        pairs = combinations(np.flatnonzero(wrong[row]).tolist(), 2)
        farthest = {(j, k): max(distance(row, j, x[row, k]), distance(row, k, x[row, j])) for j, k in pairs}
        j, k = min(farthest, key=farthest.__getitem__)
        if farthest[j, k] < FAR_OUT:
            yield row, j, k
