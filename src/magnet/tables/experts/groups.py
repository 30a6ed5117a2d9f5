"""Rows that share the value of another column, or of a pair of columns: approximate functional dependencies
(Kivinen and Mannila 1995), each weighted by its predictive power."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from magnet.arrays import Bools, Floats
from magnet.tables.coded import CodedColumn, CodedTable, Codes, distinct, joint, row_counts
from magnet.tables.experts.base import ColumnContext, Expert, Frequency
from magnet.tables.options import REPEATS
from magnet.tables.roles.patterns import disguised_blank

TOP = 3  # values proposed per group: the leading one and two rivals
RIGHT_ODDS = 9.0  # odds that a row is correct if a rule requires one value per group
MAJORITY = 0.5  # share that decides a group if a rule requires one value per group
CLEAR, LARGE = 0.75, 4  # share and rows from which a group counts as unanimous
# Share of the rows of large groups that are not unanimous from which a context determines nothing. (At 0.5, 24 right
# cells of a survey were listed since few of that height have that sex; at 0.15, values of other rows in beers lost .27
# of F1.)
MIXED = 0.35
# The same for a key that a column which says nothing alone completes; and the share of the rows that must be in large
# groups. True keys (made-up payroll): up to .003 and from .93; chance (clean dgov_no-s-firm-pan): from .03, or .71.
MIXED_KEY, IN_LARGE = 0.02, 0.8
SAME, SAME_ROWS = 0.9, 5000  # share of the rows that two groupings have in common, and rows that are looked at
SMOOTHING = (0.02, 0.2, 2.0)  # pseudo-counts of a group, chosen by leave-one-out likelihood
MIN_GAIN = 0.02  # nats per row that a context must gain over column frequency
MIN_PAIR_GAIN = 0.05  # nats per row that a pair of columns must gain over the best single column
COMPLETED = 2  # best single columns that are tried with every other column. Set by run time
PARTS = 0.05  # values per row of a column that completes a key; with more, few groups of the pair hold several rows
MAX_CONTEXTS = 3  # single columns per column
PAIRED = 5  # best single columns of which pairs are tried (not swept)
OWN_SHARE = 0.3  # of the exceptions, from which a value that leads no context is one of its own (not swept)
UNEVEN = 2.0  # dispersion from which exceptions and blanks are genuine (1: by chance)
UNSEEN = 0.3  # pseudo-count of a value that no other row holds
MAX_GROUPS = 0.9  # groups per row; with more, hardly any group has two rows
ROUNDING = 1e-9  # nats per row
CHUNK = 1 << 15  # numbers that are worked on at a time, so that they stay in cache
SCREEN_ROWS = 30_000  # rows on which contexts are compared; beyond this the order of contexts no longer changes


Fits = dict[int, tuple[tuple[int, int], tuple[float, float]]]
"""By position of a column: how often it and the judged column had been repaired, likelihood and smoothing."""


class Grouping(NamedTuple):
    """Groups of rows: the code of each row's group, how many codes there are, and the size of each row's group."""

    codes: Codes
    number: int
    size: Codes

    @classmethod
    def of(cls, column: CodedColumn, rows: Codes) -> Grouping:
        codes, number = distinct(column.current[rows])
        return cls(codes, number, np.bincount(codes)[codes])

    def crossed(self, other: Grouping) -> Grouping:
        """Groups of rows that are in the same group of both."""
        codes, number = self.codes * other.number + other.codes, self.number * other.number
        return Grouping(codes, number, row_counts(codes, number))


def loo_log_likelihoods(groups: Sequence[Grouping], value: Codes, frequency: Floats) -> list[tuple[float, float]]:
    r"""Mean leave-one-out log-likelihood of a column given groups, and the best smoothing, for several groupings.

    .. math:: \max_\kappa \frac1n \sum_i \log \frac{n_{g_i w_i} - 1 + \kappa F(w_i)}{n_{g_i} - 1 + \kappa}

    Args:
        groups: groupings of the rows.
        value: codes of the column ``[rows]``.
        frequency: of the values ``[rows]``.
    """
    width, together = int(value.max(initial=0)) + 1, max(1, CHUNK // max(len(value), 1))
    found: list[tuple[float, float]] = []
    for first in range(0, len(groups), together):
        some = groups[first : first + together]
        same = np.stack([row_counts(g.codes * width + value, g.number * width) for g in some]) - 1
        size = np.stack([g.size for g in some]) - 1
        fits = [np.log((same + kappa * frequency) / (size + kappa)).mean(axis=1).tolist() for kappa in SMOOTHING]
        found += [max(zip(each, SMOOTHING, strict=True)) for each in zip(*fits, strict=True)]
    return found


def dispersion(hits: Codes | Floats, sizes: Codes | Floats) -> float:
    r"""Pearson's index of dispersion: how unevenly hits fall on groups, 1 if they are independent draws.

    .. math:: D = \frac{1}{G - 1} \sum_g \frac{(x_g - m_g e)^2}{m_g e (1 - e)}, \qquad e = \frac{\sum x_g}{\sum m_g}

    Errors strike rows independently; genuine exceptions gather in some groups.

    Example:
        >>> dispersion(np.array([2, 2, 2]), np.array([10, 10, 10]))
        0.0
        >>> round(dispersion(np.array([6, 0, 0]), np.array([10, 10, 10])), 2)
        7.5
    """
    kept = sizes > 0
    hits, sizes = hits[kept], sizes[kept]
    if len(sizes) < 2 or not hits.sum():
        return 0.0
    rate = hits.sum() / sizes.sum()
    if rate >= 1:
        return 0.0
    return float(((hits - sizes * rate) ** 2 / (sizes * rate * (1 - rate))).sum() / (len(sizes) - 1))


def same_groups(a: Codes, b: Codes) -> bool:
    """Whether two groupings of the rows are nearly the same, as the id and the name of a brewery are.

    Example:
        >>> same_groups(np.array([0, 0, 1, 1]), np.array([7, 7, 3, 3])), same_groups(np.arange(4), np.zeros(4, int))
        (True, False)
    """
    some = np.linspace(0, len(a) - 1, min(len(a), SAME_ROWS)).astype(np.int64)
    (a, groups), (b, others) = distinct(a[some]), distinct(b[some])
    pairs, held = np.unique(a * others + b, return_counts=True)
    for of, count in ((pairs // others, groups), (pairs % others, others)):
        leading = np.zeros(count, dtype=np.int64)
        np.maximum.at(leading, of, held)
        if leading.sum() < SAME * len(a):
            return False
    return True


class Votes:
    r"""Values that the rows of a context hold, smoothed to column frequency.

    .. math:: P(v \mid i) = \frac{n_{c_i v} - [w_i = v] + \kappa F_{-i}(v)}{n_{c_i} - 1 + \kappa}

    with :math:`n_{cv}` the votes of context c for the value v; where the row itself is not among the voters of its
    context, nothing is taken off.

    Args:
        column: the column.
        context: of each row.
        keys: ``context * (values + 1) + value`` of the votes, sorted.
        votes: how many votes each key has.
        size: votes of each context.
        kappa: smoothing.
    """

    strict = False
    votes_itself = True  # whether a row is among the voters of its context
    min_votes = 1  # of a value that is proposed

    def __init__(
        self,
        column: CodedColumn,
        context: Codes,
        keys: Codes,
        votes: Codes | Floats,
        size: Codes | Floats,
        kappa: float,
    ) -> None:
        self._column, self._current, self._context = column, column.current, context
        self._keys, self._votes, self._size, self._kappa = keys, votes, size, kappa
        self._known, self._frequency = len(column.values), Frequency(column)

    @property
    def context(self) -> Codes:
        """The context of each row."""
        return self._context

    def _count(self, context: Codes, codes: Codes) -> Codes | Floats:
        if not len(self._keys):
            return np.zeros(len(context))
        keys = context * (self._known + 1) + np.minimum(codes, self._known)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self._votes[at], 0)

    def probability(self, rows: Codes, codes: Codes) -> Floats:
        context = self._context[rows]
        votes, size = self._count(context, codes), self._size[context]
        if self.votes_itself:
            votes, size = votes - (self._current[rows] == codes), size - 1
        return (votes + self._kappa * self._frequency.probability(rows, codes)) / (size + self._kappa)

    def own(self) -> Floats:
        return self.probability(np.arange(len(self._current)), self._current)

    def leading(self) -> Codes:
        """The values with most votes in each context, ``[contexts, TOP]``, -1 where there are fewer."""
        context, code = self._keys // (self._known + 1), self._keys % (self._known + 1)
        order = np.lexsort((-self._votes, context))
        context, code, votes = context[order], code[order], self._votes[order]
        rank = np.arange(len(context)) - np.searchsorted(context, np.arange(len(self._size)))[context]
        keep = (rank < TOP) & (votes >= self.min_votes)
        out = np.full((len(self._size), TOP), -1, dtype=np.int64)
        out[context[keep], rank[keep]] = code[keep]
        return out

    def proposals(self) -> Codes:
        return self.leading()[self._context]

    def agreement(self) -> tuple[Codes, Floats, float]:
        """The value of nearly all rows of a large context, per row (-1: none), their number, and how unevenly
        the exceptions fall on these contexts. No context has one where many large ones are mixed, as the sexes are in
        the middle of the range of heights."""
        leader = self.leading()[:, 0]
        votes = self._count(np.arange(len(leader)), np.maximum(leader, 0))
        share, rows = (MAJORITY, 2) if self.strict else (CLEAR, LARGE)
        large = (leader >= 0) & (self._size > rows)
        clear = large & (votes > share * self._size)
        if not self.strict and self.votes_itself and self._size[large & ~clear].sum() > MIXED * self._size[large].sum():
            clear[:] = False
        expected = np.where(clear, leader, -1)[self._context]
        if not self.strict:
            expected[self._values_of_their_own(leader, expected)[self._column.read]] = -1
        spread = 0.0
        if self.votes_itself:  # in the file: those that remain after some repairs are few, and few are always uneven
            off = (expected >= 0) & (self._column.read != expected)
            spread = dispersion(np.bincount(self._context, weights=off)[clear], self._size[clear])
        return expected, votes[self._context].astype(np.float64), spread

    def _values_of_their_own(self, leaders: Codes, expected: Codes) -> Bools:
        """Values ``[values]`` that lead no context and are many of the exceptions from several leaders, as ``Home`` is
        among the buildings of departments: errors are copies of usual values, or differ from each other."""
        read, values = self._column.read, self._column.values
        off = (expected >= 0) & (expected != read)
        pairs = np.unique(read[off] * len(values) + expected[off])
        own = np.bincount(pairs // len(values), minlength=len(values)) > 1
        own &= np.bincount(read[off], minlength=len(values)) >= max(REPEATS, OWN_SHARE * off.sum())
        own[leaders[leaders >= 0]] = False
        own[[k for k in np.flatnonzero(own).tolist() if disguised_blank(values[k])]] = False
        return own


class Groups(Votes):
    """Votes of the rows that share the value of another column, or of several.

    Args:
        table: the table.
        position: of the column that is judged.
        contexts: positions of the columns that make the groups.
        kappa: smoothing.
        strict: whether a user rule requires one value per group. (default: ``False``)
    """

    min_votes = 2

    def __init__(self, table: CodedTable, position: int, contexts: tuple[int, ...], kappa: float, strict: bool = False):
        column, self.strict = table.columns[position], strict
        self._columns = [table.columns[k] for k in contexts]
        group = self._columns[0].current
        for other in self._columns[1:]:
            group = joint(group, other.current)
        keys, votes = np.unique(group * (len(column.values) + 1) + column.current, return_counts=True)
        super().__init__(column, group, keys, votes, np.bincount(group), kappa)

    def probability(self, rows: Codes, codes: Codes) -> Floats:
        return self._strict_probability(rows, codes) if self.strict else super().probability(rows, codes)

    def _strict_probability(self, rows: Codes, codes: Codes) -> Floats:
        r"""Posterior of the one value of the group, :math:`P(v) \propto o^{n_{gv} - [w_i = v]}`, where a row is right
        with odds o."""
        group, same = self._context[rows], self._current[rows] == codes
        of_key = self._keys // (self._known + 1)
        top = np.zeros(len(self._size), dtype=np.int64)
        np.maximum.at(top, of_key, self._votes)
        total = np.bincount(of_key, weights=RIGHT_ODDS ** (self._votes - top[of_key]).astype(float))[group]
        own = RIGHT_ODDS ** (self._count(group, self._current[rows]) - top[group]).astype(float)
        support = RIGHT_ODDS ** (self._count(group, codes) - same - top[group]).astype(float)
        return support / (total - own + own / RIGHT_ODDS + RIGHT_ODDS ** -top[group].astype(float))

    def evidence(self, row: int, code: int) -> str:
        votes = self._count(self._context[[row]], np.array([code]))[0] - (self._current[row] == code)
        name = " and ".join(f"{c.name} {c.values[c.current[row]]!r}" for c in self._columns)
        others = self._size[self._context[row]] - 1
        return f"{votes} of {others} other rows with {name} have {self._column.values[code]!r}"


def _screen(n: int, seed: int) -> Codes:
    if n <= SCREEN_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, SCREEN_ROWS, replace=False))


def choose_contexts(context: ColumnContext) -> list[tuple[tuple[int, ...], float]]:
    """Contexts whose leave-one-out likelihood beats column frequency: the best few columns and the best pair."""
    table, j, column = context.table, context.position, context.column
    n = table.num_rows
    rows = _screen(n, table.seed)
    value = column.current[rows]
    repeats = np.bincount(value)[value]
    frequency = np.maximum((repeats - 1) / max(len(rows) - 1, 1), UNSEEN / len(rows))
    floor = float(np.log(frequency).mean())
    # the most that groups can gain: they predict nothing where a value or a group has one row
    most = np.where(repeats > 1, -np.log(frequency), 0.0) / len(rows)
    forced = {table.position(name) for name in table.link_by}
    groups: dict[int, Grouping] = {}
    levels: dict[int, int] = {}
    known: Fits = context.memory.setdefault("fits", {})  # type: ignore[assignment]
    for k, other in enumerate(table.columns):
        levels[k] = other.levels()
        if k != j and 2 <= levels[k] <= MAX_GROUPS * n:
            groups[k] = other.keep("grouping", partial(Grouping.of, other, rows))
    possible = [k for k, g in groups.items() if k in forced or most[g.size > 1].sum() > MIN_GAIN - ROUNDING]
    new = [k for k in possible if known.get(k, (None,))[0] != (column.repairs, table.columns[k].repairs)]
    for k, found in zip(new, loo_log_likelihoods([groups[k] for k in new], value, frequency), strict=True):
        known[k] = (column.repairs, table.columns[k].repairs), found
    scored = [(known[k][1][0], -levels[k], k, known[k][1][1]) for k in possible]
    scored = sorted((each for each in scored if each[0] > floor + MIN_GAIN or each[2] in forced), reverse=True)
    chosen: list[tuple[tuple[int, ...], float]] = [((k,), kappa) for _, _, k, kappa in scored if k in forced]
    chosen += [((k,), kappa) for _, _, k, kappa in scored[:MAX_CONTEXTS] if k not in forced]
    if not scored or scored[0][0] > -MIN_PAIR_GAIN:  # nothing is left to gain
        return chosen
    best = [k for _, _, k, _ in scored[:PAIRED]]
    pairs = list(combinations(best, 2))
    # a column that says nothing alone may complete a key: exemptions by state and marital status
    others = [k for k in groups if k not in best and levels[k] <= PARTS * n]
    pairs += [(a, b) for a in best[:COMPLETED] for b in others]
    crossed = [groups[a].crossed(groups[b]) for a, b in pairs]
    fits = zip(loo_log_likelihoods(crossed, value, frequency), pairs, crossed, strict=True)
    for (fit, kappa), pair, both in sorted(fits, key=lambda each: each[:2], reverse=True):
        if fit <= scored[0][0] + MIN_PAIR_GAIN:
            break
        if pair[1] not in others or _is_key(both, value):
            chosen.append((pair, kappa))
            break
    return chosen


def _is_key(groups: Grouping, value: Codes) -> bool:
    """Whether nearly all rows are in large groups of one value each."""
    key = groups.codes * (int(value.max()) + 1) + value
    held, of = np.unique(key, return_inverse=True)
    leading = np.zeros(groups.number, dtype=np.int64)
    np.maximum.at(leading, held // (int(value.max()) + 1), np.bincount(of))
    large = groups.size > LARGE
    mixed = large & (leading[groups.codes] <= CLEAR * groups.size)
    return bool(large.mean() >= IN_LARGE and mixed.sum() <= MIXED_KEY * large.sum())


def fit(context: ColumnContext) -> list[Expert]:
    """Group experts of a column; the contexts are chosen in fresh passes and refitted in the others."""
    table, j = context.table, context.position
    if len(np.unique(table.columns[j].current)) < 2:
        return []
    if context.fresh or "groups" not in context.memory:
        context.memory["groups"] = choose_contexts(context)
    experts: list[Expert] = []
    for names, target in table.strict:
        if target == table.columns[j].name:
            at = tuple(table.position(name) for name in names)
            experts.append(Groups(table, j, at, SMOOTHING[0], strict=True))
    chosen: list[tuple[tuple[int, ...], float]] = context.memory["groups"]  # type: ignore[assignment]
    experts += [Groups(table, j, at, kappa) for at, kappa in chosen]
    return experts
