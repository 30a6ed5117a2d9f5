"""A misspelling whose correction occurs in no other row: an odd shape, or a word that occurs nowhere else."""

from __future__ import annotations

from collections import Counter

import numpy as np

from magnet.tables.channels.base import UNKNOWN, Proposal
from magnet.tables.channels.typo import ALPHABET, MARK, Typo, near_pairs
from magnet.tables.experts.base import ColumnContext
from magnet.tables.experts.novelty import Novelty, tokens_of

LONGEST = 80  # characters; the corrections of longer texts are found by their words only
MARKS = 4  # most frequent punctuation marks of the column that may have been left out
MAX_TEXTS = 5_000  # odd texts examined per column
SMALL = 1e-3  # corrections with less than this share of the best one are dropped
FIXED_WIDTH = 0.95  # share of one length from which digit strings have a fixed width
WORD = 4  # letters from which a word is compared with known words
LONGEST_NUMBER = 9  # digits of a number that may have lost one; longer ones are identifiers (not swept)


class Respell:
    r"""Corrections close to the observed text, weighted by the base measure.

    A correction must have a usual shape or replace an unknown word by a known one. The candidates of an odd text o are:
    o with one character left out, with two neighbors exchanged, with one of the column's punctuation marks or one digit
    put in, without the junk behind it, and with an unknown word replaced by a known one. Each has prior
    :math:`B_{-o}(v)`, the base measure in a column without o, and the likelihood of :class:`~.typo.Typo`.
    """

    def __init__(self, typo: Typo) -> None:
        self._typo = typo

    def propose(self, context: ColumnContext) -> list[Proposal]:
        column, novelty = context.column, context.novelty
        values = column.values
        lonely = [k for k in context.suspects() if context.counts[k] <= 1 and len(values[k]) >= 2]
        if not lonely:
            return []
        repeated = np.flatnonzero(context.counts >= 2).tolist()
        usual = Counter(c for k in repeated for c in set(values[k]) if not c.isalnum())
        marks = [mark for mark, _ in usual.most_common(MARKS)]
        words = self._known_words(values, lonely, novelty)
        widths = column.texts(repaired=True).only(str.isdigit).tally(len)
        fixed = bool(widths) and max(widths.values()) >= FIXED_WIDTH * widths.total()  # else a longer number is not odd
        suspects: list[tuple[int, bool]] = []
        for k in lonely:
            odd = len(values[k]) <= LONGEST and novelty.odd(values[k]) and (fixed or not values[k].isdigit())
            if odd or MARK.search(values[k]) or any(t in words for t in tokens_of(values[k])[0]):
                suspects.append((k, odd))
        return [found for k, odd in suspects[:MAX_TEXTS] for found in self._corrections(k, context, marks, words, odd)]

    @staticmethod
    def _known_words(values: list[str], lonely: list[int], novelty: Novelty) -> dict[str, list[str]]:
        """For every word of one value only, the known words one edit away."""
        strange = sorted(
            {
                t
                for k in lonely
                for t in tokens_of(values[k])[0]
                if len(t) >= 3 and t.isalpha() and novelty.unknown(t, values[k])
            }
        )
        known = [t for t, c in novelty.token.items() if len(t) >= WORD and t.isalpha() and c >= 2]
        out: dict[str, list[str]] = {}
        for a, b in near_pairs(strange, known, 0):
            out.setdefault(strange[a], []).append(known[b])
        return out

    def _corrections(
        self, code: int, context: ColumnContext, marks: list[str], words: dict[str, list[str]], odd: bool
    ) -> list[Proposal]:
        text, share = context.column.values[code], self._typo.share
        size = len(text)
        chance: dict[str, float] = {}
        digits: dict[str, float] = {}
        known_words: set[str] = set()
        tokens, _ = tokens_of(text)
        if odd:
            for k in range(size):
                chance.setdefault(text[:k] + text[k + 1 :], share["insert"] / (size * ALPHABET))
            for k in range(size - 1):
                if text[k] != text[k + 1]:
                    chance[text[:k] + text[k + 1] + text[k] + text[k + 2 :]] = share["exchange"] / (size - 1)
            for k in range(1, size):
                for c in marks:
                    chance[text[:k] + c + text[k:]] = share["delete"] / (size + 1)
        for k, t in enumerate(tokens):
            if odd and t[0].isdigit() and len(t) < LONGEST_NUMBER:
                longer = "".join([*tokens[:k], t + "5", *tokens[k + 1 :]])
                digits[longer] = share["delete"] / (size + 1) * 10 * (len(t) + 1)
            for word in words.get(t, ()):
                fixed = "".join([*tokens[:k], word, *tokens[k + 1 :]])
                known_words.add(fixed)
                chance[fixed] = self._typo.likelihood(t, word) * len(word) / size
        bare = MARK.sub("", text)
        known_words.add(bare)
        chance[bare] = self._typo.likelihood(text, bare)
        chance.pop(text, None)
        index, counts = context.column.index, context.counts
        texts = [t for t in chance if not (t in index and index[t] < len(counts) and counts[index[t]] > 1)]
        texts = [t for t in texts if t in known_words or not context.novelty.odd(t)]
        digits = {t: c for t, c in digits.items() if not context.novelty.odd(t)}
        measures = context.novelty.without(text, texts + list(digits))
        scored = [(chance[t] * m, t, chance[t], m) for t, m in zip(texts, measures, strict=False)]
        rest = [Proposal(code, UNKNOWN, digits[t], m) for t, m in zip(digits, measures[len(texts) :], strict=True)]
        best = max([s for s, *_ in scored] + [r.likelihood * r.measure for r in rest], default=0.0)
        kept = [Proposal(code, context.column.code(t), c, m) for s, t, c, m in scored if s > SMALL * best]
        return kept + [r for r in rest if r.likelihood * r.measure > SMALL * best]
