"""One column of numbers: judged cells, scale and verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import stdtr

from magnet.arrays import Bools, Floats, Ints
from magnet.tables.numbers.errors import FACTORS, FAR, ROUNDING, WrongDensity, beyond_bounds
from magnet.tables.numbers.scales import Scale, fit_scale
from magnet.tables.numbers.tails import DEGREES
from magnet.tables.options import LIST_FROM, MIN_ROWS, UNSURE

MIN_VALUES = 4  # distinct values of a column that is judged as a quantity
COMMON_COUNT, COMMON_SHARE = 5, 0.01  # a value that more cells hold is one that the column has, however far out
WIDE = 20  # columns from which a number that most of them hold is no coincidence (not swept)
SPIKE_SHARE = 0.1  # a value that fills more of the column, and thrice as much as the next, is a state, not a size
SPIKE_LEAD = 3.0  # times the count of the next value
LEAST_SPREAD, LEAST_STEPS = 1e-6, 0.3  # of a prediction: on the common scale, and in steps of the column
# A slip explains a far value only if the corrected value is ordinary: one among the outer tenth of its
# predictive distribution counts less. (A reading of 900 among 15 to 25 is not 9.00 with a shifted decimal point.)
PLAUSIBLE_TAIL = 0.1
ORDER_CONFIDENCE = 0.5  # of a value taken from the rows before and after: rows may be out of order, not their values
NEAR_STEPS = 2.5  # steps of a column by which a prediction from the rest of the row disproves no number (not swept)
STEP_MASS = 0.375  # height of the t distribution of 4 degrees at its center: mass of one step there


@dataclass(eq=False)
class ColumnVerdict:
    """The verdict on one column.

    Args:
        wrong: probability that each cell is wrong ``[n]``; 0 where nothing was judged.
        suggestion: value in the units of the column ``[n]``.
        confidence: probability that the suggestion is right, given all that is known ``[n]``.
        kind: position in :data:`~magnet.tables.numbers.errors.FACTORS`, or FAR ``[n]``.
        center, spread: what the context expects, on the common scale ``[n]``.
        scale: the scale, None if the column was not judged.
        blocks: what the prediction uses.
        reason: why the column was not judged; empty if it was.
        relations: rows whose value breaks an exact relation, and which.
    """

    wrong: Floats
    suggestion: Floats
    confidence: Floats
    kind: Ints
    center: Floats
    spread: Floats
    scale: Scale | None
    blocks: tuple[str, ...] = ()
    reason: str = ""
    relations: dict[int, str] = field(default_factory=dict)

    @classmethod
    def none(cls, rows: int, reason: str) -> ColumnVerdict:
        """The verdict on a column that is not judged."""
        nan, zeros = np.full(rows, np.nan), np.zeros(rows)
        return cls(zeros, nan, zeros.copy(), np.full(rows, FAR), zeros, np.ones(rows), None, (), reason)

    def expected(self, row: int) -> tuple[float, float]:
        """Where two spreads around the prediction of a cell lie, in the units of the column."""
        if self.scale is None:
            return float("nan"), float("nan")
        middle, width = self.center[row], 2 * self.spread[row]
        low, high = self.scale.inverse(np.array([middle - width, middle + width]))
        return float(low), float(high)


def shared_numbers(columns: Sequence[Floats]) -> Floats:
    """Numbers that most columns of a wide table hold, as the 0 of what was not there.

    Example:
        >>> shared_numbers([np.array([k, 0.0]) for k in range(1, 31)]), shared_numbers([np.zeros(2)])
        (array([0.]), array([], dtype=float64))
    """
    if len(columns) < WIDE:
        return np.zeros(0)
    values, count = np.unique(np.concatenate([np.unique(x[np.isfinite(x)]) for x in columns]), return_counts=True)
    return np.asarray(values[count > len(columns) / 2])


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A column of numbers that is judged.

    Args:
        x, y: numbers ``[n]`` in units of the column and on the common scale, NaN for missing ones.
        scale: the scale.
        step: distance of neighboring values as written.
        judged: cells that hold a number and no state.
        floor: the least spread of a prediction ``[n]``.
        common: values that many cells hold.
        oddness: log ratio of the probabilities that a wrong number and that a right one is written like this ``[n]``.
        additive: values without a zero, such as dates, are never multiplied.
    """

    x: Floats
    y: Floats
    scale: Scale
    step: float
    judged: Bools
    floor: Floats
    common: Bools
    oddness: Floats
    additive: bool

    @classmethod
    def of(cls, x: Floats, step: float, oddness: Floats, additive: bool, name: str) -> NumberColumn | str:
        """The column on its scale, or why it is not judged."""
        known = np.isfinite(x)
        values, counts = np.unique(x[known], return_counts=True)
        if values.size < MIN_VALUES or known.sum() < MIN_ROWS:
            return f"{values.size} different numbers in {int(known.sum())} cells are too few to know what is usual"
        judged = known.copy()
        order = np.argsort(-counts, kind="stable")
        if counts[order[0]] > SPIKE_SHARE * known.sum() and counts[order[0]] > SPIKE_LEAD * counts[order[1]]:
            judged &= x != values[order[0]]
        if judged.sum() < MIN_ROWS or np.unique(x[judged]).size < MIN_VALUES:
            return f"{int((known & ~judged).sum())} of {int(known.sum())} cells hold the same number"
        scale = fit_scale(np.where(judged, x, np.nan), step, additive)
        if scale is None:
            return "the numbers do not vary"
        floor = np.full(len(x), LEAST_SPREAD)
        if step > 0:
            floor = np.maximum(floor, LEAST_STEPS * step * np.exp(scale.log_slope(np.where(known, x, 0.0))))
        often = values[counts > max(COMMON_COUNT, COMMON_SHARE * known.sum())]
        if not additive:
            oddness = oddness + beyond_bounds(x, name)
        return cls(x, scale.forward(x), scale, step, judged, floor, np.isin(x, often), oddness, additive)

    def verdict(
        self, wrong: Floats, center: Floats, spread: Floats, density: WrongDensity, blocks: tuple[str, ...]
    ) -> ColumnVerdict:
        """What the cells should hold, and how sure that is."""
        kind, part = density.likeliest()
        expected = self.scale.inverse(center)
        suggestion = np.where(kind == FAR, expected, self.x / np.array([*FACTORS, np.nan])[kind])
        mass = np.minimum(self.step * np.exp(self.scale.log_slope(expected)) * STEP_MASS / spread, 1.0)
        mass *= self.judged.sum() / np.isfinite(self.x).sum()  # or it is the state of other cells
        sharp = self.judged & (wrong < LIST_FROM) & (mass >= LIST_FROM)
        if sharp.any():  # as often as such predictions have been the very number elsewhere
            mass = np.minimum(mass, (np.abs(expected - self.x)[sharp] <= ROUNDING * self.step).mean())
        with np.errstate(invalid="ignore", over="ignore"):
            distance = np.abs(self.scale.forward(suggestion) - center) / spread
        plausible = np.minimum(2 * stdtr(DEGREES, -np.nan_to_num(distance, nan=np.inf)) / PLAUSIBLE_TAIL, 1.0)
        if blocks and all(name.startswith("order:") for name in blocks):
            mass = np.minimum(mass, ORDER_CONFIDENCE)
        confidence = wrong * np.where(kind == FAR, mass, part * plausible)
        if "row" in blocks:  # a line bends by as little; exact arithmetic has its own proof
            near = (kind == FAR) & (np.abs(expected - self.x) <= NEAR_STEPS * self.step)
            confidence[near] = np.minimum(confidence[near], UNSURE)
        return ColumnVerdict(wrong, suggestion, confidence, kind, center, spread, self.scale, blocks)
