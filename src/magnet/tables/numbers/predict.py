"""A number predicted from everything but itself: the experts that prove useful, stacked by robust regression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from magnet.arrays import Bools, Floats, Ints
from magnet.scales import LOG_MEDIAN_VARIANCE
from magnet.tables.numbers.context import CUT, EXTREME, MIN_LEVEL_ROWS, Context
from magnet.tables.numbers.ridge import Ridge, fit_ridge, log_loss
from magnet.tables.numbers.scales import mad
from magnet.tables.numbers.tails import MIN_SCALE, MIN_SPREAD
from magnet.tables.options import MIN_ROWS

MAX_FIT = 20_000  # rows that one regression is fitted on
MAX_SELECT = 3_000  # rows on which the blocks of features are chosen
MIN_GAIN = 3.0  # standard errors by which a block must lower the leave-one-out loss; 3 leaves 1 chance in 700
ROWS_PER_FEATURE = 4.0  # fewer rows let a regression repeat the errors (not swept)
LEVELS = (0.25, 0.5, 0.75)  # quantiles of the prediction between which the spread may differ
REACHES = (
    0.8,
    0.95,
    0.99,
)  # the same of the distance of the values that it rests on: lines bend at the ends (not swept)
BORROWED = 50  # rows at the overall spread that every step has besides its own
EVEN_GROUPS = 4  # groups that vary alike besides those seen: a few do not show how much groups differ (not swept)
MAX_TARGET = 20.0  # spreads; farther values count like this one in a fit (not swept)
DEGREE_STEPS = (0.5, 2.5, 6.5)  # numbers of links between which the spread may differ: 0, to 2, to 6, more
MIN_FACTOR = 0.1  # of the spread of a step over the overall one (not swept)
PREDICTED_ROWS = 50_000  # at a time, to bound the memory of their features


@dataclass(frozen=True, eq=False)
class Prediction:
    """What the context expects of a column on the common scale.

    Args:
        center, spread: the prediction and its error ``[n]``.
        blocks: kinds of features used.
        slope, curvature: coefficients of the cells of the row and of their squares ``[q]``.
    """

    center: Floats
    spread: Floats
    blocks: tuple[str, ...]
    slope: Floats
    curvature: Floats


def predict(
    context: Context, j: int, y: Floats, judged: Bools, blocks: tuple[str, ...] | None, floor: Floats
) -> Prediction | None:
    """Predict column j for every row, always without the row's own value.

    Args:
        context: its predictors.
        j: the column.
        y: its values on the common scale, NaN if missing.
        judged: rows that the regression is fitted on.
        blocks: blocks of features to use; None chooses those that lower the leave-one-out loss.
        floor: the least spread ``[n]``: half of the last digit written.
    """
    rows = np.flatnonzero(judged).astype(np.int64)
    if rows.size < MIN_ROWS:
        return None
    if blocks is None:
        blocks = _useful(context, j, y, _some(rows, MAX_SELECT))
    target = np.clip(y, -MAX_TARGET, MAX_TARGET)
    fitted_on = _some(rows, MAX_FIT)
    parts = [context.block(j, name) for name in blocks]
    model = fit_ridge(_matrix(parts, fitted_on), target[fitted_on])
    center = np.empty(len(y))
    for start in range(0, len(y), PREDICTED_ROWS):
        block = np.arange(start, min(start + PREDICTED_ROWS, len(y)), dtype=np.int64)
        center[block] = model.predict(_matrix(parts, block))
    level = center.copy()  # with the row's own value: leaving it out would sort the rows of a group by their values
    if parts:
        center[fitted_on] = target[fitted_on] - model.left_out
    if blocks and "row" not in blocks and mad((y - center)[judged]) < float(np.median(floor)):
        # most cells equal those of related rows: labels and states, whose exceptions cannot be judged by distance,
        # unless they are a coarse function of other columns, as ages are of dates of birth
        others = _useful(context, j, y, _some(rows, MAX_SELECT), orders=False)
        coarse = all(name.startswith("order:") for name in blocks) and "row" in others
        return predict(context, j, y, judged, others if coarse else (), floor)
    widths = [part(fitted_on[:1]).shape[1] for part in parts]
    slope, curvature = (_row_coefficients(context, j, model, blocks, widths, name) for name in ("row", "squares"))
    center = _extreme_rows(context, y, center, slope)
    inside = target[fitted_on]
    center = np.clip(center, inside.min(), inside.max())
    widening = np.ones(len(y))
    widening[fitted_on] = 1 / np.sqrt(1 - model.leverage)
    degree = None if context.links is None or "links" not in blocks else np.diff(context.links.indptr)
    groups = [c.codes for c in context.categories if f"group:{c.name}" in blocks]
    reach = np.sqrt(np.square(context.cells) @ np.square(slope))
    spread = _spread((y - center) / widening, level, reach, judged, degree, floor, groups)
    spread = _by_group_size(spread, y, judged, groups)
    spread = spread * widening
    # imputed values of the row widen the prediction accordingly
    spread = np.sqrt(spread * spread + context.variance @ np.square(slope))
    center = _beside_steps(context.sides(j, y, blocks), y, center, spread)
    return Prediction(center, spread, blocks, slope, curvature)


def _beside_steps(sides: Floats, y: Floats, center: Floats, spread: Floats) -> Floats:
    """Predictions where a series takes a step, or is far from its usual range for a while: a value that the rows before
    and after do not predict may still lie between the two, or be like one of them or where it continues to."""
    far = np.flatnonzero(np.abs(y - center) > EXTREME * spread) if sides.size else np.zeros(0, dtype=np.int64)
    likely = np.column_stack([center[far], sides[far]])
    out = center.copy()
    out[far] = np.clip(y[far], np.nanmin(likely, axis=1), np.nanmax(likely, axis=1))
    return out


def _extreme_rows(context: Context, y: Floats, center: Floats, slope: Floats) -> Floats:
    """Predictions of rows with several extreme values.

    Clipped features foretell too little where the row as a whole is extreme, whole ones too much where one cell is
    wrong. Of all values between the two predictions, the one closest to the observed value is used.
    """
    if not slope.any():
        return center
    rows = context.extreme_rows
    moved = center[rows] + context.excess @ slope
    low, high = np.minimum(center[rows], moved), np.maximum(center[rows], moved)
    out = center.copy()
    out[rows] = np.where(np.isfinite(y[rows]), np.clip(y[rows], low, high), moved)
    return out


def _row_coefficients(
    context: Context, j: int, model: Ridge, blocks: tuple[str, ...], widths: list[int], which: str
) -> Floats:
    """Coefficients of one block that has a feature for each related column ``[q]``; 0 for all others."""
    out = np.zeros(context.cells.shape[1])
    if which in blocks:
        start = sum(widths[: blocks.index(which)])
        others = context.related(j)
        out[others] = model.coefficients[start : start + others.size]
    return out


def _some(rows: Ints, count: int) -> Ints:
    return rows if rows.size <= count else rows[np.linspace(0, rows.size - 1, count).astype(int)]


def _matrix(parts: Sequence[Callable[[Ints], Floats]], rows: Ints) -> Floats:
    return np.column_stack([part(rows) for part in parts]) if parts else np.zeros((len(rows), 0))


def _useful(context: Context, j: int, y: Floats, rows: Ints, orders: bool = True) -> tuple[str, ...]:
    """Blocks by forward selection: each must lower the leave-one-out log loss by :data:`MIN_GAIN` standard errors."""
    target = np.clip(y[rows], -MAX_TARGET, MAX_TARGET)
    current = fit_ridge(np.zeros((rows.size, 0)), target)
    offered = {name: context.block(j, name)(rows) for name in context.blocks(j, orders)}
    alone = []
    for name, features in offered.items():
        if name == "squares" or features.shape[1] == 0 or features.shape[1] * ROWS_PER_FEATURE > rows.size:
            continue
        gain = _gain(current, trial := fit_ridge(features, target))
        if gain > MIN_GAIN and _follows(name, features, target):
            alone.append((trial.spread, name))
    chosen: list[str] = []
    order = [name for _, name in sorted(alone)]
    if "row" in order:
        order.insert(order.index("row") + 1, "squares")
    for name in order:
        features = np.column_stack([offered[other] for other in (*chosen, name)])
        if features.shape[1] * ROWS_PER_FEATURE > rows.size:
            continue
        trial = fit_ridge(features, target)
        if _gain(current, trial) > MIN_GAIN:
            chosen.append(name)
            current = trial
    return tuple(chosen)


def _follows(name: str, features: Floats, target: Floats) -> bool:
    """Whether values follow the mean of related rows; such a mean never predicts the opposite, except by chance:
    without the row's own value, the mean of an uninformative group is low where the value is high."""
    if name == "row" or name == "linked rows" or features.shape[1] > 2:
        return True
    with np.errstate(invalid="ignore"):  # nothing correlates with a constant
        return bool(np.corrcoef(features[:, 0], np.clip(target, -CUT, CUT))[0, 1] > 0)


