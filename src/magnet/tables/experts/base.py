"""Interface of an expert: the probability of a value given the context of a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from magnet.tables.coded import CodedTable, Codes, Floats
from magnet.tables.options import TableOptions


class Expert(Protocol):
    """One conditional distribution ``P(v | context of row i)`` over the values of a column.

    Every probability leaves the row itself out. The posterior mixes experts with weights found by EM on the
    leave-one-out likelihood; a ``strict`` expert (a dependency that holds in truth) replaces the mixture.
    """

    name: str
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
class FitContext:
    """What an expert is fitted on.

    Args:
        table: the coded table.
        position: which column is judged.
        options: the constants.
        memory: what the expert wants to keep for this column from one pass to the next.
        shared: values computed once per pass for all columns.
        fresh: whether contexts are chosen again in this pass.
    """

    table: CodedTable
    position: int
    options: TableOptions
    memory: dict[str, object] = field(default_factory=dict)
    fresh: bool = True
    shared: dict[str, object] = field(default_factory=dict)


Fit = Callable[[FitContext], list[Expert]]
