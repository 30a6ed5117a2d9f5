"""Two codes for one value: ``Male`` in a column of ``M`` and ``F``, ``1`` and ``no`` among ``Y`` and ``N``."""

from __future__ import annotations

import math
import re
from collections import Counter
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
LAST_WORD = re.compile(r"(?P<head>.*\s)(?P<word>[^\W\d_]{2,}\.?)(?P<tail>(?:[^\w]|\d)*)", re.S)
CODE, WORD = 3, 4  # letters of a code at most, and of a word at least; an abbreviation has up to WORD letters


@text_test("format", roles_but("identifier", "phone", "date", "time", "unit"))
def rewrite(texts: Texts) -> Iterator[WrongText]:
    """Rare texts that abbreviate, or spell out, one of the few values of a column, or mean the same truth value; and
    texts whose last word does so among few last words (``Oak St.`` among ``Elm Street``).

    Unless they are truth values, two values at least must have such a second form, in proportion to how frequent they
    are: a single word that begins like a code may be a value of its own (``Absent`` among ``A``, ``B``, ``C``).
    """
    values, confidence = texts.column.values, UNSURE
    better = second_forms(texts.tally(str), texts.total)
    parts = {k: match for k, text, _ in texts if (match := LAST_WORD.fullmatch(text))}
    words = second_forms(texts.tally_codes({k: match["word"] for k, match in parts.items()}), texts.total)
    found = {k: better[text] for k, text, _ in texts if text in better}
    for k, match in parts.items():
        if match["word"] in words:
            found.setdefault(k, match["head"] + words[match["word"]] + match["tail"])
    if texts.rows(found) >= REPEATS:
        confidence = SURE
    for k, text in found.items():
        rows = texts.counts[texts.column.index[text]] if text in texts.column.index else 0
        known = f"{rows} rows have {text!r}" if rows else f"others are written like {text!r}"
        yield k, text, confidence, f"{known}, observed {values[k]!r}: format"


def second_forms(counts: Counter[str], total: int) -> dict[str, str]:
    """Rare words with the frequent one that they abbreviate or spell out, or that means the same.

    Example:
        >>> second_forms(Counter({"Street": 60, "Road": 30, "St.": 4, "Rd": 2, "Roa": 2}), 98)
        {'St.': 'Street', 'Roa': 'Road'}
    """
    own: list[str] = []
    words: list[str] = []
    found: dict[str, int] = {}
    same_truth: dict[str, int] = {}
    covered = 0
    for text, rows in counts.most_common():
        word = _plain(text)
        at = _abbreviated(word, words)
        same = next((a for a, other in enumerate(words) if _truth(other) == _truth(word) >= 0 and other != word), -1)
        if at >= 0 or same >= 0:
            (found if at >= 0 else same_truth)[text] = max(at, same)
            covered += rows
        elif covered < FORMAT_SHARE * total or rows > SHARE * counts[own[-1]]:  # as frequent as the others
            own.append(text)
            words.append(word)
            covered += rows
            if len(own) > FEW_NUMBERS:
                return {}
    logical = len(own) == 2 and {_truth(word) for word in words} == {0, 1}
    found |= same_truth if logical else {}
    if len(own) < 2 or not found or covered < FORMAT_SHARE * total:
        return {}
    hits = np.bincount(list(found.values()), weights=[counts[text] for text in found], minlength=len(own))
    sizes = hits + [counts[text] for text in own]
    struck = hits > 0
    # of the values that have a second form; the standard error is that of chance
    uneven = dispersion(hits[struck], sizes[struck]) - 1 > CHANCE * math.sqrt(2 / max(struck.sum() - 1, 1))
    if (hits > SHARE * sizes).any() or (not logical and (uneven or struck.sum() < 2)):
        return {}
    return {text: own[at] for text, at in found.items()}


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
