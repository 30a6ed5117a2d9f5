"""A text that cannot be read as what its column holds: ``2/28/217`` among dates, ``1o3`` among numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from magnet.tables.channels.base import ODD_FORM, WrongText, text_test
from magnet.tables.coded import Texts
from magnet.tables.options import MIN_ROWS, REPEATS
from magnet.tables.roles.dates import impossible_date, is_moment
from magnet.tables.roles.patterns import UNIT_NUMBER, disguised_blank, number

BOUND = re.compile(
    r"\s*[<>≤≥~≈±=].*|.*\d\s*(?:[-–/+]|to|or)\s*(?:\d.*|more|less|)", re.S
)  # a number written in another way
READ = 0.7  # share of the cells that must be what the column holds; leaves room for a quarter of errors
MAX_WORDS = 2  # of a damaged date or number; more are an answer in words (``37 (core autism) 42 (atypical autism)``)


LETTER_FOR_DIGIT = re.compile(r"\d[OoI]\b")  # 12O is no number with a unit


def is_quantity(text: str) -> bool:
    """Whether a text is a number, with or without a unit."""
    with_unit = UNIT_NUMBER.fullmatch(text) is not None and not LETTER_FOR_DIGIT.search(text)
    return with_unit or number(text) is not None


READERS = {"date": is_moment, "time": is_moment, "quantity": is_quantity, "unit": is_quantity}


@text_test("format", ("date",), MIN_ROWS)
def impossible(texts: Texts) -> Iterator[WrongText]:
    """Dates that do not exist (``2022-02-30``), unless one comes back: a convention. The right date is not known."""
    known = texts.only(is_moment).total
    if known >= READ * texts.total:
        why = f"{known} of {texts.total} cells are dates, there is no such one: format"
        yield from ((k, None, 0.0, why) for k, text, rows in texts if rows < REPEATS and impossible_date(text))


@text_test("format", READERS, MIN_ROWS, ODD_FORM)
def audit(texts: Texts) -> Iterator[WrongText]:
    """Cells of columns of dates, times and numbers that are none. Repeated texts are values of their own (a
    grade, a word for none), and so are bounds and ranges of numbers and answers in words. The right text is not
    known."""
    role, total = texts.column.role, texts.total
    known = texts.only(READERS[role.name]).total
    if known < READ * total:
        return
    for k, text, rows in texts:
        if rows >= REPEATS or disguised_blank(text) or READERS[role.name](text):
            continue
        in_words = role.arithmetic and len(text.split()) > MAX_WORDS
        if not (in_words or (role.arithmetic and BOUND.fullmatch(text))):
            yield k, None, 0.0, f"{known} of {total} cells parse as a {role.name}, {text!r} does not: format"
