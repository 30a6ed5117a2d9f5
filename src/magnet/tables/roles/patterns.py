"""Texts that look like numbers, numbers with units, phones, or nothing at all."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache

NUMBER = re.compile(r"[-+]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?")
UNIT_NUMBER = re.compile(
    r"\s*(?P<before>[^\w\s\-+.,:/()<>≤≥~≈±=]{1,3}\s?|[^\W\d_]{1,3}\s)?"  # $5 and USD 5; src5 is a name, <5 a bound
    r"(?P<number>[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|[-+]?\.\d+)"
    r"\s*(?P<after>%|[^\W\d_][^\d,;:/()]{0,23}(?:/[^\W\d_]{1,4})?)?\s*"  # min, m/s
)
DISGUISED_TEXTS = """n/a, na, n.a., nan, null, none, nil, ?, ??, ???, -, --, ---, ., *, **, ***, ****, unknown, unk,
#n/a, #null!, #value!, #ref!, #div/0!, missing, (missing), tbd, tba, n/k, not_available, unspecified, undefined, <na>,
<null>, (null), [null], not available, not applicable, not known, no data, not specified, not provided, not reported,
(not available), data not available, no value"""
DISGUISED = frozenset(t.strip() for t in DISGUISED_TEXTS.split(","))
SENTINEL_TEXTS = """-1, -9, -99, -999, -9999, -99999, 99, 999, 9999, 99999, 999999, -999.0, -9999.0, 999.0, 9999.0,
1900-01-01, 01/01/1900, 1/1/1900, 1970-01-01, 01/01/1970, 9999-12-31, 12/31/9999, 0000-00-00, 00/00/0000"""
SENTINELS = frozenset(t.strip() for t in SENTINEL_TEXTS.split(","))
PHONE = re.compile(r"\+?\d{0,3}[\s.-]?\(?\d{3}\)?[\s./-]{0,2}\d{3}[\s.-]?\d{4}(?:\s*(?:x|ext\.?)\s*\d+)?")


WITH_COMMA = re.compile(r"\s*[-+]?(?:\d{1,3}(?:\.\d{3})+|\d+),(?:\d{1,2}|\d{4,})(?:\s*[^\d.,]{1,5})?\s*")
NO_COMMA = re.compile(r"\s*[-+]?\d+(?:[.,]\d+)*(?:\s*[^\d.,]{1,5})?\s*")
MARK = re.compile(r"(?<=\d)[.,](?=\d)")
MAX_POINTS, PARSED = 0.3, 0.85  # decimal points per decimal comma, and share of the texts that are numbers (not swept)
BINARY_LENGTH, DIGITS, SHORTER = 17, 12, 5  # characters of a binary fraction, its digits that count, those it loses
COMMAS = 0.3  # share of numbers such as 3,14 from which a column has decimal commas, if the others can be read so too


def decimal_commas(counts: Mapping[str, int]) -> bool:
    """Whether a column writes decimal commas, from its texts and how often each occurs.

    Example:
        >>> decimal_commas({"3,14": 5, "1.250,7": 2, "8": 3}), decimal_commas({"3,14": 1, "1,250": 5, "3.1": 9})
        (True, False)
    """
    filled = {text: rows for text, rows in counts.items() if not blank(text) and not disguised_blank(text)}
    total = sum(filled.values())
    certain = sum(rows for text, rows in filled.items() if WITH_COMMA.fullmatch(text))
    if certain < COMMAS * total or not certain:
        return False
    others = sum(rows for text, rows in filled.items() if NO_COMMA.fullmatch(text) and "," in text)
    points = sum(rows for text, rows in filled.items() if number(text) is not None and re.search(r"\.\d", text))
    lists = sum(rows for text, rows in filled.items() if text.count(",") > 1)
    whole = sum(rows for text, rows in filled.items() if text.strip().isdigit())
    return others + whole + points >= PARSED * total and points <= MAX_POINTS * certain and not lists


def exchange_marks(text: str) -> str:
    """A text with the decimal points and commas of its numbers exchanged.

    Example:
        >>> exchange_marks("1.250,75 EUR")
        '1,250.75 EUR'
    """
    return MARK.sub(lambda match: "," if match[0] == "." else ".", text)


@lru_cache(1 << 18)  # every step asks for the same texts again
def number(text: str) -> float | None:
    """The number a text is, or None; underscores, infinities and words are not numbers.

    Example:
        >>> number("1,234.5"), number("1e3"), number("12 oz"), number("nan")
        (1234.5, 1000.0, None, None)
    """
    bare = text.strip()
    if not bare.isascii() or not NUMBER.fullmatch(bare):
        return None
    value = float(bare.replace(",", ""))
    return value if math.isfinite(value) else None


def shortest(text: str) -> str:
    """A decimal number in its shortest exact writing: no separators, no trailing zeros.

    Example:
        >>> shortest("12.0"), shortest("1,250.50"), shortest("7000"), shortest("12345678901234567890")
        ('12', '1250.5', '7000', '12345678901234567890')
    """
    plain = format(Decimal(text.replace(",", "")), "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def without_noise(text: str) -> str:
    """A decimal number without the noise of binary fractions; others unchanged.

    Example:
        >>> without_noise("0.055999999999999994"), without_noise("0.05"), without_noise("3.14159265358979")
        ('0.056', '0.05', '3.14159265358979')
    """
    if len(text) < BINARY_LENGTH or "." not in text or number(text) is None:
        return text
    short = format(float(text.replace(",", "")), f".{DIGITS}g")
    return short if len(short) <= len(text) - SHORTER and "e" not in short else text


def disguised_blank(text: str) -> bool:
    """Whether a text means that there is no value (``N/A``, ``***``, ``unknown``).

    Example:
        >>> [disguised_blank(t) for t in ("N/A", "***", "Nancy", "0")]
        [True, True, False, False]
    """
    return text.strip().casefold() in DISGUISED


def blank(text: str) -> bool:
    """Whether a text is empty or only white space."""
    return not text.strip()
