"""A value with spaces or capitals that the column does not use: `` Ulm``, ``Bad  Tölz``, ``ULM`` among ``Ulm``."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from magnet.tables.channels.base import WrongText, text_test
from magnet.tables.coded import Texts
from magnet.tables.options import REPEATS, SURE, UNSURE

TIMES = 3  # a spelling that often as frequent as another one of the same letters is the right one
STYLE = 0.9  # share of one style of capitals from which it is the column's own
PROCESS = 0.005  # share of exceptions from which they show a process of errors
# other white space is set on purpose, and so are two spaces behind a sentence (behind a word, not an abbreviation)
SPACES = re.compile(r"(?<![^\W\d_]{4}[.!?:])[ \t]+")
WORD = re.compile(r"[^\W\d_]+")
LETTERS = 3  # fewer letters may be an abbreviation
STYLES = {"upper": str.upper, "lower": str.lower, "title": str.title}


@text_test("format")
def rewrite(texts: Texts) -> Iterator[WrongText]:
    """Cells that differ from the right text in white space or capitals only.

    White space at the ends or repeated inside is wrong unless half of the column has it, or all of several rows with
    the same words. Capitals are wrong where a far more frequent text has the same letters, or where nearly the entire
    column is in capitals, in small letters, or capitalized, and this cell is in another of these styles.
    """
    yield from _spaces(texts)
    yield from _capitals(texts)


def _tidy(text: str) -> str:
    """Without extra white space; texts of several lines are laid out on purpose."""
    return text if "\n" in text else SPACES.sub(" ", text).strip(" \t")


def _spaces(texts: Texts) -> Iterator[WrongText]:
    odd = texts.only(lambda text: text != _tidy(text))
    if odd.total > 0.5 * texts.total:
        return
    confidence = certainty(odd.total, texts.total)
    for k, text, rows in odd:
        if rows < REPEATS or _tidy(text) in texts.column.index:
            yield k, _tidy(text), confidence, f"{text!r} has extra white space: format"


def certainty(hits: int, total: int) -> float:
    """A lone exception may be meant; several show a process of errors."""
    return SURE if hits >= max(REPEATS, PROCESS * total) else UNSURE


def _style(text: str) -> str | None:
    """How a text uses capitals: upper, lower, title, or none of these."""
    if sum(c.isalpha() for c in text) < LETTERS:
        return None
    return next((name for name, write in STYLES.items() if write(text) == text), None)


def _capitals(texts: Texts) -> Iterator[WrongText]:
    leader: dict[str, tuple[int, str]] = {}  # by its letters: the most frequent writing of a value
    for _, text, rows in texts:
        key = _tidy(text).casefold()
        if rows > leader.get(key, (0, ""))[0]:
            leader[key] = rows, text
    with_letters = texts.only(lambda text: any(c.isalpha() for c in text))
    styles, total = with_letters.tally(_style), with_letters.total
    own, most = styles.most_common(1)[0] if styles else (None, 0)
    if most < STYLE * total:
        own = None
    words = {word for _, text, _ in texts if _style(text) == own for word in WORD.findall(text)} if own else set()
    found: list[tuple[int, str, bool, str]] = []
    for k, text, rows in texts:
        times, better = leader[_tidy(text).casefold()]
        if times >= TIMES * rows and _tidy(text) != _tidy(better):
            found.append((k, better, True, f"{times} rows have {better!r}, observed {text!r}: format"))
        elif own and rows < REPEATS and _style(text) not in (own, None):
            better = STYLES[own](text)
            known = float(np.mean([word in words for word in WORD.findall(better)]))
            if own != "title" or known >= 0.5:  # others are abbreviations and names with capitals of their own
                why = f"{most} of {total} cells are in {own} case, this one is not: format"
                found.append((k, better, known >= (1 if own == "title" else 0.5), why))
    confidence = certainty(texts.rows(k for k, *_ in found), total)
    for k, better, sure, why in found:
        yield k, better, confidence if sure else UNSURE, why
