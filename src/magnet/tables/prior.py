"""The prior of a cell: experts, column frequency and the base measure."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from magnet.arrays import Floats
from magnet.tables.channels.base import UNKNOWN
from magnet.tables.channels.typo import Typo, near_pairs
from magnet.tables.coded import Codes
from magnet.tables.experts import EXPERTS, ColumnContext, Expert, Frequency
from magnet.tables.experts.novelty import LETTERS, Novelty, tokens_of
from magnet.tables.options import FLOOR, TableOptions
from magnet.tables.roles.patterns import number

EM_STEPS = 30  # of EM for the weights (not swept)
EM_ROWS = 1 << 14  # rows that are worked on at a time: their likelihoods under a handful of experts stay in cache
STRICT = 1e-3  # weight left to the other experts beside one that holds in truth
WEIGHT_PRIOR = 0.5  # rows that every expert is assumed to explain (Jeffreys' prior)
MIN_FILLED = 1e-9  # probability that a blank should be filled, against division by zero
# A word is a repeated misspelling only if it has some letters, is rarer than this share of the rows, and another word
# occurs often and several times as often; the evidence is in nats. None of these was swept.
MIN_LETTERS, MAX_SHARE, MIN_COMMON, MIN_RATIO, MIN_EVIDENCE = 4, 0.1, 10, 5, 2.0
MAX_WORD_PAIRS = 4_000_000  # of words up to which two edits are searched as well as one


@dataclass(eq=False)
class ColumnPrior(ColumnContext):
    r"""The prior of one column.

    .. math:: P(v \mid i) = \lambda_0 F_{-i}(v) + \sum_k \lambda_k P_k(v \mid i) + \lambda_B B(v)

    with weights by EM on the leave-one-out likelihood of the repaired column.

    Args:
        options: the constants.
        typo: the channel of misspellings.
        rate: share of the cells that are misspelled.
    """

    options: TableOptions = field(kw_only=True)
    typo: Typo = field(kw_only=True)
    rate: float = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        column, self.frequency = self.column, Frequency(self.column)
        self.novelty = self._novelty()
        self.experts: list[Expert] = [e for fit in EXPERTS.values() for e in fit(self)]
        self._base: Floats = np.zeros(0)
        self._exceptions: Floats | None = None
        own = [e.own() for e in self.experts]
        # of the texts as read, by expert; most columns have no repairs
        self._of_read = own if np.array_equal(column.read, column.current) else None
        parts = [np.maximum(self.frequency.own(), 0), *own, self.base(column.current)]
        self.weights = mixture_weights(np.stack(parts) + FLOOR)
        strict = [k for k, e in enumerate(self.experts) if e.strict]
        if strict:
            self.weights *= STRICT
            self.weights[[k + 1 for k in strict]] += (1 - STRICT) / len(strict)

    def _novelty(self) -> Novelty:
        """The base measure, kept from the last pass if no value of the column was repaired since."""
        held = np.flatnonzero(self.counts)
        state = hashlib.sha256(held.tobytes() + self.counts[held].tobytes()).digest()  # the same in every process
        if self.memory.get("novelty_state") == state:
            return self.memory["novelty"]  # type: ignore[return-value]
        self._forget_repeated_typos()
        self.memory["novelty"], self.memory["novelty_state"] = self.novelty, state
        return self.novelty

    def base(self, codes: Codes) -> Floats:
        """Base measure of values by code."""
        values = self.column.values
        if len(self._base) < len(values):
            grown = np.full(len(values), np.nan)
            grown[: len(self._base)] = self._base
            self._base = grown
        found = self._base[codes]
        unknown = np.isnan(found)
        if unknown.any():
            for k in np.unique(codes[unknown]):
                self._base[k] = self.novelty(values[k])
            found = self._base[codes]
        return found

    def prior(self, rows: Codes, codes: Codes) -> Floats:
        """``P(v | i)`` for pairs of rows and values."""
        total = self.weights[0] * self.frequency.probability(rows, codes) + self.weights[-1] * self.base(codes)
        for weight, expert in zip(self.weights[1:-1], self.experts, strict=True):
            total += weight * expert.probability(rows, codes)
        return total

    def prior_of_read(self) -> Floats:
        """``P(o | i)`` of the text of every row as read."""
        rows, read = np.arange(len(self.column.read)), self.column.read
        if self._of_read is None:
            self._of_read = [expert.probability(rows, read) for expert in self.experts]
        total = self.weights[0] * self.frequency.probability(rows, read) + self.weights[-1] * self.base(read)
        for weight, probability in zip(self.weights[1:-1], self._of_read, strict=True):
            total += weight * probability
        return total

    def _forget_repeated_typos(self) -> None:
        """Words that are repeated misspellings of a far more frequent word make no value likely."""
        words: Counter[str] = Counter()
        n = len(self.column.current)
        for value, k in self.column.index.items():
            if k < len(self.counts) and self.counts[k]:
                for t in set(tokens_of(value)[0]):
                    if len(t) >= MIN_LETTERS and t.isalpha():
                        words[t] += int(self.counts[k])
        common = [t for t, c in words.items() if c >= MIN_COMMON]
        rare = [t for t, c in words.items() if c <= MAX_SHARE * n]
        for a, b in near_pairs(rare, common, MAX_WORD_PAIRS):
            word, known = rare[a], common[b]
            count = words[word]
            if count * MIN_RATIO >= words[known]:
                continue
            chance = self.typo.likelihood(word, known)
            as_typo = count * math.log(self.rate * chance * words[known] / n + FLOOR)
            as_word = -len(word) * math.log(LETTERS) + math.lgamma(count) - (count - 1) * math.log(n)
            if as_typo > as_word + MIN_EVIDENCE:
                self.novelty.forget(word)

    def fillings(self) -> dict[int, tuple[int, float]]:
        """For every blank the likeliest value and its probability among filled cells."""
        column = self.column
        rows = np.flatnonzero(column.read == column.blank)
        counts = self.counts.copy()
        if not len(rows) or column.blank < 0:
            return {}
        counts[column.blank] = 0
        if not counts.sum():
            return {}
        usual = int(counts.argmax())
        if column.role.name == "quantity":
            order = sorted(
                (x, k) for k in np.flatnonzero(counts).tolist() if (x := number(column.values[k])) is not None
            )
            at = np.searchsorted(np.cumsum([counts[k] for _, k in order]), 0.5 * counts.sum()) if order else 0
            usual = order[min(int(at), len(order) - 1)][1] if order else usual
        best, score = np.full(len(rows), usual), np.zeros(len(rows))
        offers = [np.full(len(rows), usual), *(c[rows] for e in self.experts for c in e.proposals().T)]
        for codes in offers:
            chance = np.where((codes >= 0) & (codes != column.blank), self.prior(rows, np.maximum(codes, 0)), 0.0)
            best, score = np.where(chance > score, codes, best), np.maximum(chance, score)
        filled = 1 - self.prior(rows, np.full(len(rows), column.blank))
        share = np.minimum(score / np.maximum(filled, MIN_FILLED), 1.0)
        return {int(r): (int(c), float(p)) for r, c, p in zip(rows, best, share, strict=True)}

    def reason(self, row: int, code: int, kind: str) -> str:
        observed = self.column.values[self.column.read[row]]
        if code == UNKNOWN:
            return f"{observed!r} differs in form from the other values of the column: {kind}"
        rows, codes = np.array([row]), np.array([code])
        experts: list[Expert | Frequency] = [self.frequency, *self.experts]
        support = [w * e.probability(rows, codes)[0] for w, e in zip(self.weights[:-1], experts, strict=True)]
        shown = "but blank" if not observed else f"observed {observed!r}"
        return f"{experts[int(np.argmax(support))].evidence(row, code)}, {shown}: {kind}"


def mixture_weights(likelihood: Floats) -> Floats:
    r"""Weights of a mixture by EM: :math:`\lambda_k \propto \tfrac12 + \sum_i r_{ik}`.

    Args:
        likelihood: leave-one-out likelihood of each row under each expert, ``[experts, rows]``.
    """
    parts, n = likelihood.shape
    weights = np.full(parts, 1 / parts)
    for _ in range(EM_STEPS):
        total = np.zeros(parts)
        for first in range(0, n, EM_ROWS):
            share = likelihood[:, first : first + EM_ROWS] * weights[:, None]
            share /= share.sum(axis=0)
            total += share.sum(axis=1)
        weights = (total + WEIGHT_PRIOR) / (n + WEIGHT_PRIOR * parts)
    return weights
