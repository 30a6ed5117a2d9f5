"""The base measure: how likely a right value is that no other row holds."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

TOKEN = re.compile(r"[^\W\d_]+|\d+|\s+|.", re.S)
SHAPE_WEIGHT = 0.7  # share of new values spelled freely; the rest differ from a known value in one token
RARE_SHAPE = 0.03  # beside a dominant shape, shapes rarer than this share prove nothing
DOMINANT_SHAPE = 0.6  # share of the values that have it: clearly more than half (not swept)
NEW_BIGRAM = 0.02  # pseudo-count of two neighboring classes that were never seen
LETTERS = 8.0  # effective letters per character of a new word (English text has about 3 bits per letter)
DIGITS = 10.0  # the same per digit
OTHER_CASE = 0.3  # a word known in another case counts this much
CACHED = 200_000  # classes of tokens that are kept
LONGEST_NUMBER = 9  # digits; longer numbers are of the same class
LONGEST_TOKEN, MIN_LOG = 60, -600.0  # characters that are counted, and the least logarithm, so that none underflows
MAX_WORDS = 12  # of values that may be siblings: more would cost a frame each
BLANK = 1e-9  # base measure of a blank (not swept)
NEW_SHAPE = 1e-12  # probability of a shape that no other value has (not swept)
ROUNDING = 1e-9  # weight that is left by rounding where the value itself is taken off
ODD_COUNT, ODD_SHARE = 2.0, 0.002  # weight, and share of it, that hardly any other value has (not swept)


@lru_cache(maxsize=CACHED)
def token_class(token: str) -> str:
    """The class of a token: digits by length, upper, lower, title or mixed letters, or the character itself."""
    first = token[0]
    if first.isdigit():
        return f"d{min(len(token), LONGEST_NUMBER)}"
    if first.isspace():
        return " " * min(len(token), 2)
    if not first.isalpha():
        return first
    if token.isupper():
        return "U"
    if token.islower():
        return "L"
    return "T" if first.isupper() and token[1:].islower() else "M"


def tokens_of(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Tokens and their classes."""
    tokens = TOKEN.findall(text)
    return tuple(tokens), tuple(map(token_class, tokens))


@lru_cache(1 << 18)  # every pass asks for the corrections of the same texts
def shape_of(text: str) -> tuple[str, ...]:
    """The classes of a text's tokens."""
    return tokens_of(text)[1]


