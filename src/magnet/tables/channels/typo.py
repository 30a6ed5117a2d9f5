"""Misspelling: one character inserted, left out, replaced or exchanged, one letter replaced everywhere, or junk marks
behind the value (``PITTSBURGH ***``, ``Miller-*``)."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from magnet.tables.channels.base import Proposal
from magnet.tables.experts.base import ColumnContext

ALPHABET = 36.0  # letters and digits: the characters a slip may write before any are learned
# misspellings of each kind that are assumed before any are seen: four equal edits, others more rarely (not swept)
PRIOR = {"insert": 2.0, "delete": 2.0, "replace": 2.0, "exchange": 2.0, "case": 0.5, "space": 0.5, "mark": 1.5}
TWO_EDITS = 0.02  # share of misspellings with two edits (Damerau 1964: over 80 % hold one; two at one place are rarer)
ENOUGH_CHARACTERS = 10  # written characters after which their distribution is learned
PRIOR_CHARACTERS = 5  # equally distributed ones that are assumed besides (not swept)
SPACE_AND_CASE_PLACES = 4  # ways to write a value with other spaces or capitals, roughly (not swept)
TWO_EDITS_LENGTH = 4  # characters of a value in which two may be wrong; shorter ones are other values (not swept)
LONGEST_MASKED = 256  # characters of a text in which one letter may be replaced everywhere
MAX_MATCHES = 200  # texts with one hash that are compared; bounds run time (not swept)
CELLS_PER_BLOCK = 4_000_000  # distances that are computed at a time
DIGIT_DISCOUNT = 0.1  # where only digits differ, which is more often a sibling value
MAX_PAIRS = 20_000_000  # of values up to which two edits are searched as well as one
LONGEST = 400  # longer texts are compared by their words only
DIGIT = re.compile(r"\d")
BOTH_DIGITS = {(a, b) for a in "0123456789" for b in "0123456789"}  # 33-43 is no misspelled 35-45
MARK = re.compile(r"(?<=.)\s*[-_]?(?:[*#~^|<>@$\\=]{1,6}|[?!]{2,6})$", re.S)  # that nobody ends a value with


class Edit(NamedTuple):
    """How a value comes out as another text.

    Args:
        operation: its name; empty for two edits.
        character: that was written, if any.
        places: number of places per place that gives this text.
        discount: of edits between texts that differ in digits only.
    """

    operation: str
    character: str
    places: float
    discount: float


class Typo:
    r"""Edit operations with learned shares, as in the noisy channel of Kernighan, Church and Gale (1990).

    .. math:: P(o \mid v) = \pi_{op} \cdot \frac{q(c)}{\text{places}(op, v)}

    with :math:`\pi` the share of the operation and q the distribution of the written character, both learned from the
    table's own confident repairs. Digits are confused like letters but discounted, since values that differ in a
    digit are mostly siblings. Never used between two numbers of a quantity.
    """

    def __init__(self) -> None:
        # by column: compared values, near pairs, and the edits of those that were looked at
        self._near: dict[str, tuple[bytes, list[tuple[int, int]], dict[tuple[int, int], Edit | None]]] = {}
        self.learn([])

    def learn(self, pairs: list[tuple[str, str]]) -> None:
        shares, written = Counter(PRIOR), Counter[str]()
        for observed, value in pairs:
            found = self.operation(observed, value)
            if found:
                shares[found[0]] += 1
                if found[1]:
                    written[found[1]] += 1
        total = sum(shares.values())
        self.share = {k: c / total for k, c in shares.items()}
        count = sum(written.values())
        self._character = {
            c: (k + PRIOR_CHARACTERS / ALPHABET) / (count + PRIOR_CHARACTERS) for c, k in written.items()
        }
        self._other = (PRIOR_CHARACTERS / ALPHABET) / (count + PRIOR_CHARACTERS)
        if count < ENOUGH_CHARACTERS:
            self._character, self._other = {}, 1 / ALPHABET

    @staticmethod
    def operation(observed: str, value: str) -> tuple[str, str, float] | None:
        """The single operation that turns a value into the observed text: its name, the character written, and the
        number of places per place that gives this text (leaving out either s of ``Issued`` gives ``Isued``)."""
        a, b = len(observed), len(value)
        if not observed or not value or observed == value:
            return None
        if observed.startswith(value) and MARK.fullmatch(observed, b):
            return "mark", observed[b:], 1.0
        if observed.casefold() == value.casefold() and sum(x != y for x, y in zip(observed, value, strict=False)) > 1:
            return "case", "", SPACE_AND_CASE_PLACES
        start = 0
        while start < min(a, b) and observed[start] == value[start]:
            start += 1
        if a == b + 1 and observed[start + 1 :] == value[start:]:
            return "insert", observed[start], (b + 1) / _run(observed, start)
        if a == b - 1 and observed[start:] == value[start + 1 :]:
            return "delete", "", b / _run(value, start)
        if a == b:
            if observed[start + 1 :] == value[start + 1 :]:
                return "replace", observed[start], b
            if (
                observed[start] == value[start + 1 : start + 2]
                and observed[start + 1 : start + 2] == value[start]
                and observed[start + 2 :] == value[start + 2 :]
            ):
                return "exchange", "", max(b - 1, 1)
            changed = {(x, y) for x, y in zip(observed, value, strict=True) if x != y}
            if len(changed) == 1 and not changed.issubset(BOTH_DIGITS):
                return "replace", next(iter(changed))[0], len(set(value))
        if "".join(observed.split()) == "".join(value.split()):
            return "space", "", SPACE_AND_CASE_PLACES
        return None

    @classmethod
    def edit(cls, observed: str, value: str) -> Edit | None:
        """How a value comes out as the observed text; None if it does not."""
        found = cls.operation(observed, value)
        size = len(value)
        if found is None and (size < TWO_EDITS_LENGTH or not observed):
            return None
        if found is None and observed.isdigit() and value.isdigit():  # two digits off is any other number
            return None
        if found is None and OSA.distance(observed, value, score_cutoff=2) != 2:
            return None
        digits = DIGIT.search(observed) is not None and DIGIT.sub("0", observed) == DIGIT.sub("0", value)
        return Edit(*(found or ("", "", size * size * ALPHABET)), DIGIT_DISCOUNT if digits else 1.0)

    def likelihood(self, observed: str, value: str) -> float:
        """The chance of an observed text, 0 if no operation writes it."""
        edit = self.edit(observed, value)
        return 0.0 if edit is None else self.chance(edit)

    def chance(self, edit: Edit) -> float:
        """The chance of an edit, by what was learned."""
        chance = (self.share[edit.operation] if edit.operation else TWO_EDITS) / edit.places
        if edit.character:
            chance *= self._character.get(edit.character, self._other)
        return chance * edit.discount

    def propose(self, context: ColumnContext) -> list[Proposal]:
        """Values of the column within one operation (or two edits, in small columns) of a rarer observed text."""
        column, counts = context.column, context.counts
        values = column.values
        observed = [k for k in context.suspects() if len(values[k]) <= LONGEST]
        known = [k for k in np.flatnonzero(counts >= 2).tolist() if values[k] and len(values[k]) <= LONGEST]
        found: list[Proposal] = []
        state = np.array([len(observed), *observed, *known]).tobytes()
        if self._near.get(column.name, (b"",))[0] != state:  # most columns stay as they are from pass to pass
            texts = [values[k] for k in observed], [values[k] for k in known]
            self._near[column.name] = state, near_pairs(*texts, MAX_PAIRS), {}
        _, pairs, edits = self._near[column.name]
        rows = counts.tolist()
        for pair in pairs:
            a, b = observed[pair[0]], known[pair[1]]
            if rows[b] >= rows[a]:
                if pair not in edits:
                    edits[pair] = self.edit(values[a], values[b])
                edit = edits[pair]
                if edit is not None and (chance := self.chance(edit)) > 0:
                    found.append(Proposal(a, b, chance))
        return found


def _run(text: str, end: int) -> int:
    """How often the character at a place stands there in a row; the place is the last of them."""
    start = end
    while start and text[start - 1] == text[end]:
        start -= 1
    return end - start + 1


def near_pairs(left: list[str], right: list[str], max_pairs: int) -> list[tuple[int, int]]:
    """Pairs of different texts within one edit, within one letter replaced everywhere, or equal but for case and
    spaces; within two edits where there are few pairs.

    Texts within one edit share a text with one character left out, so the pairs come from a join on hashes and cost
    the number of characters, not the number of pairs.

    Example:
        >>> sorted(near_pairs(["cat", "dig"], ["cart", "dog", "cow"], 0))
        [(0, 0), (1, 1)]
    """
    if not left or not right:
        return []
    pairs: set[tuple[int, int]] = set()
    for keys in (_deletions, _masked, _folded):
        pairs |= _join(left, right, keys)
    if len(left) * len(right) <= max_pairs:
        block = max(1, CELLS_PER_BLOCK // len(right))
        for start in range(0, len(left), block):
            distance = cdist(left[start : start + block], right, scorer=OSA.distance, score_cutoff=2, dtype=np.uint8)
            a, b = np.nonzero(distance <= 2)
            pairs.update(zip((a + start).tolist(), b.tolist(), strict=True))
    return [(a, b) for a, b in pairs if left[a] != right[b]]


def _deletions(text: str) -> set[int]:
    if len(text) < 2:
        return set()
    return {hash(text), hash(MARK.sub("", text))} | {hash(text[:k] + text[k + 1 :]) for k in range(len(text))}


def _masked(text: str) -> set[int]:
    return {hash(text.replace(c, "\0")) for c in set(text)} if 2 <= len(text) <= LONGEST_MASKED else set()


def _folded(text: str) -> set[int]:
    return {hash("".join(text.casefold().split()))}


def _join(left: list[str], right: list[str], keys: object) -> set[tuple[int, int]]:
    def table(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        sets = [keys(t) for t in texts]  # type: ignore[operator]
        owner = np.repeat(np.arange(len(texts)), [len(s) for s in sets])
        flat = np.fromiter((h for s in sets for h in s), dtype=np.int64, count=len(owner))
        return flat, owner

    flat, owner = table(right)
    order = np.argsort(flat, kind="stable")
    flat, owner = flat[order], owner[order]
    asked, asker = table(left)
    low, high = np.searchsorted(flat, asked, "left"), np.searchsorted(flat, asked, "right")
    size = np.minimum(high - low, MAX_MATCHES)
    if not size.sum():
        return set()
    offset = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    a, b = np.repeat(asker, size), owner[np.repeat(low, size) + offset]
    both = np.unique(a * len(right) + b)
    return set(zip((both // len(right)).tolist(), (both % len(right)).tolist(), strict=True))
