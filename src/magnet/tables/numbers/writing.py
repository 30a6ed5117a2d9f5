"""Numbers read from texts, and written the way their column writes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from magnet.arrays import Floats
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


@dataclass(frozen=True)
class NumberStyle:
    """How a column writes its numbers: usual ``decimals``, and whether thousands are ``separated`` and positive numbers
    ``signed``."""

    decimals: int
    separated: bool
    signed: bool = False

    @classmethod
    def of(cls, texts: Sequence[str]) -> NumberStyle:
        """The style of most of the texts.

        Example:
            >>> NumberStyle.of(["5,000", "7,100", "x"])
            NumberStyle(decimals=0, separated=True, signed=False)
        """
        numbers = [t.strip() for t in texts[:LOOKED_AT] if number(t) is not None and "e" not in t.lower()]
        decimals = Counter(len(t.partition(".")[2]) for t in numbers)
        large = [t for t in numbers if abs(number(t) or 0.0) >= 1000]
        separated = bool(large) and sum("," in t for t in large) >= 0.5 * len(large)
        positive = [t for t in numbers if (number(t) or 0.0) > 0]
        signed = bool(positive) and sum(t[0] == "+" for t in positive) >= 0.5 * len(positive)
        return cls(decimals.most_common(1)[0][0] if decimals else 0, separated, signed)

    def write(self, value: Decimal, exact: bool = False, width: float = 0.0) -> str:
        """A number in this style, never in scientific notation.

        Args:
            value: the number.
            exact: keep all its digits, even beyond the usual decimals (default: ``False``).
            width: how far it may be off; decimals that mean nothing beside it are left out (default: ``0.0``).

        Example:
            >>> NumberStyle(2, True).write(Decimal("1234.5"))
            '1,234.50'
        """
        decimals = self.decimals
        if exact:
            decimals = max(decimals, -int(value.normalize().as_tuple().exponent))
        elif width > 0:
            decimals = max(min(decimals, 1 - int(f"{width:e}".partition("e")[2])), min(decimals, 1))
        plain = f"{value:.{decimals}f}"
        if float(plain) == 0:
            plain = plain.lstrip("-")
        if self.separated:
            head, _, tail = plain.partition(".")
            plain = f"{int(head):,}" + (f".{tail}" if tail else "")
        return f"+{plain}" if self.signed and float(plain.replace(",", "")) > 0 else plain
