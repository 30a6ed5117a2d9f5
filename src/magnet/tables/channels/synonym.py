"""Two codes for one value: ``Male`` in a column of ``M`` and ``F``, ``1`` and ``no`` among ``Y`` and ``N``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from magnet.tables.channels.base import WrongText, text_test
from magnet.tables.channels.remark import SHARE
from magnet.tables.coded import Texts
from magnet.tables.experts.groups import dispersion
from magnet.tables.options import FEW_NUMBERS, FORMAT_SHARE, REPEATS, SURE, UNSURE
from magnet.tables.roles.base import roles_but

TRUTH = ({"y", "yes", "true", "t", "1"}, {"n", "no", "false", "f", "0"})
CHANCE = 3.0  # standard errors of the dispersion
CODE, WORD = 3, 4  # letters of a code at most, and of a word at least; an abbreviation has up to WORD letters


@text_test("format", roles_but("identifier", "phone", "date", "time", "unit"))
def rewrite(texts: Texts) -> Iterator[WrongText]:
    """Rare texts that abbreviate, or spell out, one of the few values of a column, or mean the same truth value.

    Unless they are truth values, two values at least must have such a second form, in proportion to how frequent they
    are: a single word that begins like a code may be a value of its own (``Absent`` among ``A``, ``B``, ``C``).
    """
    own: list[tuple[int, str, int]] = []
    words: list[str] = []
    found: dict[int, int] = {}
    same_truth: dict[int, int] = {}  # of the same truth value
    covered = 0
    for k, text, rows in sorted(texts, key=lambda each: -each[2]):
        word = _plain(text)
        at = _abbreviated(word, words)
        same = next((a for a, other in enumerate(words) if _truth(other) == _truth(word) >= 0 and other != word), -1)
        if at >= 0 or same >= 0:
            (found if at >= 0 else same_truth)[k] = max(at, same)
            covered += rows
        elif covered < FORMAT_SHARE * texts.total or rows > SHARE * own[-1][2]:  # as frequent as the others
            own.append((k, text, rows))
            words.append(word)
            covered += rows
            if len(own) > FEW_NUMBERS:
                return
    count = len(own)
    logical = count == 2 and {_truth(word) for word in words} == {0, 1}
    found |= same_truth if logical else {}
    if count < 2 or not found:
        return
    hits = np.bincount(list(found.values()), weights=[texts.counts[k] for k in found], minlength=count)
    sizes = hits + [rows for *_, rows in own]
    uneven = dispersion(hits, sizes) - 1 > CHANCE * math.sqrt(2 / (count - 1))  # its standard error, where it is chance
    if (hits > SHARE * sizes).any() or (not logical and (uneven or (hits > 0).sum() < 2)):
        return
    confidence = SURE if hits.sum() >= REPEATS else UNSURE
    for k, at in found.items():
        _, better, rows = own[at]
        yield k, better, confidence, f"{rows} rows have {better!r}, observed {texts.column.values[k]!r}: format"


def _plain(text: str) -> str:
    return text.strip().rstrip(".").casefold()


def _truth(word: str) -> int:
    return next((k for k, names in enumerate(TRUTH) if word in names), -1)


def _abbreviated(word: str, words: Sequence[str]) -> int:
    """The position of the only word that this one abbreviates or spells out, -1 for none."""
    fits = [
        at
        for at, own in enumerate(words)
        if word.isalpha()
        and (
            (len(own) <= CODE and len(word) >= WORD and word.startswith(own))
            or (len(own) >= WORD >= len(word) and own.startswith(word))
        )
    ]
    return fits[0] if len(fits) == 1 else -1
