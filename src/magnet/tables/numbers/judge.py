"""The numeric half of the table engine: which numbers are wrong, and what they should be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from magnet.arrays import Floats, Ints
from magnet.cluster import results_in_order
from magnet.freed_memory import return_freed_memory
from magnet.tables.numbers.columns import LEAST_STEPS, ColumnVerdict, NumberColumn, shared_numbers
from magnet.tables.numbers.context import CUT, Category, Context
from magnet.tables.numbers.errors import FACTORS, FAR, ROUNDING, WrongDensity, is_slip, kind_shares, wrong_density
from magnet.tables.numbers.predict import predict
from magnet.tables.numbers.relations import Relation, find_relations, grid_of, localize_errors, multiples
from magnet.tables.numbers.rows import (
    DOUBTED,
    FAR_OUT,
    MAX_CONTEXT_SHARE,
    doubted,
    exchanged,
    improbably_many,
    in_unusual_rows,
    localize_in_rows,
    of_another_kind,
)
from magnet.tables.numbers.tails import DEGREES, gap_size, judge_tails, log_t, row_spread
from magnet.tables.options import FEW_NUMBERS, REPEATS, UNSURE
from magnet.threads import map_threads, threads_for_rows

PASSES = 5  # doubted cells join one per row and pass, so that one wrong cell does not convict its row
SETTLED = 2  # passes after which a column is judged as a whole
RATE = 0.01  # share of wrong cells before any is seen
RATE_ROWS = 50.0  # rows that this share, and that of the table for a column, counts for
MAX_ORDER_SHARE = 0.02  # the same for rows predicted from those before and after: some are out of order
MAX_FAR_SHARE = 0.05  # of far values, unless a gap separates them from the others
GAP_STEPS = 3.0  # steps of the column that a gap is wide: there is none between the counts 1, 2 and 3
EXCHANGED = 0.95  # confidence that two values which are wrong, and fit in each other's place, were exchanged
SURE = 0.8  # probability from which a wrong cell counts for the rates of error types
ODD_IF_DIVIDED = 0.5  # share of the numbers divided by mistake that have more decimals than others (not swept)
SLIP = 4.0  # nats for a value that one slip of the pen turns into the exact one: one number in 50 is so by chance
MAX_EVIDENCE = 30.0  # nats that the distance of a value can count for or against it
REFUTED = 3.0  # standard errors by which corrected values lie elsewhere than right ones: the factor is another one
VAGUE = 0.5  # of the spread of a column: predictions as wide as this say little more than the column (not swept)
ODD_DIGITS = 0.02  # share of the numbers of a column with such digits up to which they prove a slip
MIN_LIKE = 20  # right values that a factor is compared with
PROOF = 0.9  # an exact value is suggested unless the cell is much more likely wrong for another reason


def judge_numbers(
    values: Floats,
    steps: Sequence[float],
    categories: Sequence[Category] = (),
    links: sp.csr_matrix | None = None,
    orders: Sequence[tuple[str, Ints]] = (),
    names: Sequence[str] = (),
    unsure: Collection[int] = (),
    oddness: Sequence[Floats] | None = None,
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
        oddness: for each column the log ratio of the probabilities that a wrong number and that a right one is written
            like this ``[n]`` (default: 0).
        additive: columns without a zero, such as dates: never multiplied, and no part of arithmetic (default: none).
        cluster: predict columns as tasks of this Ray cluster (default: none).
    """
    n, q = values.shape
    plain = np.where(np.isin(np.arange(q), list(additive))[None], np.nan, values)
    relations = [r for r in find_relations(plain, steps) if _arithmetic(r, set(unsure))]
    bound = {k for relation in relations for k in relation.members}
    columns: dict[int, NumberColumn] = {}
    verdicts = [ColumnVerdict.none(n, "whole numbers that may be labels") for _ in range(q)]
    for j in range(q):
        if j in unsure and j not in bound:
            continue
        odd = np.zeros(n) if oddness is None else oddness[j]
        column = NumberColumn.of(values[:, j], steps[j], odd, j in additive, names[j] if names else "")
        if isinstance(column, str):
            verdicts[j] = ColumnVerdict.none(n, column)
        else:
            columns[j] = column
    grids = [grid_of(values[:, j], steps[j]) for j in range(q)]
    exact = localize_errors(relations, values, steps, _gain(columns, {}), grids)
    threads = 1 if cluster else threads_for_rows(n)
    judged_names = [names[j] for j in columns] if names else []
    passes = _Passes(list(columns.values()), categories, links, orders, judged_names, threads)
    passes.trust_arithmetic([exact.wrong[:, j] for j in columns], [exact.value[:, j] for j in columns])
    with threadpool_limits(1):
        for step in range(PASSES if columns else 0):
            passes.run(step, cluster)
    judged = dict(zip(columns, passes.verdicts(), strict=True))
    proof = localize_errors(relations, values, steps, _gain(columns, judged), grids)
    proof.wrong[improbably_many(proof.wrong > DOUBTED, values)] = 0.0
    names = names or [f"column {j}" for j in range(q)]
    certainty = cache(lambda relation, member: relation.certainty(values, steps, grids[member], member))
    for j, verdict in enumerate(verdicts):
        verdict = verdicts[j] = judged.get(j, verdict)
        verdict.wrong[proof.proved[:, j]] = 0.0
        rows = np.flatnonzero((proof.wrong[:, j] > DOUBTED) & (proof.wrong[:, j] >= verdict.wrong * PROOF))
        for row in rows.tolist():
            relation = relations[proof.relation[row, j]]
            verdict.relations[row] = relation.written(names)
            verdict.suggestion[row], slip = _solution(relation, values[row][None], steps, grids[j], j)
            sure = proof.wrong[row, j]
            if not all(proof.proved[row, k] for k in relation.members if k != j):
                # The context holds the exact value of the cell that was blamed first, which then confirms itself.
                sure = min(sure, exact.wrong[row, j])
            verdict.wrong[row] = max(verdict.wrong[row], sure)
            exactly = certainty(relation, j) if slip is None else _kept_digits(values[:, j], row, slip, steps[j])
            verdict.confidence[row] = sure * exactly
    for row, *pair in exchanged(plain, verdicts):
        for j, k in (pair, pair[::-1]):
            verdicts[j].suggestion[row] = values[row, k]
            verdicts[j].confidence[row] = EXCHANGED * min(verdicts[m].wrong[row] for m in pair)
            verdicts[j].relations[row] = f"exchanged with {names[k]}"
    return verdicts


