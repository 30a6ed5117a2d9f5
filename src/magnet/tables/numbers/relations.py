"""Exact arithmetic between columns: totals, products, rates and copies, and the cells that break them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from magnet.arrays import Bools, Floats, Ints
from magnet.tables.numbers.errors import ROUNDING
from magnet.tables.options import MIN_ROWS

MAX_COLUMNS = 64  # that are searched for relations among three
MAX_BLOCK = 12  # columns side by side that may add up to a total
SAMPLE = 200  # rows of the search; relations found are checked on all rows
PRESCREEN_ROWS, PRESCREEN_REFERENCES = 24, 4  # rows on which ratios are prescreened, and those they are compared with
MAX_LOG_RANGE = 0.05  # by which the logarithm of a ratio may vary before rounding is considered
BINARY = 1e-9  # relative tolerance for binary digits
MIN_DIFFERENT = 5  # different numbers of a column below which arithmetic holds by chance (not swept)
LOW, HIGH = 0.2, 0.8  # quantiles of a ratio between which it must be constant: wrong cells lie outside (not swept)
MIN_LOG_RANGE = 1e-6  # of ratios that are equal up to binary digits
MIN_SHARE = 0.9  # of the rows in which a relation holds; leaves room for one wrong cell in ten rows
MAX_CHANCE_SHARE = 0.3  # share of rows in which it may hold with the target of another row
EXCEPTION_RATE = 0.02  # share of violating rows at which a violation is as often genuine as an error
ON_GRID = 0.9  # share of the numbers of a column that are multiples of a power of ten
MULTIPLE = 1e-6  # of a unit; its multiples are as close to it in binary digits
AGREEMENT = 4.6  # nats for each further relation that a value mends: one cell in 100 would be wrong besides
MIN_VIOLATION = 10.0  # times the tolerance; less is rounding of another kind
MAX_TOLERANCE = 0.05  # of the target's spread; rounding that coarse makes every relation hold


@dataclass(frozen=True)
class Relation:
    r"""``target = sum of terms``, ``target = factor * first * second`` or ``target = factor * first / second``.

    Args:
        kind: ``sum``, ``product`` or ``ratio``; a copy is a product with one term.
        target: column.
        terms: columns.
        factor: of a product or ratio.
        exact: whether the terms are the very numbers that the target was computed from, as counts and prices are; else
            they may be rounded (default: ``False``).
    """

    kind: str
    target: int
    terms: tuple[int, ...]
    factor: float = 1.0
    exact: bool = False

    @property
    def members(self) -> tuple[int, ...]:
        return (self.target, *self.terms)

    def expected(self, x: Floats) -> Floats:
        """What the target should be ``[n]``."""
        parts = [x[:, k] for k in self.terms]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.kind == "sum":
                return np.asarray(np.sum(parts, axis=0))
            if self.kind == "ratio":
                return np.asarray(self.factor * parts[0] / parts[1])
            return np.asarray(self.factor * np.prod(parts, axis=0))

    def tolerance(self, x: Floats, steps: Sequence[float]) -> Floats:
        """By how much rounding may move the target off ``[n]``."""
        if self.exact:
            off = np.zeros(len(x))
        elif self.kind == "sum":
            off = np.full(len(x), sum(steps[k] for k in self.terms))
        else:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                off = np.abs(self.expected(x)) * sum(steps[k] / np.abs(x[:, k]) for k in self.terms)
        largest = np.abs(np.nan_to_num(self.expected(x), posinf=0, neginf=0))
        return np.asarray(ROUNDING * (steps[self.target] + off) + BINARY * largest)

    def solve(self, x: Floats, member: int) -> Floats:
        """What a member must be for the relation to hold, the others given ``[n]``."""
        if member == self.target:
            return self.expected(x)
        target, others = x[:, self.target], [x[:, k] for k in self.terms if k != member]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.kind == "sum":
                return np.asarray(target - np.sum(others, axis=0))
            if self.kind == "product":
                return np.asarray(target / (self.factor * np.prod(others, axis=0)))
            if member == self.terms[0]:
                return np.asarray(target * others[0] / self.factor)
            return np.asarray(self.factor * others[0] / target)

    def uncertainty(self, x: Floats, steps: Sequence[float], member: int) -> Floats:
        """By how much rounding of the others may move the solution for a member off ``[n]``."""
        others = [k for k in self.members if k != member and (k == self.target or not self.exact)]
        if self.kind == "sum":
            return np.full(len(x), ROUNDING * sum(steps[k] for k in others))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            relative = np.sum([steps[k] / np.abs(x[:, k]) for k in others], axis=0)
            return np.asarray(ROUNDING * np.abs(self.solve(x, member)) * relative)

    def solution(self, x: Floats, steps: Sequence[float], grid: float, member: int) -> tuple[Floats, Floats]:
        """What a member must be, and by how much it may be off ``[n]`` each: the nearest number of its grid within the
        rounding of the others, which is certain if it is the only one; else the solution."""
        value, off = self.solve(x, member), self.uncertainty(x, steps, member)
        with np.errstate(invalid="ignore", over="ignore"):
            nearest = grid * np.round(value / grid)
            held = np.abs(nearest - value) <= off + BINARY * np.abs(value)
        return np.where(held, nearest, value), np.where(held & (2 * off < grid), 0.0, off)

    def certainty(self, x: Floats, steps: Sequence[float], grid: float, member: int) -> float:
        """How often the solution for a member is its very number, in the rows in which the relation holds: always for
        sums of cents, seldom for a price that follows from a rounded percentage."""
        _, holds, counts = self.state(x, steps)
        holds &= counts
        off = np.abs(self.solution(x[holds], steps, grid, member)[0] - x[holds, member])
        return float((off <= ROUNDING * steps[member] + BINARY * np.abs(x[holds, member])).mean())

    def written(self, names: Sequence[str]) -> str:
        """The relation in words."""
        terms = [names[k] for k in self.terms]
        if self.kind == "sum":
            right = f"{terms[0]} + ... + {terms[-1]}" if len(terms) > 3 else " + ".join(terms)
        else:
            sign = " / " if self.kind == "ratio" else " * "
            right = ("" if np.isclose(self.factor, 1) else f"{self.factor:.6g} * ") + sign.join(terms)
        return f"{names[self.target]} = {right}"

    def state(self, x: Floats, steps: Sequence[float]) -> tuple[Bools, Bools, Bools]:
        """Rows that the relation speaks about, those in which it holds, and those in which every term counts, so that
        it does not hold by itself: a total of one part is its copy."""
        members = x[:, list(self.members)]
        tolerance = self.tolerance(x, steps)
        with np.errstate(invalid="ignore"):
            holds = np.abs(x[:, self.target] - self.expected(x)) <= tolerance
            if self.kind == "sum":
                applies = np.isfinite(members).all(axis=1) & (members != 0).any(axis=1)
                # a term within rounding proves nothing
                counts = (np.abs(x[:, list(self.terms)]) > 2 * tolerance[:, None]).sum(axis=1) >= 2
                counts &= x[:, self.target] != 0
            else:
                applies = np.isfinite(members).all(axis=1) & (members[:, 1:] != 0).all(axis=1)
                counts = members[:, 0] != 0
        return applies, applies & holds, applies & counts


def grid_of(x: Floats, step: float) -> float:
    """The coarsest power of ten times the step of a column that divides nearly all of its numbers.

    Example:
        >>> grid_of(np.array([1200.0, 500.0, 7900.0]), 1.0)
        100.0
    """
    known = x[np.isfinite(x) & (x != 0)]
    while known.size and np.mean(multiples(known, 10 * step)) >= ON_GRID:
        step *= 10
    return step


def multiples(x: Floats | float, unit: float) -> Bools:
    """Whether numbers are multiples of a unit."""
    return np.asarray(np.abs(x - unit * np.round(np.asarray(x) / unit)) <= MULTIPLE * unit)


def find_relations(x: Floats, steps: Sequence[float]) -> list[Relation]:
    """Relations that hold exactly (within rounding) in nearly all rows and not by chance.

    Args:
        x: values ``[n, q]``, NaN if missing.
        steps: distance of neighboring values as written.

    Example:
        >>> a, b = np.arange(30.0) ** 2 % 97 + 10, np.arange(30.0) * 7 % 53 + 10
        >>> found = find_relations(np.column_stack([a, b, a + b]), [1.0, 1.0, 1.0])
        >>> [relation.written(["a", "b", "total"]) for relation in found]
        ['total = a + b']
    """
    n, q = x.shape
    usable = [k for k in range(q) if np.unique(x[np.isfinite(x[:, k]), k][:SAMPLE]).size > MIN_DIFFERENT][:MAX_COLUMNS]
    if n < MIN_ROWS or len(usable) < 2:
        return []
    rows = np.linspace(0, n - 1, min(n, SAMPLE)).astype(int)
    found: list[Relation] = []
    tied: set[frozenset[int]] = set()
    for candidate in _candidates(x[rows], steps, usable):
        key = frozenset(candidate.members)
        for each in (replace(candidate, exact=True), candidate):
            if key not in tied and _valid(each, x, steps):
                found.append(each)
                tied.add(key)
    return [relation for relation in found if not any(_is_part(relation, other, x, steps) for other in found)]


def _is_part(relation: Relation, other: Relation, x: Floats, steps: Sequence[float]) -> bool:
    """Whether a total is that of another relation without some of its terms, which are mostly zero."""
    if relation.kind != "sum" or relation.target != other.target or not set(relation.terms) < set(other.terms):
        return False
    return bool(relation.state(x, steps)[1].sum() <= other.state(x, steps)[1].sum())


def _valid(relation: Relation, x: Floats, steps: Sequence[float]) -> bool:
    _, holds, applies = relation.state(x, steps)
    holds &= applies
    if holds.sum() < MIN_ROWS or holds.sum() < MIN_SHARE * applies.sum():
        return False
    target = x[:, relation.target]
    spread = float(np.subtract(*np.nanquantile(target[applies], [0.75, 0.25])))
    if np.median(relation.tolerance(x, steps)[applies]) > MAX_TOLERANCE * spread:
        return False
    moved = x.copy()
    moved[:, relation.target] = np.roll(target, n // 2 if (n := len(x)) > 3 else 1)
    _, holds, applies = relation.state(moved, steps)
    return bool((holds & applies).sum() <= MAX_CHANCE_SHARE * max(int(applies.sum()), 1))


def _candidates(x: Floats, steps: Sequence[float], usable: list[int]) -> Iterator[Relation]:
    """Relations worth a check on all rows, the simplest first."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.abs(np.where(x == 0, np.nan, x)))
    few, columns = logs[:: max(1, len(logs) // PRESCREEN_ROWS)], np.array(usable)
    for at, a in enumerate(usable):
        later = columns[at + 1 :]
        others = later[_alike(few[:, later] - few[:, a, None])]
        for k, factor in _factors(logs[:, others] - logs[:, a, None]):
            b = int(others[k])
            yield Relation("product", b, (a,), factor * _sign(x[:, b], x[:, a]))
    half = np.array(steps)
    sizes = combinations(range(x.shape[1] + 1), 2)
    blocks = (tuple(range(start, stop)) for start, stop in sizes if 3 <= stop - start <= MAX_BLOCK)
    targets = x[:, usable]
    for terms in (*combinations(usable, 2), *blocks):
        total = x[:, terms].sum(axis=1)[:, None]
        slack = ROUNDING * (half[usable] + half[list(terms)].sum()) + BINARY * np.abs(total)
        holds = np.mean(np.abs(targets - total) <= slack, axis=0)
        for k in np.flatnonzero(holds > 0.5 * MIN_SHARE).tolist():
            if usable[k] not in terms:
                yield Relation("sum", usable[k], terms)
    for at, a in enumerate(usable):
        later = np.repeat(columns[at + 1 :], 2)
        signs = np.tile([1, -1], len(usable) - at - 1)
        alike = _alike(few[:, None, usable] - (few[:, a, None] + signs * few[:, later])[:, :, None])
        pair, place = np.nonzero(alike & (columns != a) & (columns != later[:, None]))
        known = (logs[:, a, None] + signs * logs[:, later])[:, pair]
        for k, factor in _factors(logs[:, columns[place]] - known):
            b, target = int(later[pair[k]]), usable[place[k]]
            kind = "product" if signs[pair[k]] > 0 else "ratio"
            yield Relation(kind, target, (a, b), factor * _sign(x[:, target], x[:, a] * x[:, b]))


def _alike(few: Floats) -> Bools:
    """Columns ``[rows, ...]`` that may be nearly constant, by some of their rows."""
    alike = np.zeros(few.shape[1:], dtype=bool)
    for row in few[:PRESCREEN_REFERENCES]:
        alike |= (np.abs(few - row) < MAX_LOG_RANGE).mean(axis=0) > 0.5
    return alike


def _factors(logs: Floats) -> Iterator[tuple[int, float]]:
    """Columns that are nearly constant, and the factor: the power of ten next to it, if it is as good."""
    finite = np.isfinite(logs)
    complete = finite.all(axis=0)
    quantiles = np.empty((3, logs.shape[1]))
    quantiles[:, complete] = np.quantile(logs[:, complete], [LOW, 0.5, HIGH], axis=0)
    for k in np.flatnonzero(~complete).tolist():
        known = logs[finite[:, k], k]
        quantiles[:, k] = np.quantile(known, [LOW, 0.5, HIGH]) if known.size >= MIN_ROWS else np.nan
    for k in np.flatnonzero(quantiles[2] - quantiles[0] < MAX_LOG_RANGE).tolist():
        low, middle, high = quantiles[:, k]
        ten = 10.0 ** round(middle / np.log(10))
        yield k, ten if abs(np.log(ten) - middle) < max(high - low, MIN_LOG_RANGE) else float(np.exp(middle))


def _sign(a: Floats, b: Floats) -> float:
    return -1.0 if np.nanmedian(np.sign(a) * np.sign(b)) < 0 else 1.0


class LocalizedErrors(NamedTuple):
    """Cells that violate relations: ``wrong`` probabilities, exact ``value``, position of the broken ``relation`` (-1:
    none) and cells ``proved`` right by a relation that holds, each ``[n, q]``."""

    wrong: Floats
    value: Floats
    relation: Ints
    proved: Bools


def localize_errors(
    relations: Sequence[Relation],
    x: Floats,
    steps: Sequence[float],
    gain: Callable[[int, Ints, Floats, Floats], Floats],
    grids: Sequence[float] | None = None,
) -> LocalizedErrors:
    r"""Cells that violate relations, and their corrections (error localization; Fellegi and Holt 1976).

    A cell of a relation that holds in its row is right. Of the other members m of a broken relation one is wrong, or
    none is and the row is an exception:

    .. math::
        P(m) \propto \frac{p(v_m \mid \text{context})}{p(o_m \mid \text{context})}, \qquad
        P(\text{none}) \propto \frac{1 + \text{broken rows}}{1 + \text{rows}} \Big/ \text{error rate}

    where :math:`v_m` is the value with which the relation holds. One that the column could not hold, as half a piece,
    has the density of such numbers there; one that mends another broken relation of the row, too, saves a second error.

    Args:
        relations: from :func:`find_relations`.
        x: values ``[n, q]``.
        steps: distance of neighboring values as written.
        gain: ``gain(column, rows, values, off)`` is the log ratio :math:`p(v) / p(o)` of values that may be off.
        grids: of the columns, see :func:`grid_of` (default: their steps).
    """
    grids = steps if grids is None else grids
    states = [r.state(x, steps) for r in relations]
    proved = np.zeros(x.shape, dtype=bool)
    for relation, (_, holds, _) in zip(relations, states, strict=True):
        proved[np.ix_(np.flatnonzero(holds), np.array(relation.members))] = True
    wrong, value = np.zeros(x.shape), np.full(x.shape, np.nan)
    which = np.full(x.shape, -1, dtype=np.int64)
    broken = [_violations(r, x, steps, *state[:2]) for r, state in zip(relations, states, strict=True)]
    for at, (relation, (applies, holds, _)) in enumerate(zip(relations, states, strict=True)):
        rows = np.flatnonzero(broken[at])
        if not rows.size:
            continue
        members = np.array(relation.members)
        exact, scores = np.empty((2, rows.size, members.size))
        for k, m in enumerate(relation.members):
            exact[:, k], off = relation.solution(x[rows], steps, grids[m], m)
            scores[:, k] = gain(m, rows, exact[:, k], off)
            with np.errstate(invalid="ignore"):
                unlike = ~multiples(exact[:, k], steps[m]) & (off < ROUNDING * steps[m])
            scores[unlike, k] += _log_share(~multiples(x[np.isfinite(x[:, m]), m], steps[m]))
            for other, elsewhere in zip(relations, broken, strict=True):
                if other is not relation and m in other.members:
                    again, width = other.solution(x[rows], steps, grids[m], m)
                    with np.errstate(invalid="ignore"):
                        alike = np.abs(again - exact[:, k]) <= off + width + ROUNDING * steps[m]
                    scores[elsewhere[rows] & alike, k] += AGREEMENT
            # a sum proves its terms, but not which of them is which
            exchanged = np.zeros(rows.size, dtype=bool)
            for other, (_, held, _) in zip(relations, states, strict=True):
                if other.kind == "sum" and m in other.terms:
                    for term in set(other.terms) - set(relation.members):
                        with np.errstate(invalid="ignore"):
                            exchanged |= held[rows] & (np.abs(x[rows, term] - exact[:, k]) <= off + ROUNDING * steps[m])
            scores[exchanged, k] += AGREEMENT
            scores[proved[rows, m] & ~exchanged, k] = -np.inf
        scores[~np.isfinite(exact)] = -np.inf
        genuine = np.log((1 + (applies & ~holds).sum()) / (1 + applies.sum()) / EXCEPTION_RATE)
        total = np.logaddexp(np.logaddexp.reduce(scores, axis=1), max(genuine, 0.0))
        share = np.exp(scores - total[:, None])
        for k, m in enumerate(members):
            better = share[:, k] > wrong[rows, m]
            wrong[rows[better], m] = share[better, k]
            value[rows[better], m] = exact[better, k]
            which[rows[better], m] = at
    return LocalizedErrors(wrong, value, which, proved)


def _violations(relation: Relation, x: Floats, steps: Sequence[float], applies: Bools, holds: Bools) -> Bools:
    """Rows that break a relation by more than rounding of another kind."""
    with np.errstate(invalid="ignore"):
        off = np.abs(x[:, relation.target] - relation.expected(x)) > MIN_VIOLATION * relation.tolerance(x, steps)
    return np.asarray(applies & ~holds & off)


def _log_share(cells: Bools) -> float:
    """Logarithm of the share of some cells, with one more of each kind."""
    return float(np.log((1 + cells.sum()) / (2 + cells.size)))
