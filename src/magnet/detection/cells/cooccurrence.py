"""Co-occurrence of words in a bag: prediction of a word from the rest of its row."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.detection.cells.linear_pool import RestOfRow
from magnet.detection.data.edges import sparse_product
from magnet.detection.data.sparse_rows import by_pieces, columns_of, row_pieces, stacked
from magnet.detection.options import DATA


class Cooccurrence:
    r"""Probability of a word, given the other words of its row.

    With the words :math:`W_i` of row i, :math:`N_{jk} = \sum_i w_i [j \in W_i][k \in W_i]` and :math:`N_k = N_{kk}`,

    .. math::
        p_{ij} = \frac{1}{|W_i \setminus j| + 1} \Bigl( b_j + \sum_{k \in W_i, k \ne j}
            \frac{N_{jk} - w_i [j \in W_i]}{N_k + 1} \Bigr), \qquad b_j = \frac{N_j + 1/2}{\sum_i w_i + 1}:

    the mean over the other words of how often j occurs with them in *other* rows, shrunk toward the rate of j by one
    word. Words come in bursts: a row on a topic that its neighbors do not share has many unexpected words, but they
    co-occur in other rows. Words inserted at random do not.

    Args:
        events: sparse ``[n, d]``, non-zero where the word is there.
        weights: of the rows ``[n]``: suspicious rows must not confirm one another.
        on_disk: the events are in temporary files, and so is what has their size. (default: ``False``)

    Example:
        >>> words = sp.csr_matrix(np.array([[1, 1, 0, 0]] * 10 + [[0, 0, 1, 1]] * 10 + [[1, 1, 1, 0]]))
        >>> rest = Cooccurrence(words, torch.ones(21))
        >>> p = rest.probability(0, 4)[20]
        >>> bool(p[0] > 0.4), bool(p[2] < 0.2)  # the third word does not belong to the first two
        (True, True)
    """

    def __init__(self, events: sp.csr_matrix, weights: Tensor, on_disk: bool = False) -> None:
        self.device = weights.device
        words = by_pieces(events, _ones, on_disk)
        w = weights.detach().cpu().numpy().astype(np.float32)
        self._words, self._w = columns_of(words, on_disk), w
        self._pairs = _pairs(words, self._words, w, on_disk)
        self._count = np.asarray(self._pairs.diagonal(), dtype=np.float32)
        self._inverse = (1 / (self._count + 1)).astype(np.float32)
        inverse = sp.diags(self._inverse)
        self._scaled = by_pieces(words, lambda piece: sp.csr_matrix(piece @ inverse), on_disk)
        self._total = np.asarray(self._scaled.sum(axis=1), dtype=np.float32).ravel()
        self._length = np.diff(words.indptr).astype(np.float32)
        self._rate = ((self._count + 0.5) / (w.sum() + 1)).astype(np.float32)

    def probability(self, first: int, last: int) -> Tensor:
        """``p`` ``[n, last - first]``."""
        return torch.from_numpy(self._probability(self.of_words(first, last))).to(self.device)

    def probability_in(self, rows: NDArray[np.intp], first: int, last: int) -> Tensor:
        """``p`` ``[rows, last - first]`` in some rows."""
        return torch.from_numpy(self._probability(self.of_words(first, last, rows))).to(self.device)

    def _probability(self, of: RestOfRow) -> NDArray[np.float32]:
        # Where the word is there, neither the word itself nor this row is evidence for it.
        itself = of.present * (of.itself + of.weight[:, None] * (of.total[:, None] - of.inverse))
        found: NDArray[np.float32] = ((of.together - itself).clip(0) + of.rate) / (of.length[:, None] - of.present + 1)
        return found

    def of_words(self, first: int, last: int, rows: NDArray[np.intp] | slice = slice(None)) -> RestOfRow:
        """What the probabilities of a range of words are computed from, in some or all rows."""
        scaled, words = (
            (self._scaled, self._words) if isinstance(rows, slice) else (self._scaled[rows], self._words[rows])
        )
        inverse = self._inverse[first:last]
        return RestOfRow(
            together=sparse_product(scaled, self._pairs[:, first:last].toarray()),
            present=words[:, first:last].toarray(order="C"),
            itself=inverse * self._count[first:last],
            inverse=inverse,
            weight=self._w[rows],
            total=self._total[rows],
            length=self._length[rows],
            rate=self._rate[first:last],
        )

    def rate(self, first: int, last: int) -> Tensor:
        """``b`` ``[last - first]``: a word is rarer beside the others than elsewhere where its ``p / b`` is below 1."""
        return torch.from_numpy(self._rate[first:last]).to(self.device)


def _ones(events: sp.csr_matrix) -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(events.nnz, np.float32), events.indices, events.indptr), shape=events.shape)


def _pairs(words: sp.csr_matrix, by_column: sp.csc_matrix, w: NDArray[np.float32], on_disk: bool) -> sp.csc_matrix:
    """``N`` ``[d, d]``; on disk a range of columns at a time."""
    n, d = words.shape

    def weigh(rows: slice, piece: sp.csr_matrix) -> sp.csr_matrix:
        values = np.repeat(w[rows], np.diff(piece.indptr))
        return sp.csr_matrix((values, piece.indices, piece.indptr), shape=piece.shape)

    if not on_disk:
        return sp.csc_matrix(weigh(slice(0, n), words).T @ by_column)
    weighted = stacked((weigh(*each) for each in row_pieces(words)), d, on_disk)
    width = max(1, DATA.cells_per_block // max(n, d))
    ranges = (slice(first, first + width) for first in range(0, d, width))
    return stacked((sp.csr_matrix((weighted.T @ by_column[:, each]).T) for each in ranges), d, on_disk).T