@dataclass(eq=False)
class _Passes:
    """Passes over all columns that are judged: predict every cell from cells that are not suspected, test whether it
    is wrong, and suspect one more cell of each row.

    Args:
        columns: the ``q`` columns.
        categories, links, orders, names: see :func:`judge_numbers`.
        threads: that columns are judged on.
    """

    columns: list[NumberColumn]
    categories: Sequence[Category]
    links: sp.csr_matrix | None
    orders: Sequence[tuple[str, Ints]]
    names: Sequence[str]
    threads: int = 1

    def __post_init__(self) -> None:
        shape = (len(self.columns[0].x) if self.columns else 0, len(self.columns))
        self.wrong, self.center, self.spread = np.zeros(shape), np.zeros(shape), np.ones(shape)
        self.is_doubted = np.zeros(shape, dtype=bool)
        self.blame = np.ones(shape)  # share of each cell in what its row shows, when it was first suspected
        self.blocks: list[tuple[str, ...] | None] = [None] * shape[1]
        self.densities: list[WrongDensity | None] = [None] * shape[1]
        self.rates, self.shares = [RATE] * shape[1], kind_shares()
        # of the prediction of a column in the cells of the row and in their squares
        self.slopes = np.zeros((2, shape[1], shape[1]))
        # of labels only far ones are judged, since the context separates them too
        self.alone = {k for k, c in enumerate(self.columns) if np.unique(c.x[np.isfinite(c.x)]).size < FEW_NUMBERS}
        self.reasons: dict[int, str] = {}
        self.shared = shared_numbers([c.x for c in self.columns])

    def trust_arithmetic(self, wrong: Sequence[Floats], value: Sequence[Floats]) -> None:
        """Suspect cells that break exact relations, and replace them by the exact value."""
        for k, column in enumerate(self.columns):
            self.is_doubted[:, k] = wrong[k] > DOUBTED
            self.center[self.is_doubted[:, k], k] = column.scale.forward(value[k][self.is_doubted[:, k]])
        self.exact, self.exact_values = self.is_doubted.copy(), self.center[self.is_doubted]

    def run(self, step: int, cluster: str | None) -> None:
        """One pass."""
        self.reasons.clear()
        context = self._context()
        u = self._predict(context, step, cluster)
        mean = float(np.mean(self.rates))
        log_wrong = np.empty(u.shape)
        each = range(len(self.columns))
        map_threads(partial(self._find_density, log_wrong), each, self.threads)
        u, localized = localize_in_rows(
            u, context.cells, self.is_doubted, self.center, self.spread, self.slopes, log_wrong + np.log(mean)
        )
        del context
        judged = map_threads(partial(self._judge, u, log_wrong, mean, step), each, self.threads)
        self.shares = kind_shares(sum(judged, np.zeros(len(FACTORS) + 1)))
        del log_wrong
        return_freed_memory()
        far_out = np.column_stack([c.y for c in self.columns])
        if step == PASSES - 1:
            self.wrong[in_unusual_rows(self.wrong, far_out, u) | of_another_kind(self.wrong, far_out)] = 0.0
            self.wrong = np.where(localized > 0, self.wrong * localized, self.wrong)
        else:
            distance = u * (1 + np.abs(far_out) / FAR_OUT + (localized > 0))
            before, self.is_doubted = self.is_doubted, doubted(self.wrong, distance, self.is_doubted) | self.exact
            first = self.is_doubted & ~before & (localized > 0)
            self.blame[first] = localized[first]

    def _find_density(self, log_wrong: Floats, k: int) -> None:
        """Fill in column k of the log densities of wrong values, in units of the residuals ``[n, q]``."""
        c, center, spread, wrong = self.columns[k], *(part[:, k] for part in (self.center, self.spread, self.wrong))
        density = wrong_density(c.x, c.y, center, spread, c.scale, c.step, self.shares, wrong, c.additive)
        self.densities[k] = density
        log_wrong[:, k] = density.total + c.oddness + np.log(spread)

    def _context(self) -> Context:
        """The predictors: suspected and missing cells are replaced by their predictions."""
        likely = self.center.copy()
        likely[self.exact] = self.exact_values
        cells, whole = np.empty(likely.shape), np.empty(likely.shape)
        known = np.empty(likely.shape, dtype=bool)
        for k, c in enumerate(self.columns):
            known[:, k] = np.isfinite(c.y) & ~self.is_doubted[:, k]
            whole[:, k] = np.where(known[:, k], c.y, np.clip(likely[:, k], -CUT, CUT))
            cells[:, k] = np.clip(whole[:, k], -CUT, CUT)
        unsure = np.where(known | self.exact, 0.0, self.spread)
        return Context(cells, whole, known, unsure, self.categories, self.links, self.orders, self.names)

    def _predict(self, context: Context, step: int, cluster: str | None) -> Floats:
        """Residuals over their spreads ``[n, q]``, NaN where nothing is judged."""
        wanted = []
        for k, c in enumerate(self.columns):
            chosen = () if k in self.alone else self.blocks[k] if step > 1 else None
            wanted.append((k, c.y, c.judged & ~self.is_doubted[:, k], chosen, c.floor))
        u = np.full(self.wrong.shape, np.nan)
        for k, found in enumerate(results_in_order(predict, context, wanted, cluster, self.threads)):
            if found is None:
                continue
            c = self.columns[k]
            self.blocks[k], self.center[:, k], self.spread[:, k] = found.blocks, found.center, found.spread
            self.slopes[:, k] = found.slope, found.curvature
            u[c.judged, k] = ((c.y - found.center) / found.spread)[c.judged]
        row_scale = row_spread(u)[:, None]
        self.spread *= row_scale
        u /= row_scale
        return u

    def _judge(self, residuals: Floats, log_wrong: Floats, mean: float, step: int, k: int) -> Floats:
        """Judge column k by its residuals; how many sure errors there are of each kind."""
        c, density, u = self.columns[k], self.densities[k], residuals[:, k]
        assert density is not None
        min_scale = float(np.median(c.floor / self.spread[:, k]))
        fit = judge_tails(u, log_wrong[:, k], mean, RATE_ROWS, min_scale, bounded=not self.blocks[k])
        usual = c.common | np.isin(c.x, self.shared)
        self.wrong[:, k], self.rates[k] = np.where(usual, 0.0, fit.wrong), fit.rate
        flagged = (self.wrong[:, k] > DOUBTED)[c.judged]
        share, inside = float(flagged.mean()), float((flagged & (np.abs(c.y[c.judged]) < FAR_OUT)).mean())
        blocks = self.blocks[k] or ()
        ordered = any(name.startswith("order:") for name in blocks)
        if step >= SETTLED and blocks and inside > (MAX_ORDER_SHARE if ordered else MAX_CONTEXT_SHARE):
            self.alone.add(k)
            self.wrong[:, k] = 0.0
        elif step >= SETTLED and share > MAX_FAR_SHARE:
            gap = gap_size(u, fit.wrong, GAP_STEPS * min_scale / LEAST_STEPS)
            if gap == np.inf:
                self.reasons[k] = f"{share:.0%} of the numbers lie far out and no gap separates them from the others"
            self.wrong[~(np.abs(u) >= gap), k] = 0.0
        return density.counts(fit.wrong > SURE)

    def verdicts(self) -> list[ColumnVerdict]:
        """The verdict on each column."""
        out = []
        for k, column in enumerate(self.columns):
            density = self.densities[k]
            assert density is not None
            if k in self.reasons:
                out.append(ColumnVerdict.none(len(column.x), self.reasons[k]))
                out[-1].center, out[-1].spread = self.center[:, k], self.spread[:, k]
            else:
                wrong, center, spread = (part[:, k].copy() for part in (self.wrong, self.center, self.spread))
                out.append(column.verdict(wrong, center, spread, density, self.blocks[k] or ()))
                # the cell that was suspected holds its prediction since, which agrees with all others
                out[-1].wrong *= self.blame[:, k]
                out[-1].confidence = np.minimum(out[-1].confidence, out[-1].wrong)
        self._reject_false_factors(out)
        self._reject_shared_factors(out)
        self._doubt_lone_factors(out)
        return out

    def _doubt_lone_factors(self, verdicts: Sequence[ColumnVerdict]) -> None:
        """A slip of the decimal point that hardly any other cell of the table shows is not certain if it is known by
        the column alone: 131 among 13.1 and 40.2 may be the one storm. Its digits may still prove it: 1310.00."""
        kinds = [verdict.kind[verdict.wrong > DOUBTED] for verdict in verdicts]
        cells = np.bincount(np.concatenate([*kinds, np.zeros(0, dtype=np.int64)]), minlength=len(FACTORS) + 1)
        for column, verdict in zip(self.columns, verdicts, strict=True):
            for kind, factor in enumerate(FACTORS):
                lone = (verdict.kind == kind) & (verdict.wrong > DOUBTED) & (verdict.spread > VAGUE)
                if cells[kind] >= REPEATS or factor < 0 or not lone.any():
                    continue
                known = column.x[np.isfinite(column.x)]
                odd = multiples(known, factor * column.step) if factor > 1 else ~multiples(known, column.step)
                if odd.mean() > ODD_DIGITS:
                    verdict.confidence[lone] = np.minimum(verdict.confidence[lone], UNSURE)

    def _reject_false_factors(self, verdicts: Sequence[ColumnVerdict]) -> None:
        """No value is suggested with confidence by a factor that leaves the corrected values elsewhere than right ones.

        Values that were multiplied by 20 are often plausible divided by 10. But if 10 were the factor, the corrected
        values would lie around their predictions as right values do, namely those that would have been found too if
        they had been multiplied: half of them beyond the median distance, and half of them above the median residual.
        Two sign tests over all columns.
        """
        count, beyond, above = (np.zeros(len(FACTORS) + 1) for _ in range(3))
        for column, verdict in zip(self.columns, verdicts, strict=True):
            if verdict.scale is None:
                continue

            def residual(x: Floats, verdict: ColumnVerdict = verdict) -> Floats:
                assert verdict.scale is not None
                with np.errstate(invalid="ignore", over="ignore"):
                    return np.asarray((verdict.scale.forward(x) - verdict.center) / verdict.spread)

            observed, corrected = residual(column.x), residual(verdict.suggestion)
            right = column.judged & (verdict.wrong <= DOUBTED)
            for kind, factor in enumerate(FACTORS):
                cells = (verdict.kind == kind) & (verdict.wrong > DOUBTED)
                if not cells.any():
                    continue
                like = observed[right & (np.abs(residual(column.x * factor)) >= np.abs(observed[cells]).min())]
                if like.size >= MIN_LIKE:
                    count[kind] += cells.sum()
                    beyond[kind] += (np.abs(corrected[cells]) > np.median(np.abs(like))).sum()
                    above[kind] += (corrected[cells] > np.median(like)).sum()
        limit = REFUTED * np.sqrt(count) / 2
        refuted = (beyond - count / 2 > limit) | (np.abs(above - count / 2) > limit)
        for verdict in verdicts:
            verdict.confidence[refuted[verdict.kind]] = 0.0

    def _reject_shared_factors(self, verdicts: Sequence[ColumnVerdict]) -> None:
        """No value is suggested with confidence where one factor explains several cells of a row: they agree with one
        another, as the quantity and the total of a refund do."""
        for factor in range(FAR):
            explained = [(v.wrong > DOUBTED) & (v.kind == factor) for v in verdicts]
            shared = sum(explained, np.zeros(1, dtype=np.int64)) > 1
            for verdict, cells in zip(verdicts, explained, strict=True):
                verdict.confidence[shared & cells] = 0.0


