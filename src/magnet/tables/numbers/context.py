"""What a number is predicted from: its row, rows with the same category, linked rows, and rows before and after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from magnet.arrays import Bools, Floats, Ints
from magnet.tables.options import MAX_LEVELS

CUT = 5.0  # spreads; farther values count like this one, so that one wrong cell cannot bend the others
MAX_SQUARE = 9.0  # that of a value three spreads out
MAX_OTHERS = 40  # columns of the row, and as many of the linked rows, that one column is predicted from
MAX_RELATED = 16  # groups and orders of rows that one column is compared with; all tables of the benchmark have fewer
MIN_LEVEL_ROWS = 5  # rows of a level that gets a column of its own in the regression (not swept)
LINK_SHRINK = 0.5  # linked rows at the column's mean that every row has besides its own
EXTREME, MIN_EXTREME, EXTREME_SHARE = 3.0, 3, 0.25  # spreads, cells and share of cells that make a row extreme
CORRELATED_ROWS = 5_000  # rows by which correlated columns are found, up to twice as many
SIDE_ROWS = 3  # rows before, or after, whose median a value may share at a step of a series: a spike is shorter
GROUP_SHRINK = 1.0  # rows at the column's mean that every group has besides its own


@dataclass(frozen=True, eq=False)
class Category:
    """A column whose equal values make groups of rows: ``codes`` ``[n]``, 0..levels-1."""

    name: str
    codes: Ints

    @property
    def levels(self) -> int:
        return int(self.codes.max(initial=-1)) + 1


@dataclass(eq=False)
class Context:
    """Everything that can predict a column, on the common scale.

    Args:
        cells: values ``[n, q]``, clipped, 0 where unknown; doubted cells hold their prediction.
        whole: the same, not clipped; for the rows that are extreme as a whole.
        known: bool ``[n, q]``: cells that count in means over other rows.
        unsure: by how much a cell may be off ``[n, q]``: 0 where it is known, else the spread of its prediction; kept
            as variances.
        categories: grouping columns.
        links: sparse ``[n, n]`` matrix of weights, or None.
        orders: ``(name, permutation)``: orders of the rows in which values may change smoothly.
        names: of the columns; none is predicted from groups or an order that it makes itself.
    """

    cells: Floats
    whole: InitVar[Floats]
    known: Bools
    unsure: InitVar[Floats]
    categories: Sequence[Category] = ()
    links: sp.csr_matrix | None = None
    orders: Sequence[tuple[str, Ints]] = ()
    names: Sequence[str] = ()
    near: Floats | None = field(default=None, init=False)
    far: Floats | None = field(default=None, init=False)

    def __post_init__(self, whole: Floats, unsure: Floats) -> None:
        extreme = (np.abs(whole) > EXTREME).sum(axis=1)
        several = (extreme >= MIN_EXTREME) & (extreme >= EXTREME_SHARE * whole.shape[1])
        self.extreme_rows = np.flatnonzero((whole != self.cells).any(axis=1) & several)
        self.excess = (whole - self.cells)[self.extreme_rows]
        self.variance = np.square(unsure)
        if self.links is not None:
            self.near, self.far = link_means(self.links, self.cells, self.known)

    def blocks(self, j: int, orders: bool = True) -> list[str]:
        """Names of the blocks of features that column j can be predicted from, maybe without the orders of rows. Of
        more than :data:`MAX_RELATED` groups and orders, those whose means leave the least variance."""
        me = self.names[j] if self.names else None
        out = ["row", "squares"] if self.cells.shape[1] > 1 else []
        if self.near is not None:
            out += ["links", "linked rows"] if out else ["links"]
        related = [f"order:{name}" for name, _ in self.orders if orders and name != me]
        related += [f"group:{category.name}" for category in self.categories if category.name != me]
        if len(related) > MAX_RELATED:
            nearest = sorted(related, key=lambda name: self._left_by[name][j])[:MAX_RELATED]
            related = [name for name in related if name in nearest]
        return out + related

    @cached_property
    def _left_by(self) -> dict[str, Floats]:
        """Sums of the squared differences ``[q]`` of the cells from the means of the other rows of their group, or of
        the rows next to them in an order."""
        columns = self.cells.shape[1]
        out = {f"order:{name}": np.zeros(columns) for name, _ in self.orders}
        out |= {f"group:{category.name}": np.zeros(columns) for category in self.categories}
        for j in range(columns):
            known, cells = self.known[:, j], np.where(self.known[:, j], self.cells[:, j], 0.0)
            for name, order in self.orders:
                out[f"order:{name}"][j] = np.square(cells - order_means(order, cells, known)[:, 0])[known].sum()
            for category in self.categories:
                means = group_means(category.codes, cells, known)
                out[f"group:{category.name}"][j] = np.square(cells - means)[known].sum()
        return out

    def block(self, j: int, name: str) -> Callable[[Ints], Floats]:
        """A block of features of column j, as a function from rows to their features ``[rows, p]``."""
        kind, _, what = name.partition(":")
        if kind == "links":
            return lambda rows: np.column_stack([self.near[rows, j], self.far[rows, j]])  # type: ignore[index]
        if kind in ("row", "squares", "linked rows"):
            others = self.related(j)
            source = self.near if kind == "linked rows" else self.cells
            if kind == "squares":
                return lambda rows: np.minimum(np.square(self.cells[np.ix_(rows, others)]), MAX_SQUARE)
            return lambda rows: source[np.ix_(rows, others)]  # type: ignore[index]
        own, there = np.where(self.known[:, j], self.cells[:, j], 0.0), self.known[:, j]
        if kind == "order":
            parts = order_means(next(order for each, order in self.orders if each == what), own, there)
            return lambda rows: parts[rows]
        category = next(c for c in self.categories if c.name == what)
        if category.levels > MAX_LEVELS:
            means = group_means(category.codes, own, there)[:, None]
            return lambda rows: means[rows]
        levels = np.flatnonzero(np.bincount(category.codes) >= MIN_LEVEL_ROWS)
        return lambda rows: (category.codes[rows, None] == levels).astype(float)

    def sides(self, j: int, y: Floats, blocks: Sequence[str]) -> Floats:
        """The :func:`order_sides` of column j in the orders among some blocks ``[n, any]``."""
        orders = [order for name, order in self.orders if f"order:{name}" in blocks]
        return np.column_stack([np.empty((len(y), 0)), *(order_sides(o, y, self.known[:, j]) for o in orders)])

    def related(self, j: int) -> Ints:
        """The columns most correlated with column j, other than itself."""
        others = np.delete(np.arange(self.cells.shape[1]), j)
        if others.size <= MAX_OTHERS:
            return others
        return most_correlated(self._standardized, slice(j, j + 1))

    @cached_property
    def _standardized(self) -> Floats:
        return unit_columns(self.cells[:: max(1, len(self.cells) // CORRELATED_ROWS)])


def unit_columns(x: Floats) -> Floats:
    """Columns without their mean and of length 1, so that products are correlations; constant ones are 0."""
    centered = x - x.mean(axis=0)
    norm = np.linalg.norm(centered, axis=0)
    norm[norm == 0] = np.inf
    return np.asarray(centered / norm)


def most_correlated(x: Floats, own: slice) -> Ints:
    """The :data:`MAX_OTHERS` of the :func:`unit_columns` that correlate most with one of the columns ``own``.

    Example:
        >>> most_correlated(unit_columns(np.array([[1.0, 5.0, 2.0], [2.0, 4.0, 2.0]])), slice(0, 1))
        array([1, 2])
    """
    correlation = np.abs(x.T @ x[:, own]).max(axis=1)
    correlation[own] = -1
    return np.sort(np.argsort(-correlation, kind="stable")[: min(MAX_OTHERS, x.shape[1] - (own.stop - own.start))])


def link_means(links: sp.csr_matrix, value: Floats, known: Bools) -> tuple[Floats, Floats]:
    """Means over linked rows and over rows two links away, neither with the row itself ``[n, q]`` each.

    Example:
        >>> path = sp.csr_matrix(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=float))
        >>> near, far = link_means(path, np.array([[3.0], [0.0], [9.0]]), np.ones((3, 1), dtype=bool))
        >>> float(near[1, 0]), round(float(far[0, 0]), 2)  # with half a row at the mean, 4
        (5.6, 7.33)
    """
    back = np.asarray(links.multiply(links.T).sum(axis=1)).ravel()
    near, far = np.empty(value.shape), np.empty(value.shape)
    counted = np.full(len(value), np.nan)
    for k in range(value.shape[1]):  # a column at a time: a large table has a dozen arrays of its size already
        there = known[:, k].astype(float)
        if not np.array_equal(there, counted):  # most columns are known in the same rows
            counted, one = there, links @ there
            two = np.maximum(links @ one - back * there, 0.0)
        v = np.where(known[:, k], value[:, k], 0.0)
        extra = LINK_SHRINK * (v.sum() / max(float(counted.sum()), 1.0))
        sums = links @ v
        near[:, k] = (sums + extra) / (one + LINK_SHRINK)
        far[:, k] = (links @ sums - back * v + extra) / (two + LINK_SHRINK)
    return near, far


def group_means(codes: Ints, value: Floats, known: Bools) -> Floats:
    """Mean of the other rows of the same group ``[n]``, shrunk to the mean of the column.

    Example:
        >>> group_means(np.array([0, 0, 1]), np.array([2.0, 4.0, 0.0]), np.array([True, True, True]))
        array([3., 2., 2.])
    """
    counted = known.astype(float)
    mean = float((value * counted).sum() / max(counted.sum(), 1))
    total = np.bincount(codes, weights=value * counted)[codes] - value * counted
    count = np.bincount(codes, weights=counted)[codes] - counted
    return np.asarray((total + GROUP_SHRINK * mean) / (count + GROUP_SHRINK))


def order_means(order: Ints, value: Floats, known: Bools) -> Floats:
    """Means of the rows one step, and two steps, before and after in an order of the rows ``[n, 2]``; where neither of
    the two is known, of the nearest ones that are.

    Example:
        >>> known = np.array([1, 0, 1, 0, 1], dtype=bool)
        >>> order_means(np.arange(5), np.array([1.0, 0.0, 3.0, 0.0, 5.0]), known)[:, 0].tolist()
        [3.0, 2.0, 3.0, 4.0, 3.0]
    """
    n, there = order.size, known[order]
    v, k = np.pad(value[order], 2), np.pad(there.astype(float), 2)
    # the ends stand for rows that do not exist
    filled = np.concatenate([[0.0], value[order][there], [0.0]])
    before: Ints = np.cumsum(there) - there
    after = np.minimum(before + there + 1, filled.size - 1)
    ends = np.add(before > 0, after < filled.size - 1, dtype=np.float64)
    nearest = (filled[before] + filled[after]) / np.maximum(ends, 1)
    nearest[ends == 0] = filled.sum() / max(filled.size - 2, 1)
    out = np.empty((n, 2))
    for step in (1, 2):
        total = v[2 - step : n + 2 - step] + v[2 + step : n + 2 + step]
        count = k[2 - step : n + 2 - step] + k[2 + step : n + 2 + step]
        out[order, step - 1] = np.where(count > 0, total / np.maximum(count, 1), nearest)
    return out


def order_sides(order: Ints, value: Floats, known: Bools) -> Floats:
    """Medians of the three nearest known rows before, and after, in an order of the rows; and where these three
    continue to ``[n, 4]``. At the ends the medians are where three rows on the other side continue to.

    Example:
        >>> sides = order_sides(np.arange(8), np.array([1.0, 1, 1, 9, 9, 9, 10, 11]), np.ones(8, dtype=bool))
        >>> sides[3].tolist(), sides[7].tolist()
        ([1.0, 9.0, 1.0, 9.0], [9.0, 11.0, 9.0, 11.0])
    """
    n, there = order.size, known[order]
    filled = value[order][there]
    if filled.size < 2 * SIDE_ROWS:
        return np.full((n, 4), np.nan)
    medians = np.median(np.lib.stride_tricks.sliding_window_view(filled, SIDE_ROWS), axis=1)
    place: Ints = np.cumsum(there) - there
    before, after = place - SIDE_ROWS, place + there
    start, end = np.maximum(before, 0), np.minimum(after, medians.size - 1)
    last, next_ = start + SIDE_ROWS - 1, end + SIDE_ROWS - 1
    first, final = before < 0, after > end
    # of the two steps of a side the smaller one, 0 if they point apart: one wrong value is no trend
    steps = np.diff(filled)
    trend = np.minimum(np.abs(steps[:-1]), np.abs(steps[1:])) * (np.sign(steps[:-1]) + np.sign(steps[1:])) / 2
    out = np.empty((n, 4))
    out[order, 0] = np.where(first, 2 * filled[end] - filled[next_], medians[start])
    out[order, 1] = np.where(final, 2 * filled[last] - filled[start], medians[end])
    out[order, 2] = out[order, 0] + np.where(first, 0.0, 2 * trend[start])
    out[order, 3] = out[order, 1] - np.where(final, 0.0, 2 * trend[end])
    return out
