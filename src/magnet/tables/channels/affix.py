"""Junk marks before or behind a value: ``PITTSBURGH ***``, ``Miller-*``."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from magnet.tables.channels.base import ChannelContext, Proposals

JUNK = re.compile(r"(?P<core>.*?[^\W_].*?|)(?P<junk>\s*[-_]?(?:[*#~^|<>@$\\=]{1,6}|[?!]{2,6}))", re.S)
DEFAULT_SHARE = 0.05  # chance of one particular junk mark before any were learned


class Affix:
    r"""A mark appended to the right text.

    .. math:: P(v + s \mid v) = \pi(s)

    with :math:`\pi` the share of the mark among those of the table's confident repairs. The right text may be one
    that no other row holds; its prior is then the base measure in a column without the observed text.
    """

    name, rate, kind = "affix", "affix", "typo"

    def __init__(self) -> None:
        self._share: dict[str, float] = {}

    def learn(self, pairs: list[tuple[str, str]]) -> None:
        marks = Counter(o[len(v) :] for o, v in pairs if o.startswith(v) and o != v and JUNK.fullmatch(o))
        total = sum(marks.values())
        self._share = {s: (c + DEFAULT_SHARE) / (total + 1) for s, c in marks.items()}

    def _chance(self, mark: str) -> float:
        return self._share.get(mark, DEFAULT_SHARE / (1 + len(self._share)))

    def propose(self, context: ChannelContext) -> Proposals:
        column, counts = context.column, context.counts
        found: list[tuple[int, int, float, float]] = []
        for k in np.flatnonzero(context.read_counts).tolist():
            text = column.values[k]
            match = None if text[-1:].isalnum() else JUNK.fullmatch(text)
            if not match or not match["core"]:
                continue
            chance = self._chance(match["junk"])
            known = column.index.get(match["core"], -1)
            if 0 <= known < len(counts) and counts[known] >= 2:
                found.append((k, known, chance, np.nan))
            elif counts[k] <= 1:
                measure = context.novelty.without(text, [match["core"]])[0]
                found.append((k, column.code(match["core"]), chance, measure))
        return Proposals.of(found)
