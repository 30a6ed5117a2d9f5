"""Texts that look like numbers, numbers with units, phones, or nothing at all."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from functools import lru_cache

NUMBER = re.compile(r"[-+]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?")
UNIT_NUMBER = re.compile(
    r"\s*(?P<before>[^\w\s\-+.,:/()<>≤≥~≈±=]{1,3}\s?|[^\W\d_]{1,3}\s)?"  # $5 and USD 5; src5 is a name, <5 a bound
    r"(?P<number>[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|[-+]?\.\d+)"
    r"\s*(?P<after>%|[^\W\d_][^\d,;:/()]{0,23})?\s*"
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
    if len(text) < 17 or "." not in text or number(text) is None:
        return text
    short = format(float(text.replace(",", "")), ".12g")
    return short if len(short) <= len(text) - 5 and "e" not in short else text


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
