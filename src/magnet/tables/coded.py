"""A table of texts, every column stored as its distinct values and one code per row.

All judging works on distinct values and on groups of rows, so the cost follows the number of distinct values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import scipy.sparse as sp

from magnet.arrays import Bools, Floats, Ints
from magnet.tables.roles.base import ROLES, Role
from magnet.tables.roles.patterns import blank, decimal_commas, exchange_marks

Codes = Ints
DENSE = 16  # keys per row up to which counting in an array takes less time than renumbering them
K = TypeVar("K")


@dataclass(eq=False)
class CodedColumn:
    """One column: the vocabulary and, for every row, the code of its text.

    Args:
        name: the header.
        role: what the column holds.
        values: distinct texts; texts that are only suggested are appended.
        index: text to code.
        observed: codes of the texts in the file.
        read: codes after rewrites (units, formats, disguised blanks), which the channels take as observed.
        current: codes of the repaired column, which the contexts use.
        commas: the file has decimal commas in this column; all texts here have points instead.
        repairs: how often the repaired column has changed.
    """

    name: str
    role: Role
    values: list[str]
    index: dict[str, int]
    observed: Codes
    read: Codes
    current: Codes
    commas: bool = False
    repairs: int = 0
    _kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)
    _filled: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool), init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_kept": {}}

    def rewrite(self, row: int, text: str) -> None:
        """Replace a text as read."""
        self.read[row] = self.current[row] = self.code(text)
        self._kept.clear()

    def repair(self, current: Codes) -> None:
        """Replace the codes of the repaired column."""
        if not np.array_equal(current, self.current):
            self.current = current
            self.repairs += 1
            self._kept.clear()

    def keep(self, key: Any, compute: Callable[[], K]) -> K:
        """What ``compute`` makes of the repaired column, computed once for all columns that ask for it."""
        if key not in self._kept:
            self._kept[key] = compute()
        return self._kept[key]

    @classmethod
    def of(cls, name: str, texts: Sequence[str]) -> CodedColumn:
        codes, values = pd.factorize(np.asarray(texts, dtype=object))
        codes = codes.astype(np.int64)
        words = [str(v) for v in values]
        commas = decimal_commas(dict(zip(words, np.bincount(codes, minlength=len(words)).tolist(), strict=True)))
        if commas:
            words = [exchange_marks(v) for v in words]
        index = {v: k for k, v in enumerate(words)}
        return cls(name, Role("text"), words, index, codes, codes.copy(), codes.copy(), commas)

    def as_in_file(self, text: str) -> str:
        """A text of this column as the file writes it."""
        return exchange_marks(text) if self.commas else text

    def code(self, text: str) -> int:
        """The code of a text, which joins the vocabulary if it is new."""
        known = self.index.get(text)
        if known is None:
            known = self.index[text] = len(self.values)
            self.values.append(text)
        return known

    def counts(self) -> Codes:
        """How often each value occurs in the repaired column."""
        return np.bincount(self.current, minlength=len(self.values)).astype(np.int64)

    def read_counts(self) -> Codes:
        """How often each value occurs in the column as read."""
        return np.bincount(self.read, minlength=len(self.values)).astype(np.int64)

    def levels(self) -> int:
        """How many different values the repaired column has."""
        return self.keep("levels", lambda: int(np.count_nonzero(np.bincount(self.current))))

    def texts(self, repaired: bool = False) -> Texts:
        """The distinct filled texts of the column as read, or of the repaired column."""
        counts = self.counts() if repaired else self.read_counts()
        return Texts(self, counts, np.flatnonzero((counts > 0) & self.filled()).tolist())

    def filled(self) -> Bools:
        """Which values are not blank ``[values]``."""
        filled = self._filled
        if len(filled) < len(self.values):  # values are only appended
            filled = self._filled = np.append(filled, [not blank(value) for value in self.values[len(filled) :]])
        return filled

    def blanks(self, codes: Codes) -> Bools:
        """Which rows are blank, for codes of the rows (``read`` or ``current``)."""
        return ~self.filled()[codes]

    @property
    def blank(self) -> int:
        """The code of the empty text, -1 if it does not occur."""
        return self.index.get("", -1)

    def rows_by_value(self) -> tuple[Codes, Codes]:
        """Rows sorted by the value read, and where each value's rows start (length: vocabulary + 1)."""
        order = np.argsort(self.read, kind="stable")
        starts = np.zeros(len(self.values) + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.read, minlength=len(self.values)), out=starts[1:])
        return order, starts


