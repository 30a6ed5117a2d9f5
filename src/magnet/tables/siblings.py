"""Values of their own that are one edit apart: dense codes, days and numbered names are no typos."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from magnet.arrays import Bools, Ints
from magnet.tables.channels.typo import DIGIT, Typo, near_pairs

ALIKE = 4.0  # values whose counts differ by a larger factor may be a value and its misspelling
ESTABLISHED = 3.0  # rows, at least, of a value that may have siblings (not swept)
MAX_LONELY, LONGEST_SIBLING = 5_000, 60  # values of one row that are compared, and characters of one; bound run time

Edit = tuple[str, bool]  # class of an edit: the operation, and whether only digits are concerned
Count = tuple[int, dict[Edit, int]]  # number of values, and of those with another one an edit away, by class


@dataclass(frozen=True, eq=False)
class Siblings:
    r"""Where values of their own are often one edit apart, so are new ones.

    With :math:`\rho_c` the share of V such values that have another one at an operation of class c (such as one digit
    replaced), a text x that is such an operation away from v gets :math:`\rho_c \, P(x \mid v) / V` more base measure.
    Values of their own are the established ones, and those of one row each, since a misspelling replaces such a value
    instead of standing beside it; in both cases if none far more frequent is beside them.

    Args:
        values: the texts of a column.
        counts: rows of each.
        near: for every text x that may be a misspelling, the values v that it may come from, with :math:`P(x \mid v)`.
        memory: what the passes over the column share.
    """

    values: Sequence[str]
    counts: Ints
    near: Mapping[int, Sequence[tuple[int, float]]]
    memory: dict[str, object]

    def measures(self) -> Iterator[tuple[int, float]]:
        """What is added to the base measure of texts."""
        for total, with_sibling in (self._established(), self._lonely()):
            if total < 2 or not with_sibling:
                continue
            for x, found in self.near.items():
                for v, likelihood in found:
                    share = with_sibling.get(_edit_class(self.values[x], self.values[v]), 0) / (total + 1)
                    yield x, share * likelihood / total

    def _established(self) -> Count:
        average = self.counts.sum() / max(int(np.count_nonzero(self.counts)), 1)
        established = (self.counts >= max(ESTABLISHED, average)) & ~self._overshadowed()
        pairs = ((x, v) for x, found in self.near.items() if established[x] for v, _ in found if established[v])
        return int(established.sum()), self._in_pairs(pairs)

    def _lonely(self) -> Count:
        """The same of values of one row each, for edits of digits: two texts that differ in a letter are as likely a
        name and its misspelling, if the name stood in two rows."""
        own = (self.counts == 1) & ~self._overshadowed()
        lonely = [k for k in np.flatnonzero(own).tolist() if 1 < len(self.values[k]) <= LONGEST_SIBLING]
        if all(self.counts[x] > 1 for x in self.near):
            return 0, {}
        state = hash(tuple(lonely))
        if self.memory.get("lonely_state") != state:
            some = lonely[:: len(lonely) // MAX_LONELY + 1]
            texts = [self.values[k] for k in some]
            pairs = [(some[a], some[b]) for a, b in near_pairs(texts, texts, 0)]
            found = {kind: size for kind, size in self._in_pairs(pairs).items() if kind[1]}
            self.memory["lonely_state"], self.memory["lonely"] = state, (len(some), found)
        return self.memory["lonely"]  # type: ignore[return-value]

    def _overshadowed(self) -> Bools:
        """Values beside a far more frequent one ``[values]``, which may be misspellings of it."""
        out = np.zeros(len(self.counts), dtype=bool)
        for x, found in self.near.items():
            out[x] = any(self.counts[v] > ALIKE * self.counts[x] for v, _ in found)
        return out

    def _in_pairs(self, pairs: Iterable[tuple[int, int]]) -> dict[Edit, int]:
        """How many values are in a pair, by class of the edit."""
        found = dict[Edit, set[int]]()
        for x, v in pairs:
            found.setdefault(_edit_class(self.values[x], self.values[v]), set()).update((x, v))
        return {kind: len(codes) for kind, codes in found.items()}


@lru_cache(1 << 16)  # every pass asks for the same texts again
def _edit_class(observed: str, value: str) -> Edit:
    found = Typo.operation(observed, value)
    digits = DIGIT.sub("0", observed) == DIGIT.sub("0", value) or (found is not None and found[1].isdigit())
    return found[0] if found else "two", digits
