"""Interface of an expert, the probability of a value given the context of a row; and the two simplest experts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from magnet.arrays import Floats
from magnet.tables.coded import CodedColumn, CodedTable, Codes
from magnet.tables.experts.novelty import Novelty
from magnet.tables.options import FEW_ROWS
from magnet.tables.roles.patterns import UNIT_NUMBER, number


class Expert(Protocol):
    """One conditional distribution ``P(v | context of row i)`` over the values of a column.

    Every probability leaves the row itself out. The posterior mixes experts with weights found by EM on the
    leave-one-out likelihood; a ``strict`` expert (a dependency that holds in truth) replaces the mixture.
    """

    strict: bool

    def own(self) -> Floats:
        """Probability of each row's current value, ``[rows]``."""
        ...

    def probability(self, rows: Codes, codes: Codes) -> Floats:
        """Probability of the value ``codes[k]`` in row ``rows[k]``, ``[pairs]``."""
        ...

    def proposals(self) -> Codes:
        """Likely values of each row, ``[rows, any]``, padded with -1."""
        ...

    def evidence(self, row: int, code: int) -> str:
        """The evidence for the value in this row, as text."""
        ...


@dataclass(eq=False)
class ColumnContext:
    """A column of a table in one pass: what experts are fitted on and channels look at.

    Args:
        table: the coded table.
        position: which column is judged.
        memory: what is kept for this column from one pass to the next.
        fresh: whether contexts are chosen again in this pass.
    """

    table: CodedTable
    position: int
    memory: dict[str, object] = field(default_factory=dict)
    fresh: bool = True

    def __post_init__(self) -> None:
        self.column = self.table.columns[self.position]
        self.counts, self.read_counts = self.column.counts(), self.column.read_counts()

    @cached_property
    def novelty(self) -> Novelty:
        """The base measure of the column's values."""
        values = self.column.values
        held = {values[k]: int(self.counts[k]) for k in np.flatnonzero(self.counts).tolist()}
        return Novelty(held)

    def suspects(self) -> list[int]:
        """Codes of the texts that were read, without blanks and without the numbers of a column of numbers."""
        values, role = self.column.values, self.column.role
        read = [k for k in np.flatnonzero(self.read_counts).tolist() if values[k]]
        if not role.arithmetic:
            return read
        read = [k for k in read if number(values[k]) is None]
        if role.name != "unit":
            return read
        units = {k: (m["before"], m["after"]) for k in read if (m := UNIT_NUMBER.fullmatch(values[k]))}
        texts = Counter(units.values())  # with the same unit
        return [k for k in read if k not in units or texts[units[k]] < FEW_ROWS]


Fit = Callable[[ColumnContext], list[Expert]]


class Frequency:
    r"""Leave-one-out column frequency.

    .. math:: F_{-i}(v) = \frac{n_v - [w_i = v]}{n - 1}

    where :math:`w_i` is the current value of row i.
    """

    def __init__(self, column: CodedColumn) -> None:
        self._current, self._counts, self._values = column.current, column.counts(), column.values
        self._others = max(len(column.current) - 1, 1)

    def own(self) -> Floats:
        return (self._counts[self._current] - 1) / self._others

    def probability(self, rows: Codes, codes: Codes) -> Floats:
        known = codes < len(self._counts)
        held = np.where(known, self._counts[np.where(known, codes, 0)], 0)
        return (held - (self._current[rows] == codes)) / self._others

    def evidence(self, row: int, code: int) -> str:
        count = int(self._counts[code]) if code < len(self._counts) else 0
        return f"{count} rows have {self._values[code]!r}" if count else f"{self._values[code]!r} fits the column"


class Point:
    r"""All probability on one predicted value: :math:`P(v \mid i) = [v = t_i]`.

    Args:
        column: the column.
        predicted: code of the predicted value per row, -1 for none.
        reason: the evidence, with ``{value}`` for the predicted text.
        doubtful: the prediction is made of other cells of the row, which may be wrong themselves.
    """

    strict = False

    def __init__(self, column: CodedColumn, predicted: Codes, reason: str, doubtful: bool = False) -> None:
        self.predicted, self.doubtful = predicted, doubtful
        self._column, self._current, self._reason = column, column.current, reason

    def own(self) -> Floats:
        return (self.predicted == self._current).astype(np.float64)

    def probability(self, rows: Codes, codes: Codes) -> Floats:
        return (self.predicted[rows] == codes).astype(np.float64)

    def proposals(self) -> Codes:
        return self.predicted[:, None]

    def evidence(self, row: int, code: int) -> str:
        return self._reason.replace("{value}", repr(self._column.values[code]))