@dataclass(frozen=True, eq=False)
class Texts:
    """Distinct texts of a column with the number of rows that hold each; iterates over ``(code, text, rows)``.

    Args:
        column: the column.
        counts: rows by code, for the whole vocabulary.
        codes: the codes of these texts.
    """

    column: CodedColumn
    counts: Codes
    codes: list[int]

    def __iter__(self) -> Iterator[tuple[int, str, int]]:
        values = self.column.values
        return ((k, values[k], n) for k, n in zip(self.codes, self.counts[self.codes].tolist(), strict=True))

    @cached_property
    def total(self) -> int:
        """Rows that hold one of these texts."""
        return self.rows(self.codes)

    def rows(self, codes: Iterable[int]) -> int:
        """Rows that hold one of these values."""
        return int(self.counts[[*codes]].sum())

    def tally(self, key: Callable[[str], K]) -> Counter[K]:
        """Rows by what ``key`` makes of their text."""
        return self.tally_codes({k: key(text) for k, text, _ in self})

    def tally_codes(self, labels: Mapping[int, K]) -> Counter[K]:
        """Rows by the label of their value, for the labels of some codes."""
        out: Counter[K] = Counter()
        for code, label in labels.items():
            out[label] += int(self.counts[code])
        return out

    def matching(self, *patterns: re.Pattern[str]) -> dict[int, re.Match[str]]:
        """Matches of the texts that, without white space around them, match one of the patterns."""
        values, found = self.column.values, dict[int, re.Match[str]]()
        tests = [pattern.fullmatch for pattern in patterns]
        for k in self.codes:
            text = values[k].strip()
            for test in tests:
                if match := test(text):
                    found[k] = match
                    break
        return found

    def only(self, test: Callable[[str], bool]) -> Texts:
        """Those that pass a test."""
        values = self.column.values
        return Texts(self.column, self.counts, [k for k in self.codes if test(values[k])])

    def at_least(self, share: float, test: Callable[[str], bool]) -> Texts | None:
        """Those that pass a test; None, as soon as that is certain, if fewer than this share of the rows hold one."""
        codes, values, possible = [], self.column.values, self.total
        for k, rows in zip(self.codes, self.counts[self.codes].tolist(), strict=True):
            if test(values[k]):
                codes.append(k)
            else:
                possible -= rows
                if possible < share * self.total:
                    return None
        return Texts(self.column, self.counts, codes)

    def without(self, codes: Collection[int]) -> Texts:
        """All but some."""
        return Texts(self.column, self.counts, [k for k in self.codes if k not in codes])


@dataclass(eq=False)
class CodedTable:
    """A table of coded columns.

    Args:
        columns: the columns.
        links: sparse matrix of rows, or None.
        link_by: names of columns whose equal values link rows.
        strict: ``(determining columns, column)``: dependencies that hold in truth, from rules.
        skip: names of columns that are not judged.
        not_judged: columns that were left alone, and why; filled by the tests.
        trusted: bool ``[rows, columns]``, cells that are right.
        seed: of samples of rows.
        shared: what one test leaves for another.
        fill: whether every blank is to get a suggestion.
        cluster: the Ray cluster whose tasks the columns are, see :func:`magnet.cluster.connected`; None for none.
    """

    columns: list[CodedColumn]
    links: object | None = None
    link_by: tuple[str, ...] = ()
    strict: tuple[tuple[tuple[str, ...], str], ...] = ()
    skip: frozenset[str] = field(default_factory=frozenset)
    not_judged: dict[str, str] = field(default_factory=dict)
    trusted: Bools | None = None
    seed: int = 0
    shared: dict[str, Floats] = field(default_factory=dict)
    fill: bool = False
    cluster: str | None = None

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[str]], **given: Any) -> CodedTable:
        return cls([CodedColumn.of(name, texts) for name, texts in columns.items()], **given)

    @property
    def num_rows(self) -> int:
        return len(self.columns[0].read) if self.columns else 0

    @cached_property
    def voters(self) -> sp.csr_array | None:
        """The links without those of a row to itself."""
        if self.links is None:
            return None
        links = sp.csr_array(self.links, dtype=np.float64).tocoo()
        kept = (links.row != links.col) & (links.data != 0)
        return sp.csr_array((links.data[kept], (links.row[kept], links.col[kept])), shape=links.shape)

    def judged(self, roles: Collection[str] = ROLES) -> Iterator[tuple[int, CodedColumn]]:
        """Positions and columns of some roles, without those that are left out or empty."""
        for j, column in enumerate(self.columns):
            if column.name not in self.skip and column.role.name in roles and column.role.name != "empty":
                yield j, column

    def position(self, name: str) -> int:
        for j, column in enumerate(self.columns):
            if column.name == name:
                return j
        raise KeyError(f"no column {name!r}; the table has {', '.join(repr(c.name) for c in self.columns)}")


def distinct(codes: Codes) -> tuple[Codes, int]:
    """Codes renumbered 0..count-1 in order of appearance, and how many there are."""
    new, values = pd.factorize(codes)
    return new.astype(np.int64), len(values)


def row_counts(key: Codes, keys: int) -> Codes:
    """For each row, how many rows have its key.

    Args:
        key: of each row, 0..keys-1.
        keys: how many there may be; where that is many times the number of rows, they are renumbered.

    Example:
        >>> row_counts(np.array([2, 0, 2]), 3)
        array([2, 1, 2])
    """
    if keys > DENSE * len(key):
        key = distinct(key)[0]
    return np.bincount(key)[key]


def ordered_pairs(counts: Floats | Codes) -> float:
    """Ordered pairs of different rows of the same kind, for the numbers of rows of each kind."""
    counts = counts.astype(np.float64)
    return float((counts * (counts - 1)).sum())


def joint(a: Codes, b: Codes) -> Codes:
    """One code per pair of codes."""
    return distinct(a * (int(b.max(initial=0)) + 1) + b)[0]
