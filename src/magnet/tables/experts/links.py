"""The values of linked rows."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from magnet.tables.coded import CodedColumn
from magnet.tables.experts.base import ColumnContext, Expert, Frequency
from magnet.tables.experts.groups import MIN_GAIN, SMOOTHING, Votes

TINY = 1e-9  # probability of a value that occurs nowhere else


class Links(Votes):
    """Votes of the linked rows, weighted by their links; uninformative edges do not predict, so EM leaves this
    expert without weight."""

    votes_itself = False
    voters = "linked rows"

    def __init__(self, column: CodedColumn, links: sp.csr_array, kappa: float) -> None:
        n, width = len(column.current), len(column.values)
        hot = sp.csr_array((np.ones(n), column.current, np.arange(n + 1)), shape=(n, width))
        votes = sp.csr_array(links @ hot)
        votes.sort_indices()
        keys = np.repeat(np.arange(n), np.diff(votes.indptr)) * (width + 1) + votes.indices
        super().__init__(column, np.arange(n), keys, votes.data, np.asarray(links.sum(axis=1)).ravel(), kappa)

    def evidence(self, row: int, code: int) -> str:
        votes = self._count(np.array([row]), np.array([code]))[0]
        return f"{votes:g} of {self._size[row]:g} {self.voters} have {self._column.values[code]!r}"


def fit(context: ColumnContext) -> list[Expert]:
    """One expert if the table has links and linked rows predict better than column frequency, by the
    same gain per row that a group needs; a row is never linked to itself."""
    column = context.column
    links = context.table.voters
    if links is None or column.role.name == "identifier" or context.memory.get("unlike_links") == column.repairs:
        return []
    expert, filled = Links(column, links, SMOOTHING[1]), column.current != column.blank
    if not filled.any():
        return []
    gain = np.log(np.maximum(expert.own(), TINY)) - np.log(np.maximum(Frequency(column).own(), TINY))
    if float(gain[filled].mean()) > MIN_GAIN:
        return [expert]
    context.memory["unlike_links"] = column.repairs  # the same in the next pass, unless the column is repaired
    return []