def _solution(
    relation: Relation, row: Floats, steps: Sequence[float], grid: float, member: int
) -> tuple[float, float | None]:
    """What a member of a relation must be in a row ``[1, q]``: of the values within the rounding of the others, that
    which a decimal slip explains. And the factor of this slip, None if there is none."""
    value, off = (float(each[0]) for each in relation.solution(row, steps, grid, member))
    for factor in FACTORS:
        candidate = row[0, member] / factor
        if abs(candidate - value) <= off + ROUNDING * steps[member] and multiples(candidate, grid) >= multiples(
            value, grid
        ):
            return candidate, factor
    return value, None


def _kept_digits(x: Floats, row: int, factor: float, step: float) -> float:
    """How likely a slip has kept all digits of a number: 79 is a tenth of 790, but of 797, too, if it lost its end. The
    share of the numbers of the column that are as round, where the observed one has no further decimals."""
    unit = step / abs(factor)
    if abs(factor) >= 1 or not multiples(x[row], step):
        return 1.0
    others = np.delete(x, row)
    return float(multiples(others[np.isfinite(others)], unit).mean())


def _arithmetic(relation: Relation, unsure: set[int]) -> bool:
    """Whether a relation is arithmetic: labels are copied too, and numbered alongside one another."""
    labels = len(unsure & set(relation.members))
    return labels == 0 or (len(relation.terms) > 1 and labels < len(relation.members))


