"""The numeric half of the table engine: which numbers are wrong, and what they should be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from scipy.stats import t as student_t
from threadpoolctl import threadpool_limits

from magnet.cluster import results_in_order
from magnet.tables.numbers.arrays import Bools, Floats, Ints
from magnet.tables.numbers.context import CUT, Category, Context
from magnet.tables.numbers.errors import FACTORS, FAR, ErrorKinds, WrongDensity, beyond_bounds, is_slip, wrong_density
from magnet.tables.numbers.predict import MIN_ROWS, predict
from magnet.tables.numbers.relations import Blame, Relation, blame, find_relations
from magnet.tables.numbers.rows import DOUBTED, FAR_OUT, crowded, doubted, to_blame, unusual
from magnet.tables.numbers.scales import Scale, fit_scale
from magnet.tables.numbers.tails import judge_tails, log_t, row_spread

PASSES = 5  # doubted cells join one per row and pass, so that one wrong cell does not convict its row
SETTLED = 2  # passes after which a column is judged as a whole
RATE = 0.01  # share of wrong cells before any is seen
RATE_ROWS = 50.0  # rows that this share, and that of the table for a column, counts for
MIN_VALUES = 4  # distinct values of a column that is judged as a quantity
FEW_VALUES = 8  # distinct values below which only far ones are, since context also separates labels
MAX_CONTEXT_SHARE = 0.025  # of usual values that disagree with their context; more are another kind of row, not errors
MAX_ORDER_SHARE = 0.02  # the same for rows predicted from those before and after: some are out of order
MAX_FAR_SHARE = 0.05  # of far values, unless a gap separates them from the others
SURE = 0.8  # probability from which a wrong cell tells which kinds of errors happen
GAP = 1.5  # ratio of the nearest far value to the farthest near one
COMMON_COUNT, COMMON_SHARE = 5, 0.01  # a value that more cells hold is one that the column has, however far out
SLIP = (
    4.0  # nats for a value that differs from the exact one by one slip of the pen: one number in 50 does so by chance
)
PROOF = 0.9  # an exact value is suggested unless the cell is much more likely wrong for another reason
SPIKE_SHARE = 0.1  # a value that fills more of the column, and thrice as much as the next, is a state, not a size
SPIKE_LEAD = 3.0
# A slip explains a far value only if the corrected value is ordinary: one among the outer tenth of its
# predictive distribution counts less. (A reading of 900 among 15 to 25 is not 9.00 with a shifted decimal point.)
PLAUSIBLE_TAIL = 0.1
ORDER_CONFIDENCE = 0.5  # of a value taken from the rows before and after: rows may be out of order, not their values


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

    def expected(self, row: int) -> tuple[float, float]:
        """Where two spreads around the prediction of a cell lie, in the units of the column."""
        if self.scale is None:
            return float("nan"), float("nan")
        middle, width = self.center[row], 2 * self.spread[row]
        low, high = self.scale.inverse(np.array([middle - width, middle + width]))
        return float(low), float(high)


@dataclass(frozen=True, eq=False)
class _Column:
    x: Floats
    y: Floats
    scale: Scale
    step: float
    judged: Bools
    floor: Floats
    common: Bools
    additive: bool


def judge_numbers(
    values: Floats,
    steps: Sequence[float],
    categories: Sequence[Category] = (),
    links: sp.csr_matrix | None = None,
    orders: Sequence[tuple[str, Ints]] = (),
    names: Sequence[str] = (),
    unsure: Collection[int] = (),
    oddness: Floats | None = None,
    additive: Collection[int] = (),
    cluster: str | None = None,
) -> list[ColumnVerdict]:
    """Judge every number of a table.

    Args:
        values: ``[n, q]``, NaN for missing numbers.
        steps: distance of neighboring values as written in each column, 0.01 for two decimals.
        categories: columns whose equal values make groups of rows (default: none).
        links: sparse matrix of rows ``[n, n]`` (default: none).
        orders: ``(name, permutation)``, orders of the rows in which values may change smoothly (default: none).
        names: headers, for the reasons (default: positions).
        unsure: columns that may be labels; judged only if exact arithmetic ties them to others (default: none).
        oddness: ``[n, q]``, log ratio of the chance that a wrong number and that a right one is written like this
            (default: 0).
        additive: columns without a zero, such as dates: never multiplied, and no part of arithmetic (default: none).
        cluster: predict columns as tasks of this Ray cluster (default: none).
    """
    plain = np.where(np.isin(np.arange(values.shape[1]), list(additive))[None], np.nan, values)
    relations = [r for r in find_relations(plain, steps) if _arithmetic(r, set(unsure))]
    bound = {k for relation in relations for k in relation.members}
    prepared = [
        "whole numbers that may be labels"
        if j in unsure and j not in bound
        else _prepare(values[:, j], steps[j], j in additive)
        for j in range(values.shape[1])
    ]
    oddness = np.zeros(values.shape) if oddness is None else oddness.copy()
    for j in range(values.shape[1]):
        if j not in additive and isinstance(prepared[j], _Column):
            oddness[:, j] += beyond_bounds(values[:, j], names[j] if names else "")
    with threadpool_limits(1):
        verdicts, proof = _judge(values, steps, prepared, relations, categories, links, orders, oddness, names, cluster)
    names = names or [f"column {j}" for j in range(len(prepared))]
    proof.wrong[crowded(proof.wrong > DOUBTED, values)] = 0.0
    for j, verdict in enumerate(verdicts):
        verdict.wrong[proof.proved[:, j]] = 0.0
        rows = np.flatnonzero((proof.wrong[:, j] > DOUBTED) & (proof.wrong[:, j] >= verdict.wrong * PROOF))
        verdict.wrong[rows] = np.maximum(verdict.wrong[rows], proof.wrong[rows, j])
        verdict.suggestion[rows], verdict.confidence[rows] = proof.value[rows, j], proof.wrong[rows, j]
        for row in rows.tolist():
            verdict.relations[row] = relations[proof.relation[row, j]].written(names)
    return verdicts


def _judge(
    values: Floats,
    steps: Sequence[float],
    prepared: Sequence[_Column | str],
    relations: Sequence[Relation],
    categories: Sequence[Category],
    links: sp.csr_matrix | None,
    orders: Sequence[tuple[str, Ints]],
    oddness: Floats,
    names: Sequence[str],
    cluster: str | None,
) -> tuple[list[ColumnVerdict], Blame]:
    n, q = values.shape
    y = np.column_stack([p.y if isinstance(p, _Column) else np.full(n, np.nan) for p in prepared] or [np.zeros((n, 0))])
    judged = [j for j in range(q) if isinstance(prepared[j], _Column)]
    proof = blame(relations, values, steps, _gain(prepared, np.zeros((n, q)), np.ones((n, q))))
    wrong, center, spread = np.zeros((n, q)), np.zeros((n, q)), np.ones((n, q))
    kinds, rates = ErrorKinds(), dict.fromkeys(judged, RATE)
    doubt = proof.wrong > DOUBTED
    exact = np.full((n, q), np.nan)
    for j in judged:
        exact[doubt[:, j], j] = _scale(prepared[j]).forward(proof.value[doubt[:, j], j])
    center = np.where(np.isfinite(exact), exact, center)
    blocks: dict[int, tuple[str, ...]] = {}
    densities: dict[int, WrongDensity] = {}
    slopes = np.zeros((2, q, q))  # of the prediction of a column in the cells of the row and in their squares
    log_wrong = np.zeros((n, q))
    alone = {j for j in judged if np.unique(values[np.isfinite(values[:, j]), j]).size < FEW_VALUES}
    reasons: dict[int, str] = {}
    for step in range(PASSES):
        reasons.clear()
        finite = np.isfinite(y)
        cells = np.where(finite, np.clip(y, -CUT, CUT), 0.0)
        whole = np.where(finite, y, 0.0)
        if step or doubt.any():
            likely = np.where(np.isfinite(exact), exact, center)
            cells = np.where(doubt | ~finite, np.clip(likely, -CUT, CUT), cells)
            whole = np.where(doubt | ~finite, cells, whole)
        here = [names[j] for j in judged] if names else []
        known = finite & ~doubt
        unsure = np.where(known | np.isfinite(exact), 0.0, spread)
        cells, whole, known, unsure = (part[:, judged] for part in (cells, whole, known, unsure))
        context = Context(cells, whole, known, unsure, categories, links, orders, here)
        u = np.full((n, q), np.nan)
        wanted = []
        for place, j in enumerate(judged):
            c = prepared[j]
            assert isinstance(c, _Column)
            chosen = () if j in alone else blocks.get(j) if step > 1 else None
            wanted.append((place, c.y, c.judged & ~doubt[:, j], chosen, c.floor))
        for j, found in zip(judged, results_in_order(predict, context, wanted, cluster), strict=True):
            c = prepared[j]
            if found is None or isinstance(c, str):
                continue
            blocks[j], center[:, j], spread[:, j] = found.blocks, found.center, found.spread
            slopes[:, j, judged] = found.slope, found.curvature
            u[c.judged, j] = ((c.y - found.center) / found.spread)[c.judged]
        wilder = row_spread(u)
        spread[:, judged] *= wilder[:, None]
        u /= wilder[:, None]
        mean = float(np.mean(list(rates.values()))) if rates else RATE
        for j in judged:
            c = prepared[j]
            assert isinstance(c, _Column)
            densities[j] = wrong_density(
                c.x, c.y, center[:, j], spread[:, j], c.scale, c.step, kinds, wrong[:, j], c.additive
            )
            log_wrong[:, j] = densities[j].total + oddness[:, j] + np.log(spread[:, j])
        used = np.zeros((n, q))
        used[:, judged] = context.cells
        u, blame_share = to_blame(u, used, doubt, center, spread, slopes, log_wrong + np.log(mean))
        counts = np.zeros(len(FACTORS) + 1)
        for j in judged:
            c = prepared[j]
            assert isinstance(c, _Column)
            min_scale = float(np.median(c.floor / spread[:, j]))
            fit = judge_tails(u[:, j], log_wrong[:, j], mean, RATE_ROWS, min_scale)
            wrong[:, j], rates[j] = np.where(c.common, 0.0, fit.wrong), fit.rate
            counts += densities[j].counts(fit.wrong > SURE)
            flagged = (wrong[:, j] > DOUBTED)[c.judged]
            share, inside = float(flagged.mean()), float((flagged & (np.abs(c.y[c.judged]) < FAR_OUT)).mean())
            if step < SETTLED:
                continue
            ordered = any(name.startswith("order:") for name in blocks.get(j, ()))
            if blocks.get(j) and inside > (MAX_ORDER_SHARE if ordered else MAX_CONTEXT_SHARE):
                alone.add(j)
                wrong[:, j] = 0.0
            elif share > MAX_FAR_SHARE and not _gap(u[:, j], fit.wrong):
                reasons[j] = f"{share:.0%} of the numbers are extreme, without a gap to the others"
                wrong[:, j] = 0.0
        kinds.learn(counts)
        if step == PASSES - 1:
            wrong[unusual(wrong, y, u)] = 0.0
            wrong = np.where(blame_share > 0, wrong * blame_share, wrong)
        if step < PASSES - 1:
            doubt = doubted(wrong, u * (1 + np.abs(y) / FAR_OUT + (blame_share > 0)), doubt) | np.isfinite(exact)
    verdicts = [
        _verdict(
            reasons.get(j, prepared[j]), wrong[:, j], center[:, j], spread[:, j], densities.get(j), blocks.get(j, ())
        )
        for j in range(q)
    ]
    return verdicts, blame(relations, values, steps, _gain(prepared, center, spread))


def _arithmetic(relation: Relation, unsure: set[int]) -> bool:
    """Whether a relation is arithmetic: labels are copied too, and numbered alongside one another."""
    labels = len(unsure & set(relation.members))
    return labels == 0 or (len(relation.terms) > 1 and labels < len(relation.members))


def _scale(column: _Column | str) -> Scale:
    return column.scale if isinstance(column, _Column) else Scale("linear")


def _gain(prepared: Sequence[_Column | str], center: Floats, spread: Floats) -> Callable[[int, Ints, Floats], Floats]:
    """How much likelier other values than the observed ones are, as log densities; see :func:`~.relations.blame`."""

    def gain(j: int, rows: Ints, values: Floats) -> Floats:
        c = prepared[j]
        if not isinstance(c, _Column):
            return np.zeros(rows.size)
        with np.errstate(invalid="ignore", over="ignore"):
            u, v = ((y - center[rows, j]) / spread[rows, j] for y in (c.y[rows], c.scale.forward(values)))
            out = log_t(v, 4.0) + c.scale.log_slope(values) - log_t(u, 4.0) - c.scale.log_slope(c.x[rows])
        slipped = [is_slip(a, b, c.step) for a, b in zip(c.x[rows].tolist(), values.tolist(), strict=True)]
        return np.asarray(np.where(np.isfinite(out), np.clip(out, -30, 30) + SLIP * np.array(slipped), -np.inf))

    return gain


def _gap(u: Floats, wrong: Floats) -> bool:
    """Whether the cells judged wrong are clearly more extreme than all others."""
    flagged = wrong > DOUBTED
    size = np.abs(u)
    near = float(np.nanmax(size[~flagged & np.isfinite(u)], initial=0.0))
    return float(size[flagged].min(initial=np.inf)) > GAP * near


def _prepare(x: Floats, step: float, additive: bool) -> _Column | str:
    """The column on its scale, or why it is not judged."""
    known = np.isfinite(x)
    values, counts = np.unique(x[known], return_counts=True)
    if values.size < MIN_VALUES or known.sum() < MIN_ROWS:
        return f"{values.size} different numbers in {int(known.sum())} cells are too few to judge"
    judged = known.copy()
    order = np.argsort(-counts, kind="stable")
    if counts[order[0]] > SPIKE_SHARE * known.sum() and counts[order[0]] > SPIKE_LEAD * counts[order[1]]:
        judged &= x != values[order[0]]
    if judged.sum() < MIN_ROWS or np.unique(x[judged]).size < MIN_VALUES:
        return f"{int((known & ~judged).sum())} of {int(known.sum())} cells have the same number"
    scale = fit_scale(np.where(judged, x, np.nan), step, additive)
    if scale is None:
        return "the numbers do not vary"
    y = scale.forward(x)
    floor = np.full(len(x), 1e-6)
    if step > 0:
        floor = np.maximum(floor, 0.3 * step * np.exp(scale.log_slope(np.where(known, x, 0.0))))
    often = values[counts > max(COMMON_COUNT, COMMON_SHARE * known.sum())]
    return _Column(x, y, scale, step, judged, floor, np.isin(x, often), additive)


def _verdict(
    column: _Column | str,
    wrong: Floats,
    center: Floats,
    spread: Floats,
    density: WrongDensity | None,
    blocks: tuple[str, ...],
) -> ColumnVerdict:
    n = len(wrong)
    if isinstance(column, str) or density is None:
        reason = column if isinstance(column, str) else "too few rows"
        empty = np.zeros(n)
        return ColumnVerdict(empty, np.full(n, np.nan), empty, np.full(n, FAR), center, spread, None, (), reason)
    kind, part = density.likeliest()
    factors = np.array([*FACTORS, np.nan])
    expected = column.scale.inverse(center)
    suggestion = np.where(kind == FAR, expected, column.x / factors[kind])
    mass = np.minimum(column.step * np.exp(column.scale.log_slope(expected)) * 0.375 / spread, 1.0)
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(column.scale.forward(suggestion) - center) / spread
    plausible = np.minimum(2 * student_t.sf(np.nan_to_num(distance, nan=np.inf), 4.0) / PLAUSIBLE_TAIL, 1.0)
    if blocks and all(name.startswith("order:") for name in blocks):
        mass = np.minimum(mass, ORDER_CONFIDENCE)
    confidence = wrong * np.where(kind == FAR, mass, part * plausible)
    return ColumnVerdict(wrong, suggestion, confidence, kind, center, spread, column.scale, blocks)
