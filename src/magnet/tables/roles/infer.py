"""Roles of columns: an ordered registry of tests, the first that holds decides."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from magnet.tables.roles.base import Role
from magnet.tables.roles.dates import DATE_SHARE, is_moment, parse_moment
from magnet.tables.roles.patterns import PHONE, UNIT_NUMBER, disguised_blank, number

if TYPE_CHECKING:
    from magnet.tables.coded import CodedColumn, CodedTable, Texts

MIN_AGREEING = 0.7  # share of filled cells that must agree with a role; leaves room for the 25 % errors of rate_cap
UNIQUE = 0.95  # different values per filled cell from which values hardly repeat
FIXED_WIDTH = 0.85  # share of the cells of one length from which numbers have a fixed width
DETERMINED = 0.9  # share of the rows of repeated texts that hold the leading number of their text
REPEATED = 0.3  # share of the rows whose text must repeat for that
MIN_LABELS = 10  # different texts that it is judged by
CODE_DIGITS = 5  # from which whole numbers of one length are codes (not swept)
PHONE_DIGITS = (10, 11)  # of a telephone number without marks, where the header says that it is one
MIN_STEPS, RUNNING = 10, 0.8  # rows, and share of them, that follow the row before by one (not swept)
ROUND = 0.95  # share of numbers that end in 00, where one in a hundred would by chance (not swept)
SINGLE_WORDS = 1.5  # words per text below which texts that hardly repeat are identifiers (not swept)
REPEATING = 0.5  # different texts per filled cell up to which they are categories (not swept)
READ_TEXTS = 200  # by which columns of numbers are distinguished from texts
FEW_UNITS = 12  # writings of a unit in one column; more are words, as in addresses
LABEL = re.compile(
    r"(^|[^a-z])(id|code|zip|zipcode|fips|phone|fax|key|(?<!per.)year|postal|issn|isbn)($|[^a-z])"
    r"|(^|[^a-z])(no|nr|num|number)[^a-z]*$"  # "house number", but not "number of deaths"
    r"|^\W*index\W*$|(id|code|zip|fips|phone|(?<!per.)year|issn|isbn)$",
    re.I,
)
ENDS_IN_ID = re.compile(r"(valid|paid|solid|liquid|fluid|acid|covid|hybrid|(^|[^a-z])(bid|aid))$", re.I)
WHOLE = re.compile(r"-?\d+|-?\d(?:\.\d+)?E\+\d{2}")  # spreadsheets write long whole numbers with an exponent
PHONE_NAME = re.compile(r"phone|fax|tel($|[^a-z])|mobile", re.I)


def _empty(texts: Texts, table: CodedTable) -> Role | None:
    return Role("empty", "every cell is blank") if texts.total == 0 else None


def _constant(texts: Texts, table: CodedTable) -> Role | None:
    (_, text, _), *others = texts
    return None if others else Role("constant", f"every filled cell is {text!r}")


def _phone(texts: Texts, table: CodedTable) -> Role | None:
    def dialed(text: str) -> bool:
        return PHONE.fullmatch(text.strip()) is not None and (
            not text.strip().isdigit() or (named and len(text.strip()) in PHONE_DIGITS)
        )

    named = bool(PHONE_NAME.search(texts.column.name))
    phones = texts.at_least(MIN_AGREEING, dialed)
    if phones is None:
        return None
    return Role("phone", f"{phones.total / texts.total:.0%} of the filled cells are written like phones")


def _moment(texts: Texts, table: CodedTable) -> Role | None:
    moments = texts.at_least(DATE_SHARE, is_moment)
    if moments is None:
        return None
    times = moments.only(lambda t: bool((m := parse_moment(t)) and not m[0].date)).total
    name = "date" if moments.total - times >= times else "time"
    return Role(name, f"{moments.total / texts.total:.0%} of the filled cells are dates or times")


def _numeric(texts: Texts, table: CodedTable) -> Role | None:
    numbers = [(text, rows) for _, text, rows in texts if number(text) is not None]
    rows_with_number = sum(rows for _, rows in numbers)
    if rows_with_number < MIN_AGREEING * texts.total:
        return None
    whole = all(WHOLE.fullmatch(v.strip()) for v, _ in numbers)
    lengths = np.bincount([len(v.strip()) for v, _ in numbers], weights=[c for _, c in numbers])
    width, fixed = int(lengths.argmax()), bool(lengths.max() >= FIXED_WIDTH * texts.total)
    fixed &= not _runs_on(numbers, width) and not _rounded(numbers)
    zeros = any(len(v) > 1 and v[0] == "0" and v.isdigit() for v, _ in numbers)
    header = re.sub(r"\(.*?\)", "", texts.column.name).strip()
    named = LABEL.search(header) is not None and ENDS_IN_ID.search(header) is None
    label = (
        whole and len(numbers) > 2 and (named or zeros or _running(texts.column) or _labels_text(texts.column, table))
    )
    unique = len(texts.codes) > UNIQUE * texts.total
    if whole and unique and (fixed or label) and not any(v.startswith("-") for v, _ in numbers):
        return Role("identifier", "whole numbers that hardly repeat and are written alike")
    if label or (whole and fixed and width >= CODE_DIGITS and not any(v.startswith("-") for v, _ in numbers)):
        return Role("code", f"integers used as identifiers, mostly {width} digits")
    return Role("quantity", f"{rows_with_number / texts.total:.0%} of the filled cells are numbers")


def _runs_on(numbers: list[tuple[str, int]], width: int) -> bool:
    """Whether numbers of other lengths continue those of the usual length: 98,000 beside 104,000 and 9,700.

    Sizes run across the border between lengths; labels do not, and a dropped or doubled digit leads to any number.
    """
    low, high = 10.0 ** (width - 1), 10.0**width
    sizes = [(abs(x), c) for v, c in numbers if (x := number(v)) is not None]
    above, below = sum(c for x, c in sizes if x >= high), sum(c for x, c in sizes if x < low)
    near = sum(c for x, c in sizes if low / 2 <= x < low or high <= x < 2 * high)
    by_chance = above / 9 + 5 * below / 9  # of numbers of one digit more or less
    return bool(near > by_chance + 3 * np.sqrt(by_chance) + 2)


def _rounded(numbers: list[tuple[str, int]]) -> bool:
    """Whether different numbers are nearly all multiples of a hundred, as prices and populations are; labels use their
    digits, or they repeat."""
    total = sum(rows for _, rows in numbers)
    round_rows = sum(rows for text, rows in numbers if text.strip().endswith("00"))
    return round_rows >= ROUND * total and len(numbers) > REPEATING * total


def _running(column: CodedColumn) -> bool:
    """Whether most rows hold the number of the row before plus one."""
    numbers = np.array([x if (x := number(v)) is not None else np.nan for v in column.values])
    rows = numbers[column.read]
    steps = np.diff(rows[np.isfinite(rows)])
    return len(steps) > MIN_STEPS and float((steps == 1).mean()) > RUNNING


def _labels_text(column: CodedColumn, table: CodedTable) -> bool:
    """Whether a text column determines these whole numbers: then they are labels of its values."""
    for other in table.columns:
        if other is column or len(other.values) < MIN_LABELS:
            continue
        counts = other.read_counts()
        texts = other.values[:READ_TEXTS]
        if sum(number(v) is not None for v in texts) > 0.5 * len(texts):
            continue
        big = counts[other.read] > 1
        if big.sum() < REPEATED * len(big) or (counts > 1).sum() < MIN_LABELS:
            continue
        keys = other.read[big] * len(column.values) + column.read[big]
        pairs, sizes = np.unique(keys, return_counts=True)
        leading = np.zeros(len(other.values), dtype=np.int64)
        np.maximum.at(leading, pairs // len(column.values), sizes)
        if leading.sum() > DETERMINED * big.sum():
            return True
    return False


def _unit(texts: Texts, table: CodedTable) -> Role | None:
    written = {k: match["before"] or match["after"] for k, match in texts.matching(UNIT_NUMBER).items()}
    units = texts.tally_codes({k: unit.strip() for k, unit in written.items() if unit})
    share = sum(rows for _, rows in units.most_common(FEW_UNITS)) / texts.total
    if share < MIN_AGREEING:
        return None
    shown = ", ".join(repr(u) for u, _ in units.most_common(3))
    return Role("unit", f"{share:.0%} of the filled cells are numbers with a unit ({shown})")


def _words(texts: Texts, table: CodedTable) -> Role:
    distinct = len(texts.codes)
    if distinct > UNIQUE * texts.total and np.mean([len(text.split()) for _, text, _ in texts]) < SINGLE_WORDS:
        return Role("identifier", "single words that hardly repeat")
    name = "category" if distinct <= REPEATING * texts.total else "text"
    return Role(name, f"{distinct} different texts in {texts.total} filled cells")


TESTS: tuple[Callable[[Texts, CodedTable], Role | None], ...] = (
    _empty,
    _constant,
    _phone,
    _moment,
    _numeric,
    _unit,
    _words,
)


def infer_role(column: CodedColumn, table: CodedTable) -> Role:
    """The role of a column: the first test of the registry that holds."""
    texts = column.texts().only(lambda text: not disguised_blank(text))
    return next(role for test in TESTS if (role := test(texts, table)) is not None)
