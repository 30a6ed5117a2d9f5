"""One column of a table: its kind, and the conversion between its values and numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from magnet.arrays import Bools, Floats

Kind = Literal[
    "binary", "count", "continuous", "categorical", "id", "label", "date", "text", "constant", "empty", "excluded"
]
KINDS: tuple[str, ...] = get_args(Kind)
USED = ("binary", "count", "continuous", "categorical")

SIGNIFICANT = 6  # digits of a suggestion if the column has no fixed number of decimals
MAX_PLACES = 320  # digits behind the point that the smallest float needs
WILDEST = 1e12  # spreads from the middle: further out only overflows

MISSING = ("", "na", "n/a", "#n/a", "nan", "null", "<na>")


@dataclass(frozen=True)
class Field:
    """A column and its code.

    Args:
        name: the column's name.
        kind: kind of the values; only ``binary``, ``count``, ``continuous`` and ``categorical`` columns are cleaned.
        note: reason for this kind.
        given: whether the user gave the kind.
        text: the cells are strings (also where they hold numbers).
        comma: numbers are written with a decimal comma.
        group: what separates thousands, such as ``,`` in ``1,523``; empty where nothing does.
        decimals: digits behind the point that values are rounded to; ``None`` leaves them.
        places: digits behind the point that are written at least (``57.0`` has one).
        exponent: some numbers are written with an exponent (``1.5e-7``).
        low: smallest number of the column; lower bound of suggestions.
        high: largest number; upper bound of suggestions.
        log: numbers are encoded on a log scale.
        unit: with ``log``, numbers are encoded as ``asinh(v / unit)``.
        center: numbers are encoded as ``(v - center) / scale``.
        scale: see ``center``.
        values: the two values of a binary column (0, 1), or the categories.
        missing: text that means "missing", in lower case.
    """

    name: str
    kind: Kind
    note: str = ""
    given: bool = False
    text: bool = True
    comma: bool = False
    group: str = ""
    decimals: int | None = None
    places: int = 0
    exponent: bool = False
    low: float = -np.inf
    high: float = np.inf
    log: bool = False
    unit: float = 1.0
    center: float = 0.0
    scale: float = 1.0
    values: tuple[Any, ...] = ()
    missing: tuple[str, ...] = MISSING

    @property
    def used(self) -> bool:
        return self.kind in USED

    @property
    def width(self) -> int:
        """How many encoded columns it takes."""
        return 0 if not self.used else len(self.values) if self.kind == "categorical" else 1

    def encode(self, series: pd.Series) -> tuple[Floats, Bools, Bools]:
        """``[n, width]`` numbers (NaN: none), which cells are missing, which hold what the column cannot hold."""
        missing = is_missing(series, self.missing)
        if self.kind in ("categorical", "binary"):
            codes = _codes(series, self.values)
            known = codes >= 0
            if self.kind == "binary":
                x = np.where(known, codes, np.nan)[:, None].astype(np.float64)
                return x, missing, ~known & ~missing
            x = np.full((len(series), len(self.values)), np.nan)
            x[known] = 0.0
            x[known, codes[known]] = 1.0
            # a category that was not seen when the schema was made may be as good as any: unknown, not wrong
            return x, missing, np.zeros(len(series), dtype=bool)
        number = numbers(series, self.comma, self.group)
        number[~np.isfinite(number)] = np.nan
        if self.log:
            number = np.arcsinh(number / self.unit)
        code = (number / self.scale - self.center / self.scale).clip(-WILDEST, WILDEST)
        return code[:, None], missing, np.isnan(number) & ~missing

    def quantity(self, x: Floats) -> Floats:
        """Encoded numbers back in the user's units, not rounded."""
        value = np.asarray(x, dtype=np.float64) * self.scale + self.center
        return np.sinh(value) * self.unit if self.log else value

    def decode(self, x: Floats) -> list[Any]:
        """User values for encoded ``[k, width]`` estimates: categories as they are, numbers as text."""
        if self.kind == "categorical":
            return [self.values[k] for k in np.asarray(x).argmax(axis=1)]
        if self.kind == "binary":
            return [self.values[int(k)] for k in np.asarray(x)[:, 0] >= 0.5]
        with np.errstate(over="ignore", invalid="ignore"):
            value = self.quantity(np.asarray(x)[:, 0])
            value = np.where(np.isnan(value), self.quantity(np.zeros(1)), value).clip(self.low, self.high)
            if self.decimals is not None:
                rounded = np.round(value, self.decimals) + 0.0  # no negative zero
                value = np.where(np.isfinite(rounded), rounded, value)  # the largest floats overflow
        return [self.write(float(v)) for v in value]

    def write(self, value: float) -> str:
        """A number the way this column writes its numbers; for a column that is not text, in plain digits.

        Example:
            >>> Field("pay", "count", decimals=0, group=",").write(3038190000.0)
            '3,038,190,000'
            >>> Field("price", "continuous", decimals=2, places=2, comma=True).write(1.5)
            '1,50'
        """
        if not np.isfinite(value):
            raise ValueError(f"column {self.name!r} has no finite value to write")
        if self.exponent and self.decimals is None:
            return self._marked(f"{value:.{SIGNIFICANT}g}")
        decimals = self.decimals
        if decimals is None:
            size = int(np.floor(np.log10(abs(value)))) if value else 0
            decimals = min(MAX_PLACES, max(0, SIGNIFICANT - 1 - size))
        digits = max(decimals, self.places)
        text = f"{value:,.{digits}f}" if self.group else f"{value:.{digits}f}"
        if "." in text:
            whole, _, rest = text.partition(".")
            rest = rest[: self.places] + rest[self.places :].rstrip("0")
            text = f"{whole}.{rest}" if rest else whole
        return self._marked("0" if text == "-0" else text)

    def _marked(self, text: str) -> str:
        """With the column's own decimal and thousands marks."""
        return text.translate({ord(","): self.group, ord("."): "," if self.comma else "."})


