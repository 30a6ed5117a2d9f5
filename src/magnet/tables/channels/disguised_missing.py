"""Disguised missing values (Pearson 2006): texts and numbers that mean "no value", such as ``N/A``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from magnet.tables.channels.base import WrongText, text_test
from magnet.tables.coded import CodedTable, Texts
from magnet.tables.findings import Finding
from magnet.tables.located import located
from magnet.tables.options import REPEATS, SURE
from magnet.tables.roles.dates import day_number
from magnet.tables.roles.patterns import SENTINELS, disguised_blank, number

WORDS = frozenset(("unknown", "unk", "none", "missing", "-", ".", "unspecified", "undefined", "not applicable", "tbd"))
MARKED = 0.85  # confidence in a blank for a mark (***) in a column with few blanks: it may have replaced a value
LEVEL_SHARE = 0.01  # of a category from which N/A may be one of its levels
LEVEL = 0.6  # probability that it stands for a blank there, if the category has no blanks (not swept)
LABELS = ("category", "text", "code", "identifier")  # roles in which N/A may be the name of something
ONE_NOTATION = 0.8  # share of the missing cells of columns with a mark from which the mark is how they write blanks
BLANKS = 0.2  # share of blanks from which a column is optional
MAX_FILL_SHARE = 0.5  # a text that fills half of a column is a value of it
MIN_OTHERS = 10  # numbers or dates that show a range which -999 lies outside of (not swept)
OUTSIDE = 0.5  # of that range, by which it must lie outside (not swept)
# digits of a code such as 9999 that stands for no code, and how many times as often as nearly all others (not swept)
MIN_DIGITS, MIN_REPEATS, NEARLY_ALL = 4, 5, 0.99


def rewrite(table: CodedTable) -> Iterator[tuple[int, Finding]]:
    """Disguised blanks become blanks, with two exceptions.

    ``N/A`` in a column of labels without blanks is a value of its own where another column explains in which rows it
    stands: it means "not applicable", or is the symbol of a firm. And a word or mark that is nearly the only writing of
    missing values in several columns is the notation of the table: it is not rewritten, and not listed if other columns
    explain where it stands in one of them, as where two answers of a person are missing together.
    """
    found: dict[tuple[int, int], list[Finding]] = defaultdict(list)
    for j, finding in _marks(table):
        found[j, int(table.columns[j].read[finding.row])].append(finding)

    @cache
    def explained(j: int, code: int) -> bool:
        return located(table, j, table.columns[j].read == code)

    notation = _notation(table, list(found))
    settled = any(explained(j, code) for j, code in notation)
    text_of = {(j, code): table.columns[j].values[code].casefold() for j, code in found}
    answers = {text_of[key] for key, findings in found.items() if findings[0].confidence <= MARKED}
    for (j, code), findings in found.items():
        column = table.columns[j]
        if (j, code) in notation:
            if not settled:
                yield from ((j, replace(f, confidence=min(f.confidence, MARKED))) for f in findings)
            continue
        label = column.role.name in LABELS and not column.blanks(column.read).any()
        repeated = len(findings) >= REPEATS
        if not (label and repeated and explained(j, code)):
            # an answer in one column is one in the next, and a rare text may be a name
            sure = text_of[j, code] not in answers and (repeated or not label or column.role.name != "text")
            highest = SURE if sure else MARKED
            likely = LEVEL if label and len(findings) >= LEVEL_SHARE * table.num_rows else 1.0
            for f in findings:
                probability = min(f.probability, likely)
                yield j, replace(f, probability=probability, confidence=min(f.confidence, highest))


def _notation(table: CodedTable, marks: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """The marks, as column and code, by which the table writes missing values; none if it has several notations, or
    its columns with a mark have many blanks."""
    texts = Counter[str]()
    columns = {j for j, _ in marks}
    missing = sum(int(table.columns[j].blanks(table.columns[j].read).sum()) for j in columns)
    for j, code in marks:
        column = table.columns[j]
        texts[column.values[code]] += int(column.read_counts()[code])
    own, most = texts.most_common(1)[0] if texts else ("", 0)
    held = {(j, code) for j, code in marks if table.columns[j].values[code] == own}
    one = disguised_blank(own) and most >= ONE_NOTATION * (texts.total() + missing)
    return held if one and len(held) > 1 else set()


@text_test("missing", min_rows=1)
def _marks(texts: Texts) -> Iterator[WrongText]:
    """Texts that stand for a blank.

    A text of the list (``N/A``, ``***``) is one unless it, or such marks, fill most of the column, or most values are
    letters of the same length and case; a word that may also name a category (``unknown``) only in columns of numbers,
    dates and codes. A number or date of the list (``-999``, ``1900-01-01``) is one if it is repeated and lies outside
    the range of all others by half that range, or is the only negative one.
    """
    marks = texts.only(lambda text: not _words(text)).total
    forms = texts.only(str.isalpha).tally(_form)
    optional = texts.total < (1 - BLANKS) * len(texts.column.read)
    words = texts.column.role.name in ("category", "text")
    for k, text, rows in texts:
        if not (_disguised(text, texts.column.role.name) or _sentinel(k, text.strip(), texts)):
            continue
        if rows > MAX_FILL_SHARE * texts.total or (marks > MAX_FILL_SHARE * texts.total and not _words(text)):
            continue
        if text.isalpha() and forms[_form(text)] >= MAX_FILL_SHARE * texts.total:  # NA among DE and FR is Namibia
            continue
        confidence = SURE if _words(text) or optional else MARKED
        if words and rows >= LEVEL_SHARE * texts.total and _words(text):  # an answer, as "none" and "no" are
            confidence = MARKED
        yield k, "", confidence, f"{text!r} stands for a missing value (in {rows} cell{'s'[: rows - 1]}): missing"


def _form(text: str) -> tuple[int, bool, bool]:
    """Length and case."""
    return len(text), text.isupper(), text.islower()


def _words(text: str) -> bool:
    """Whether a text has letters or digits."""
    return any(c.isalnum() for c in text)


def _disguised(text: str, role: str) -> bool:
    if not disguised_blank(text):
        return False
    return text.strip().casefold() not in WORDS or role in ("quantity", "unit", "date", "time", "phone")


def _sentinel(code: int, text: str, texts: Texts) -> bool:
    role, counts = texts.column.role.name, texts.counts
    if text not in SENTINELS or counts[code] < REPEATS:
        return False
    if role in ("quantity", "unit", "date"):
        measure = day_number if role == "date" else number
        own = measure(text)
        others = [x for k, other, _ in texts if k != code and (x := measure(other)) is not None]
        if own is None or len(others) < MIN_OTHERS:
            return False
        low, high = min(others), max(others)
        return own < 0 <= low or own < low - OUTSIDE * (high - low) or own > high + OUTSIDE * (high - low)
    if role in ("code", "identifier", "phone"):
        rest = np.delete(counts, code)
        usual = max(int(np.quantile(rest, NEARLY_ALL)), 1)
        return len(set(text)) == 1 and len(text) >= MIN_DIGITS and counts[code] >= MIN_REPEATS * usual
    return False
