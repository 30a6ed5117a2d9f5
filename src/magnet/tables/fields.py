"""One column of a user's table: what it holds, and how its values become numbers and numbers its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Mask = NDArray[np.bool_]

Kind = Literal["binary", "count", "continuous", "categorical", "id", "label", "date", "text", "constant", "empty"]
KINDS: tuple[str, ...] = get_args(Kind)
USED = ("binary", "count", "continuous", "categorical")

WILDEST = 1e12  # spreads from the middle: further out only overflows

MISSING = ("", "na", "n/a", "#n/a", "nan", "null", "<na>")


@dataclass(frozen=True)
class Field:
    """A column and its code.

    Args:
        name: the column's name.
        kind: what it holds; only ``binary``, ``count``, ``continuous`` and ``categorical`` columns are cleaned.
        note: why this kind was chosen, or what was seen.
        text: the cells are strings (also where they hold numbers).
        comma: numbers are written with a decimal comma.
        decimals: digits behind the point that values are rounded to; ``None`` leaves them.
        pointed: whole numbers are written as ``57.0``.
        log: numbers are encoded on a log scale.
        unit: with ``log``, the logarithm is that of ``1 + v / unit``.
        centre, scale: numbers are encoded as ``(v - centre) / scale``.
        values: the two values of a binary column (0, 1), or the categories.
        missing: text that means "missing", in lower case.
    """

    name: str
    kind: Kind
    note: str = ""
    text: bool = True
    comma: bool = False
    decimals: int | None = None
    pointed: bool = False
    log: bool = False
    unit: float = 1.0
    centre: float = 0.0
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

    def encode(self, series: pd.Series) -> tuple[FloatArray, Mask, Mask]:
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
        number = numbers(series, self.comma)
        number[~np.isfinite(number)] = np.nan
        if self.log:
            number[number <= -self.unit] = np.nan
            number = np.log1p(number / self.unit)
        code = (number / self.scale - self.centre / self.scale).clip(-WILDEST, WILDEST)
        return code[:, None], missing, np.isnan(number) & ~missing

    def quantity(self, x: FloatArray) -> FloatArray:
        """Encoded numbers back in the user's units, not rounded."""
        value = np.asarray(x, dtype=np.float64) * self.scale + self.centre
        return np.expm1(value) * self.unit if self.log else value

    def decode(self, x: FloatArray) -> list[Any]:
        """User values, in the user's type, for encoded ``[k, width]`` estimates."""
        if self.kind == "categorical":
            return [self.values[k] for k in np.asarray(x).argmax(axis=1)]
        if self.kind == "binary":
            return [self.values[int(k)] for k in np.asarray(x)[:, 0] >= 0.5]
        value = self.quantity(np.asarray(x)[:, 0])
        if self.decimals is not None:
            value = np.round(value, self.decimals) + 0.0  # no negative zero
        if self.text:
            return [self.write(v) for v in value]
        whole = self.decimals == 0
        return [int(v) if whole else float(v) for v in value]

    def write(self, value: float) -> str:
        """A number the way this column writes its numbers."""
        text = f"{value:.6g}" if self.decimals is None else f"{value:.{self.decimals}f}" + ".0" * self.pointed
        return text.replace(".", ",") if self.comma else text


def is_missing(series: pd.Series, words: tuple[str, ...] = MISSING) -> Mask:
    """Cells without a value: null, or text that says so."""
    missing = series.isna().to_numpy(dtype=bool)
    if is_text(series):
        said = series.astype("str").str.strip().str.lower().isin(words).to_numpy(dtype=bool, na_value=False)
        missing = missing | said
    return missing


def is_text(series: pd.Series) -> bool:
    return pd.api.types.is_string_dtype(series.dtype) or series.dtype == object


def numbers(series: pd.Series, comma: bool = False) -> FloatArray:
    """The cells as numbers, NaN where they are none."""
    if not is_text(series):
        return pd.to_numeric(series, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan).copy()
    text = series.astype("str").str.strip()
    if comma:
        text = text.str.replace(".", "_", regex=False).str.replace(",", ".", regex=False)
    return pd.to_numeric(text, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan).copy()


def _codes(series: pd.Series, values: tuple[Any, ...]) -> NDArray[np.int64]:
    """The place of each cell in ``values``, -1 where it is not in it."""
    if is_text(series):
        index = pd.Index([str(value) for value in values], dtype="str")
        return index.get_indexer(series.astype("str").str.strip()).astype(np.int64)
    return pd.Index(list(values)).get_indexer(pd.Index(series)).astype(np.int64)
