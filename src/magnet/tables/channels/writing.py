"""A value with spaces or capitals that the column does not use: `` Ulm``, ``Bad  Tölz``, ``ULM`` among ``Ulm``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from magnet.tables.channels.base import Odd, per_value
from magnet.tables.coded import CodedColumn, CodedTable, Codes
from magnet.tables.findings import Finding
from magnet.tables.options import TableOptions

PROBABILITY, CONFIDENCE = 0.95, 0.96
GUESSED = 0.6  # confidence where the exception may be meant, or no cell shows the right capitals
HABIT = 3  # rows from which a spelling that is the only one of its value is a habit
TIMES = 3  # a spelling that often as frequent as another one of the same letters is the right one
STYLE = 0.9  # share of one style of capitals from which it is the column's own
PROCESS = 0.005  # share of exceptions from which they show a process of errors
SPACES = re.compile(r"[ \t]+")  # other white space is set on purpose
LETTERS = 3  # fewer letters may be an abbreviation
STYLES = {"upper": str.upper, "lower": str.lower, "title": str.title}


def rewrite(table: CodedTable, options: TableOptions) -> Iterator[tuple[int, Finding]]:
    """Cells that differ from the right text in white space or capitals only.

    White space at the ends or repeated inside is wrong unless half of the column has it, or all of several rows with
    the same words. Capitals are wrong where a far more frequent text has the same letters, or where nearly the entire
    column is in capitals, in small letters, or capitalized, and this cell is in another of these styles.
    """
    return per_value(table, options, _exceptions, "format", PROBABILITY)


def _exceptions(column: CodedColumn, held: list[int], counts: Codes, options: TableOptions) -> Iterator[Odd]:
    yield from _spaces(column, held, counts)
    yield from _capitals(column, held, counts)


def _tidy(text: str) -> str:
    return SPACES.sub(" ", text).strip(" \t")


def _spaces(column: CodedColumn, held: list[int], counts: Codes) -> Iterator[Odd]:
    odd = [k for k in held if column.values[k] != _tidy(column.values[k])]
    if counts[odd].sum() > 0.5 * counts[held].sum():
        return
    confidence = certainty(int(counts[odd].sum()), int(counts[held].sum()))
    for k in odd:
        text = _tidy(column.values[k])
        if counts[k] < HABIT or text in column.index:
            yield k, text, confidence, f"{column.values[k]!r} has white space that other cells do not have: format"


def certainty(hits: int, total: int) -> float:
    """A lone exception may be meant; several show a process of errors."""
    return CONFIDENCE if hits >= max(HABIT, PROCESS * total) else GUESSED


def _style(text: str) -> str | None:
    """How a text uses capitals: upper, lower, title, or none of these."""
    if sum(c.isalpha() for c in text) < LETTERS:
        return None
    return next((name for name, write in STYLES.items() if write(text) == text), None)


def _capitals(column: CodedColumn, held: list[int], counts: Codes) -> Iterator[Odd]:
    alike: dict[str, list[int]] = {}
    for k in held:
        alike.setdefault(_tidy(column.values[k]).casefold(), []).append(k)
    leader = {key: max(codes, key=lambda k: int(counts[k])) for key, codes in alike.items()}
    styles = Counter[str | None]()
    for k in held:
        if any(c.isalpha() for c in column.values[k]):
            styles[_style(column.values[k])] += int(counts[k])
    own, most = styles.most_common(1)[0] if styles else (None, 0)
    total = sum(styles.values())
    if most < STYLE * total:
        own = None
    words = {w for k in held if _style(column.values[k]) == own for w in column.values[k].split()} if own else set()
    found: list[tuple[int, str, bool, str]] = []
    for k in held:
        text, first = column.values[k], leader[_tidy(column.values[k]).casefold()]
        better = column.values[first]
        if counts[first] >= TIMES * counts[k] and _tidy(text) != _tidy(better):
            found.append((k, better, True, f"{int(counts[first])} rows write {better!r}, this {text!r}: format"))
        elif own and counts[k] < HABIT and _style(text) not in (own, None):
            better = STYLES[own](text)
            known = sum(w in words for w in better.split()) / max(len(better.split()), 1)
            if own != "title" or known >= 0.5:  # others are abbreviations and names with capitals of their own
                why = f"{most} of {total} cells are in {own} case, this is not: format"
                found.append((k, better, own != "title" or known == 1, why))
    confidence = certainty(sum(int(counts[k]) for k, *_ in found), total)
    for k, better, sure, why in found:
        yield k, better, confidence if sure else GUESSED, why