class Novelty:
    r"""Shape times spelling, leaving the value itself out.

    .. math::
        B(v) = 0.7 \, \tfrac12 \big(S(v) + \textstyle\prod_k S(c_k \mid c_{k-1})\big)
               \prod_t \tfrac12\big(T(t) + \ell^{-|t|}\big) + 0.3 \, \mathrm{sibling}(v)

    with S the share of the shape (sequence of token classes) or of its bigrams, T the share of the token among
    tokens of its class, and :math:`\ell` effective letters per character (10 for digits). A sibling shares all
    tokens but one with a known value. A character language model would generate typos too well.

    Args:
        counts: how often each value occurs.
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.weight = {v: 1 + math.log2(c) for v, c in counts.items() if v and c > 0}
        self.shape: Counter[tuple[str, ...]] = Counter()
        self.bigram: Counter[tuple[str, str]] = Counter()
        self.context: Counter[str] = Counter()
        self.token: Counter[str] = Counter()
        self.token_class: Counter[str] = Counter()
        self.folded: Counter[str] = Counter()
        self.frame: Counter[int] = Counter()
        self.total = 0.0
        self._cache: dict[str, float] = {}
        for v, w in self.weight.items():
            self._put(v, w)
        dominant = bool(self.shape) and max(self.shape.values()) > DOMINANT_SHAPE * self.total
        self.rare = RARE_SHAPE * self.total if dominant else 0.0

    def _put(self, value: str, w: float) -> None:
        tokens, classes = tokens_of(value)
        self.shape[classes] += w  # type: ignore[assignment]
        self.total += w
        last = "^"
        for c in classes:
            self.bigram[last, c] += w  # type: ignore[assignment]
            self.context[last] += w  # type: ignore[assignment]
            last = c
        self.bigram[last, "$"] += w  # type: ignore[assignment]
        self.context[last] += w  # type: ignore[assignment]
        for t, c in zip(tokens, classes, strict=True):
            self.token[t] += w  # type: ignore[assignment]
            self.token_class[c] += w  # type: ignore[assignment]
            self.folded[t.casefold()] += w  # type: ignore[assignment]
        for f in self._frames(tokens, classes):
            self.frame[f] += w  # type: ignore[assignment]

    @staticmethod
    def _frames(tokens: tuple[str, ...], classes: tuple[str, ...]) -> list[int]:
        """A hash per word of the value with that word left out, for values of several words. Single characters (types,
        versions) are of one class: ``ADOS-G`` and ``ADOS-2`` are siblings."""
        at = [k for k, t in enumerate(tokens) if t[0].isalnum()]
        if not 2 <= len(at) <= MAX_WORDS:
            return []
        kinds = [classes[k][0] if len(tokens[k]) > 1 else "1" for k in at]
        return [hash((k, c, tokens[:k], tokens[k + 1 :])) for k, c in zip(at, kinds, strict=True)]

    def __call__(self, value: str) -> float:
        known = self._cache.get(value)
        if known is None:
            known = self._cache[value] = self._measure(value)
        return known

    def _measure(self, value: str) -> float:
        if not value:
            return BLANK
        own = self.weight.get(value, 0.0)
        tokens, classes = tokens_of(value)
        rest = self.total - own + 1
        whole = self._seen(self.shape.get(classes, 0) - own) / rest  # get: counters are slow for what they lack
        chain, last, bigram, context = 0.0, "^", self.bigram.get, self.context.get
        for c in (*classes, "$"):
            seen = self._seen(bigram((last, c), 0) - own)
            chain += math.log((seen + NEW_BIGRAM) / (max(context(last, 0) - own, 0) + 1))
            last = c
        measure = math.log(0.5 * whole + 0.5 * math.exp(max(chain, MIN_LOG)) + NEW_SHAPE)
        spelled: list[float] = []
        used: dict[str, int] = {}
        for t, c in zip(tokens, classes, strict=True):
            if not t[0].isalnum():
                continue
            used[t] = times = used.get(t, 0) + 1
            exact, folded = self.token.get(t, 0) - own * times, self.folded.get(t.casefold(), 0) - own * times
            word = max(exact, OTHER_CASE * folded, 0) / (max(self.token_class.get(c, 0) - own, 0) + 1)
            letters = DIGITS if t[0].isdigit() else LETTERS
            spelled.append(0.5 * word + 0.5 * letters ** -min(len(t), LONGEST_TOKEN))
            measure += math.log(spelled[-1])
        frames = self._frames(tokens, classes)
        sibling = 0.0
        if frames:
            sibling = max(
                max(self.frame.get(f, 0) - own, 0) / rest * p / len(spelled)
                for f, p in zip(frames, spelled, strict=True)
            )
        return SHAPE_WEIGHT * math.exp(max(measure, MIN_LOG)) + (1 - SHAPE_WEIGHT) * sibling

    def _seen(self, weight: float) -> float:
        return weight if weight > max(self.rare, ROUNDING) else 0.0

    def without(self, value: str, others: list[str]) -> list[float]:
        """The measure of other values in a column that lacks this one."""
        own = self.weight.get(value, 0.0)
        if own:
            self._put(value, -own)
        measures = [self._measure(other) for other in others]
        if own:
            self._put(value, own)
        return measures

    def odd(self, value: str) -> bool:
        """Whether hardly any other value has this shape."""
        others = self.shape.get(shape_of(value), 0) - self.weight.get(value, 0.0)
        return others <= max(ODD_COUNT, ODD_SHARE * self.total, self.rare)

    def unknown(self, token: str, value: str) -> bool:
        """Whether no other value holds this token."""
        return self.folded.get(token.casefold(), 0) - self.weight.get(value, 0.0) <= 0.5

    def forget(self, token: str) -> None:
        """Take a token for a misspelling: it no longer makes values likely."""
        self.folded[token.casefold()] -= self.token[token]
        self.token[token] = 0
        self._cache.clear()