def _gain(before: Ridge, after: Ridge) -> float:
    """By how many standard errors the leave-one-out loss falls."""
    difference = log_loss(before.left_out) - log_loss(after.left_out)
    error = float(difference.std()) / np.sqrt(difference.size)
    return float(difference.mean()) / max(error, MIN_SCALE)


def _group_factor(codes: Ints, scaled: Floats, judged: Bools) -> Floats:
    """How much wider the residuals of each row's group are than those of most groups ``[n]``, shrunk by the part of
    their variance that medians of so few numbers have anyway."""
    rows, factor = np.flatnonzero(judged), np.ones(int(codes.max()) + 1)
    size = np.abs(scaled[rows])
    size = size[np.lexsort((size, codes[rows]))]
    count = np.bincount(codes[rows], minlength=factor.size)
    start, some = np.cumsum(count) - count, count >= MIN_LEVEL_ROWS
    if some.any():
        middle = (size[(start + (count - 1) // 2)[some]] + size[(start + count // 2)[some]]) / 2
        usual = min(float(np.median(middle)), float(np.median(size)))
        ratio = np.log(np.maximum(middle, MIN_SPREAD) / max(usual, MIN_SPREAD))
        by_chance = LOG_MEDIAN_VARIANCE / count[some]
        variance = max(float((ratio * ratio - by_chance).sum()), 0.0) / (ratio.size + EVEN_GROUPS)
        factor[some] = np.exp(np.maximum(ratio, 0) * variance / (variance + by_chance))
        factor[~some] = np.sqrt(np.mean(np.square(factor[some])))  # too small to know: any of these
    return factor[codes]


def _by_group_size(spread: Floats, y: Floats, judged: Bools, groups: Sequence[Ints]) -> Floats:
    r"""The spread, :math:`\sqrt{1 + 1/m}` times as large where a group has m other rows to take the mean of, and at
    least that of the column where it has none: a patient who was seen once is like no other."""
    if not groups:
        return spread
    others = np.min([np.bincount(codes, weights=judged)[codes] - judged for codes in groups], axis=0)
    wider = spread * np.sqrt(1 + 1 / np.maximum(others, 1))
    return np.where(others < 1, np.maximum(wider, mad(y[judged] - np.median(y[judged]))), wider)


def _spread(
    residual: Floats,
    level: Floats,
    reach: Floats,
    judged: Bools,
    degree: Floats | None,
    floor: Floats,
    groups: Sequence[Ints] = (),
) -> Floats:
    """Robust spread of the residuals by level of the prediction, by how far the values are that it rests on, by number
    of links and by group ``[n]``."""
    overall = max(mad(residual[judged]), MIN_SPREAD)
    out = np.full(residual.shape, overall)
    keys = [np.searchsorted(np.quantile(level[judged], LEVELS), level)]
    if reach.any():
        keys.append(np.searchsorted(np.quantile(reach[judged], REACHES), reach))
    if degree is not None:
        keys.append(np.searchsorted(np.array(DEGREE_STEPS), degree))
    for key in keys:
        scaled = residual / out
        base = max(mad(scaled[judged]), MIN_SPREAD)
        factor = np.ones(int(key.max()) + 1)
        for place in range(factor.size):
            members = judged & (key == place)
            count = int(members.sum())
            factor[place] = (count * mad(scaled[members]) / base + BORROWED) / (count + BORROWED)
        out *= np.maximum(factor, MIN_FACTOR)[key]
    for codes in groups:
        out *= _group_factor(codes, residual / out, judged)
    return np.maximum(out, floor)