def is_missing(series: pd.Series, words: tuple[str, ...] = MISSING) -> Bools:
    """Cells without a value: null, or text that means missing."""
    missing = series.isna().to_numpy(dtype=bool)
    if is_text(series):
        disguised = series.astype("str").str.strip().str.lower().isin(words).to_numpy(dtype=bool, na_value=False)
        missing = missing | disguised
    return missing


def is_text(series: pd.Series) -> bool:
    return pd.api.types.is_string_dtype(series.dtype) or series.dtype == object


def numbers(series: pd.Series, comma: bool = False, group: str = "") -> Floats:
    """The cells as numbers, NaN where they are none.

    Args:
        comma: the decimal mark is a comma.
        group: the mark between thousands. (default: none)
    """
    if not is_text(series):
        return pd.to_numeric(series, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan).copy()
    text = series.astype("str").str.strip()
    if group:
        grouped = text.str.fullmatch(grouped_number(group, comma)).to_numpy(dtype=bool, na_value=False)
        text = text.where(~grouped, text.str.replace(group, "", regex=False))
    if comma:
        text = text.str.replace(".", "_", regex=False).str.replace(",", ".", regex=False)
    return pd.to_numeric(text, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan).copy()


def grouped_number(group: str, comma: bool) -> str:
    """The pattern of a number with its thousands set apart."""
    return rf"[+-]?[1-9]\d{{0,2}}(?:{re.escape(group)}\d{{3}})+(?:{',' if comma else '[.]'}\d+)?"


def _codes(series: pd.Series, values: tuple[Any, ...]) -> NDArray[np.int64]:
    """The place of each cell in ``values``, -1 where it is not in it."""
    if is_text(series):
        index = pd.Index([str(value) for value in values], dtype="str")
        return index.get_indexer(series.astype("str").str.strip()).astype(np.int64)
    return pd.Index(list(values)).get_indexer(pd.Index(series)).astype(np.int64)
