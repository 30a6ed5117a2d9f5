"""Roles of columns: an ordered registry of tests, the first that holds decides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from magnet.tables.roles.base import Role
from magnet.tables.roles.dates import parse_moment
from magnet.tables.roles.patterns import PHONE, UNIT_NUMBER, blank, disguised_blank, number

if TYPE_CHECKING:
    from magnet.tables.coded import CodedColumn, CodedTable

MOST = 0.7  # share of filled cells that must agree with a role; leaves room for the 25 % errors of rate_cap
FEW_UNITS = 12  # writings of a unit in one column; more are words, as in addresses
LABEL = re.compile(
    r"(^|[^a-z])(id|code|no|nr|num|number|zip|zipcode|fips|phone|fax|index|key|year|postal|issn|isbn)($|[^a-z])"
    r"|(id|code|zip|fips|phone|year|issn|isbn)$",
    re.I,
)
WHOLE = re.compile(r"-?\d+|-?\d(?:\.\d+)?E\+\d{2}")  # spreadsheets write long whole numbers with an exponent
PHONE_NAME = re.compile(r"phone|fax|tel($|[^a-z])|mobile", re.I)


@dataclass(frozen=True)
class Profile:
    """What the tests look at: the filled distinct values of a column with their counts."""

    column: CodedColumn
    table: CodedTable
    values: list[str]
    counts: np.ndarray
    filled: int

    def share(self, test: Callable[[str], bool]) -> float:
        """Share of filled cells whose text passes a test."""
        hit = np.fromiter((test(v) for v in self.values), dtype=bool, count=len(self.values))
        return float(self.counts[hit].sum()) / max(self.filled, 1)


def profile(column: CodedColumn, table: CodedTable) -> Profile:
    counts = column.read_counts()
    keep = [k for k in np.flatnonzero(counts) if not blank(column.values[k]) and not disguised_blank(column.values[k])]
    kept = counts[keep] if keep else np.zeros(0, dtype=np.int64)
    return Profile(column, table, [column.values[k] for k in keep], kept, int(kept.sum()))


def _empty(p: Profile) -> Role | None:
    return Role("empty", "every cell is blank") if p.filled == 0 else None


def _constant(p: Profile) -> Role | None:
    return Role("constant", f"every filled cell says {p.values[0]!r}") if len(p.values) == 1 else None


def _phone(p: Profile) -> Role | None:
    def dialed(text: str) -> bool:
        return PHONE.fullmatch(text.strip()) is not None and (
            not text.strip().isdigit() or (named and len(text.strip()) in (10, 11))
        )

    named = bool(PHONE_NAME.search(p.column.name))
    share = p.share(dialed)
    return Role("phone", f"{share:.0%} of the filled cells are written like phones") if share >= MOST else None


def _moment(p: Profile) -> Role | None:
    dates = p.share(lambda v: (m := parse_moment(v) or parse_moment(v, True)) is not None and m[0].date is not None)
    times = p.share(lambda v: (m := parse_moment(v)) is not None and m[0].date is None)
    if dates + times < 0.5:
        return None
    name = "date" if dates >= times else "time"
    return Role(name, f"{dates + times:.0%} of the filled cells are dates or times")


def _numeric(p: Profile) -> Role | None:
    numbers = [(v, c) for v, c in zip(p.values, p.counts, strict=True) if number(v) is not None]
    held = sum(int(c) for _, c in numbers)
    if held < MOST * p.filled:
        return None
    whole = all(WHOLE.fullmatch(v.strip()) for v, _ in numbers)
    lengths = np.bincount([len(v.strip()) for v, _ in numbers], weights=[c for _, c in numbers])
    width, fixed = int(lengths.argmax()), bool(lengths.max() >= 0.85 * p.filled)
    fixed &= not _runs_on(numbers, width)
    zeros = any(len(v) > 1 and v[0] == "0" and v.isdigit() for v, _ in numbers)
    named = bool(LABEL.search(re.sub(r"\(.*?\)", "", p.column.name)))
    label = whole and len(numbers) > 2 and (named or zeros or _running(p) or _labels_text(p))
    unique = len(p.values) > 0.95 * p.filled
    if whole and unique and (fixed or label) and not any(v.startswith("-") for v, _ in numbers):
        return Role("identifier", "whole numbers that hardly repeat and are written alike")
    if label or (whole and fixed and width >= 5 and not any(v.startswith("-") for v, _ in numbers)):
        return Role("code", f"whole numbers that name something, mostly {width} digits")
    return Role("quantity", f"{held / p.filled:.0%} of the filled cells are numbers")


def _runs_on(numbers: list[tuple[str, int]], width: int) -> bool:
    """Whether numbers of other lengths continue those of the usual length: 98,000 beside 104,000 and 9,700.

    Sizes run across the border between lengths; labels do not, and a dropped or doubled digit leads to any number.
    """
    low, high = 10.0 ** (width - 1), 10.0**width
    sizes = [(abs(x), c) for v, c in numbers if (x := number(v)) is not None]
    above, below = sum(c for x, c in sizes if x >= high), sum(c for x, c in sizes if x < low)
    near = sum(c for x, c in sizes if low / 2 <= x < low or high <= x < 2 * high)
    by_chance = above / 9 + 5 * below / 9  # of numbers of one digit more or less
    return bool(near > by_chance + 3 * np.sqrt(by_chance) + 2)


def _running(p: Profile) -> bool:
    """Whether most rows hold the number of the row before plus one."""
    numbers = np.array([x if (x := number(v)) is not None else np.nan for v in p.column.values])
    rows = numbers[p.column.read]
    steps = np.diff(rows[np.isfinite(rows)])
    return len(steps) > 10 and float((steps == 1).mean()) > 0.8


def _labels_text(p: Profile) -> bool:
    """Whether a text column determines these whole numbers: then they are labels of its values."""
    column = p.column
    for other in p.table.columns:
        if other is column or len(other.values) < 10:
            continue
        counts = other.read_counts()
        if sum(number(v) is not None for v in other.values[:200]) > 0.5 * min(len(other.values), 200):
            continue
        big = counts[other.read] > 1
        if big.sum() < 0.3 * len(big) or (counts > 1).sum() < 10:
            continue
        keys = other.read[big] * len(column.values) + column.read[big]
        pairs, sizes = np.unique(keys, return_counts=True)
        leading = np.zeros(len(other.values), dtype=np.int64)
        np.maximum.at(leading, pairs // len(column.values), sizes)
        if leading.sum() > 0.9 * big.sum():
            return True
    return False


def _unit(p: Profile) -> Role | None:
    units: Counter[str] = Counter()
    for v, c in zip(p.values, p.counts, strict=True):
        match = UNIT_NUMBER.fullmatch(v)
        if match and (match["before"] or match["after"]):
            units[(match["before"] or match["after"]).strip()] += int(c)
    share = sum(c for _, c in units.most_common(FEW_UNITS)) / p.filled
    if share < MOST:
        return None
    shown = ", ".join(repr(u) for u, _ in units.most_common(3))
    return Role("unit", f"{share:.0%} of the filled cells are numbers with a unit ({shown})")


def _words(p: Profile) -> Role:
    distinct = len(p.values)
    if distinct > 0.95 * p.filled and np.mean([len(v.split()) for v in p.values]) < 1.5:
        return Role("identifier", "single words that hardly repeat")
    if distinct <= 0.5 * p.filled:
        return Role("category", f"{distinct} different texts in {p.filled} filled cells")
    return Role("text", f"{distinct} different texts in {p.filled} filled cells")


TESTS: tuple[Callable[[Profile], Role | None], ...] = (_empty, _constant, _phone, _moment, _numeric, _unit, _words)


def infer_role(column: CodedColumn, table: CodedTable) -> Role:
    """The role of a column: the first test of the registry that holds."""
    p = profile(column, table)
    for test in TESTS:
        role = test(p)
        if role is not None:
            return role
    raise AssertionError("the last test always answers")
