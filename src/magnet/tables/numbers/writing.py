"""Numbers read from texts, and written the way their column writes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from magnet.tables.numbers.arrays import Floats
from magnet.tables.roles.patterns import number

LOOKED_AT = 200  # distinct values that show how the column writes


def read_numbers(texts: Sequence[str]) -> Floats:
    """The numbers that texts are, NaN where one is none.

    Example:
        >>> read_numbers(["1,200", "x", "-3.5"]).tolist()
        [1200.0, nan, -3.5]
    """
    found = (number(text) for text in texts)
    return np.array([np.nan if value is None else value for value in found], dtype=np.float64)


def written_like(value: Decimal, texts: Sequence[str], exact: bool = False, width: float = 0.0) -> str:
    """A number with the decimals and separators that the texts of its column have; never in scientific notation.

    Args:
        value: the number.
        texts: values of the column.
        exact: keep all digits of the number, even beyond the usual decimals (default: ``False``).
        width: how far the number may be off; decimals that mean nothing beside it are left out (default: ``0.0``).

    Example:
        >>> written_like(Decimal("1234.5"), ["7.00", "8.25"]), written_like(Decimal("1e4"), ["5,000", "7,100"])
        ('1234.50', '10,000')
    """
    decimals, commas, seen = Counter[int](), 0, 0
    for text in texts[:LOOKED_AT]:
        if number(text) is None or "e" in text.lower():
            continue
        decimals[len(text.strip().partition(".")[2])] += 1
        seen += 1
        commas += "," in text
    usual = decimals.most_common(1)[0][0] if decimals else 0
    if exact:
        needed = -int(value.normalize().as_tuple().exponent)
        usual = max(usual, needed) if needed > 0 else usual
    elif width > 0:
        usual = max(min(usual, 1 - int(f"{width:e}".partition("e")[2])), min(usual, 1))
    plain = f"{value:.{usual}f}"
    if float(plain) == 0:
        plain = plain.lstrip("-")
    if commas and commas >= 0.5 * sum(1 for t in texts[:LOOKED_AT] if (number(t) or 0) >= 1000):
        head, _, tail = plain.partition(".")
        plain = f"{int(head):,}" + (f".{tail}" if tail else "")
    return plain