def _gain(
    columns: dict[int, NumberColumn], judged: dict[int, ColumnVerdict]
) -> Callable[[int, Ints, Floats, Floats], Floats]:
    """Log density ratio of other values to the observed ones, for :func:`~.relations.localize_errors`.

    Small values are denser. Beside a slip of the pen, which says nothing about the density of what is observed, this
    would count twice, for the cell and for the others of its relation; so it counts half. And a number with more
    decimals than nearly all others of its column has been divided.
    """

    def gain(j: int, rows: Ints, values: Floats, off: Floats) -> Floats:
        if j not in columns:
            return np.zeros(rows.size)
        c = columns[j]
        center, spread = (judged[j].center[rows], judged[j].spread[rows]) if j in judged else (0.0, 1.0)
        cells = zip(c.x[rows].tolist(), values.tolist(), off.tolist(), strict=True)
        slipped = np.array([is_slip(a, b, c.step, width) for a, b, width in cells], dtype=bool)
        odd = np.isfinite(c.x) & ~multiples(c.x, c.step)
        divided = np.clip(np.log(ODD_IF_DIVIDED * np.isfinite(c.x).sum() / (1 + odd.sum())), 0.0, SLIP) * odd[rows]
        with np.errstate(invalid="ignore", over="ignore"):
            u, v = ((y - center) / spread for y in (c.y[rows], c.scale.forward(values)))
            slopes = c.scale.log_slope(values) - c.scale.log_slope(c.x[rows])
            out = log_t(v, DEGREES) - log_t(u, DEGREES) + np.where(slipped, 0.5, 1.0) * slopes
        evidence = np.clip(out, -MAX_EVIDENCE, MAX_EVIDENCE) + SLIP * slipped + divided
        return np.asarray(np.where(np.isfinite(out + slopes), evidence, -np.inf))

    return gain
