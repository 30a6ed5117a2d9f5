"""Rows that the user says belong together: the values of linked rows."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from magnet.tables.coded import CodedColumn, Codes, Floats
from magnet.tables.experts.base import Expert, FitContext
from magnet.tables.experts.frequency import Frequency
from magnet.tables.experts.groups import CLEAR, LARGE, TOP

TINY = 1e-9  # probability of a value that occurs nowhere else


class Links:
    r"""The values of the linked rows, smoothed to column frequency.

    .. math:: P(v \mid i) = \frac{\sum_k A_{ik} [w_k = v] + \kappa F_{-i}(v)}{\sum_k A_{ik} + \kappa}

    Edges that mean nothing predict nothing, so EM leaves this expert without weight.
    """

    name, strict = "links", False

    def __init__(self, column: CodedColumn, links: sp.csr_array, kappa: float) -> None:
        n, width = len(column.current), len(column.values)
        hot = sp.csr_array((np.ones(n), (np.arange(n), column.current)), shape=(n, width))
        self._votes = sp.csr_array(links @ hot)
        self._votes.sort_indices()
        self._degree = np.asarray(links.sum(axis=1)).ravel()
        self._frequency, self._kappa, self._column, self._width = Frequency(column), kappa, column, width
        self._keys = np.repeat(np.arange(n), np.diff(self._votes.indptr)) * (width + 1) + self._votes.indices

    def _vote(self, rows: Codes, codes: Codes) -> Floats:
        if not len(self._keys):
            return np.zeros(len(rows))
        keys = rows * (self._width + 1) + np.minimum(codes, self._width)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self._votes.data[at], 0.0)

    def probability(self, rows: Codes, codes: Codes) -> Floats:
        prior = self._kappa * self._frequency.probability(rows, codes)
        return (self._vote(rows, codes) + prior) / (self._degree[rows] + self._kappa)

    def own(self) -> Floats:
        return self.probability(np.arange(len(self._column.current)), self._column.current)

    def proposals(self) -> Codes:
        n = len(self._degree)
        row = self._keys // (self._width + 1)
        order = np.lexsort((-self._votes.data, row))
        rank = np.arange(len(order)) - self._votes.indptr[row[order]]
        out = np.full((n, TOP), -1, dtype=np.int64)
        keep = rank < TOP
        out[row[order][keep], rank[keep]] = self._votes.indices[order][keep]
        return out

    def agreement(self) -> tuple[Codes, Floats, float]:
        """The value that nearly all of several linked rows say (-1: none); how exceptions fall is not known."""
        leader = self.proposals()[:, 0]
        rows = np.arange(len(leader))
        votes = self._vote(rows, np.maximum(leader, 0))
        clear = (leader >= 0) & (votes > CLEAR * self._degree) & (self._degree > LARGE)
        return np.where(clear, leader, -1), votes, 0.0

    def evidence(self, row: int, code: int) -> str:
        votes = self._vote(np.array([row]), np.array([code]))[0]
        return f"{votes:g} of {self._degree[row]:g} linked rows say {self._column.values[code]!r}"


def fit(context: FitContext) -> list[Expert]:
    """One expert if the table has links and the values of linked rows tell more than column frequency does, by the
    same gain per row that a group needs; a row is never linked to itself."""
    if context.table.links is None or context.table.columns[context.position].role.name == "identifier":
        return []
    links = sp.csr_array(context.table.links, dtype=np.float64)
    links.setdiag(0)
    links.eliminate_zeros()
    column = context.table.columns[context.position]
    expert, filled = Links(column, links, context.options.smoothing[1]), column.current != column.blank
    if not filled.any():
        return []
    gain = np.log(np.maximum(expert.own(), TINY)) - np.log(np.maximum(Frequency(column).own(), TINY))
    return [expert] if float(gain[filled].mean()) > context.options.group_gain else []
