"""Cells as text and back: one formatter for lists, tables and reports, and the inverse for every type of column.

Whole numbers are exact whatever their size, floating-point numbers have the fewest digits that give them back (without
an exponent where they are of usual size), dates are ISO 8601, and a cell without a value is the empty text.
"""

from __future__ import annotations

import datetime
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from magnet.tables.errors import TableWarning, quoted

Change = tuple[NDArray[np.int64], Sequence[Any]]  # rows, and the values that they take

MAX_DIGITS = 400  # of a whole number that is read; the largest float has 309
LARGEST_POSITIONAL = 1e22  # beyond it (or below its inverse) a positional number is a line of zeros
SCALARS = (str, bool, int, float, Decimal, datetime.date, datetime.time, datetime.timedelta, np.generic)
_TRUE, _FALSE = ("true", "1", "1.0", "yes"), ("false", "0", "0.0", "no")


def is_null(value: Any) -> bool:
    """Whether a cell holds no value (None, NaN, NA, NaT)."""
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    if isinstance(value, float | np.floating):
        return bool(value != value)
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, np.datetime64 | np.timedelta64) and bool(np.isnat(value))


def cell_text(value: Any) -> str:
    """A value as text.

    Example:
        >>> [cell_text(v) for v in (None, 2**70, 3e9, np.float32(0.1), 1e-7, True, Decimal("1E+3"))]
        ['', '1180591620717411303424', '3000000000.0', '0.1', '0.0000001', 'True', '1000']
    """
    if isinstance(value, str):
        return str(value)
    if is_null(value):
        return ""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        text = str(float(value)) if isinstance(value, float) else str(value)
        if "e" in text and 1 / LARGEST_POSITIONAL < abs(float(value)) < LARGEST_POSITIONAL:
            return np.format_float_positional(value, unique=True, trim="0")
        return text
    if isinstance(value, Decimal):
        return format(value, "f") if value.is_finite() else str(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value)


def plain(value: Any) -> Any:
    """A cell as a plain Python value that prints as the column holds it (a float32 0.1 is 0.1)."""
    if isinstance(value, np.float32 | np.float16):
        return float(str(value))
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        return value.item()
    return value


def json_value(value: Any) -> Any:
    """A user's value as JSON has it; what JSON has no word for, and whole numbers that JavaScript would round, become
    text."""
    value = plain(value)
    if is_null(value):
        return None
    if (isinstance(value, float) and math.isinf(value)) or (isinstance(value, int) and abs(value) >= 2**53):
        return str(value)
    return value if isinstance(value, bool | int | float | str) else cell_text(value)


def unique_names(names: Iterable[Any], where: str) -> list[str]:
    """Names as different texts; of equal ones, the later are numbered, with a warning.

    Example:
        >>> unique_names(["id", 1], "the table")
        ['id', '1']
    """
    unique: dict[str, str] = {}
    for name in map(str, names):
        number = 1
        while (new := name if number == 1 else f"{name} ({number})") in unique:
            number += 1
        unique[new] = name
        if number > 1:
            warnings.warn(
                f"{where}: several columns are named {quoted(name)}; here one of them is {quoted(new)}",
                TableWarning,
                stacklevel=2,
            )
    return list(unique)


def texts(series: pd.Series) -> list[str]:
    """Every cell of a column as text."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        words = [cell_text(value) for value in series.cat.categories]
        return ["" if code < 0 else words[code] for code in series.cat.codes]
    if isinstance(series.dtype, pd.StringDtype):
        return series.fillna("").tolist()
    if series.dtype == np.float64 or series.dtype == np.int64:
        # every number is written once, however often it occurs; bits tell -0.0 from 0.0
        codes, distinct = pd.factorize(series.to_numpy().view(np.int64))
        words = [cell_text(value) for value in distinct.view(series.dtype).tolist()]
        return [words[code] for code in codes.tolist()]
    return [cell_text(value) for value in cells(series)]


def cells(series: pd.Series) -> Iterable[Any]:
    """The cells of a column one by one, each in its own type (``tolist`` would turn float32 into float64)."""
    if isinstance(series.dtype, np.dtype) and series.dtype.kind == "f":
        return series.to_numpy() if series.dtype != np.float64 else series.tolist()
    array = series.array
    data = getattr(array, "_data", None)
    if pd.api.types.is_float_dtype(series.dtype) and isinstance(data, np.ndarray) and data.dtype != np.float64:
        return [None if gone else value for value, gone in zip(data, series.isna(), strict=True)]
    return series.tolist()


def simplified(series: pd.Series) -> tuple[pd.Series, str]:
    """A column of any type as one of text, numbers, bools or dates to compute with; and why it is left alone, if it is.

    Only the type changes; the order of rows does not.
    """
    kind = series.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return simplified(pd.Series(series.astype(series.cat.categories.dtype), name=series.name))
    if getattr(kind, "kind", "") == "c":
        return _nothing(series), "complex numbers are not judged"
    if isinstance(kind, pd.PeriodDtype | pd.IntervalDtype):
        return pd.Series(texts(series), name=series.name, dtype="str"), ""
    if isinstance(kind, pd.SparseDtype):
        return pd.Series(series.sparse.to_dense(), name=series.name), ""
    if isinstance(kind, pd.ArrowDtype):
        return _simplified_arrow(series)
    if kind.name != "object":
        return series, ""
    present = [value for value in series if not is_null(value)]
    if not all(isinstance(value, SCALARS) for value in present):
        odd = next(value for value in present if not isinstance(value, SCALARS))
        return _nothing(series), f"values of type {type(odd).__name__} are not judged"
    if present and all(isinstance(value, bool | np.bool_) for value in present):
        values = [pd.NA if is_null(value) else bool(value) for value in series]
        return pd.Series(pd.array(values, dtype="boolean"), name=series.name), ""
    return _as_text(series), ""


def _simplified_arrow(series: pd.Series) -> tuple[pd.Series, str]:
    import pyarrow as pa

    kind = series.dtype.pyarrow_dtype
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return _nothing(series), f"values of type {kind} are not judged"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return series, ""
    return _as_text(series), ""


def _as_text(series: pd.Series) -> pd.Series:
    return pd.Series([None if is_null(v) else cell_text(v) for v in series], name=series.name, dtype="str")


def _nothing(series: pd.Series) -> pd.Series:
    return pd.Series([None] * len(series), name=series.name, dtype="str")


def parser(series: pd.Series) -> Callable[[str], Any]:
    """The function that makes a value of a column's own type of a text, or raises a ``ValueError``. An empty text
    becomes the null of the type; whole numbers and flags of NumPy have none.

    Example:
        >>> parser(pd.Series([1, 2], dtype="int8"))("300")
        Traceback (most recent call last):
        ...
        ValueError: 300 is not within -128 to 127
        >>> parser(pd.Series([True, "x"], dtype=object))("True")
        True
    """
    kind = series.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return _known(kind.categories, "a category of the column")
    if isinstance(kind, pd.ArrowDtype):
        return _arrow_parser(kind.pyarrow_dtype)
    if isinstance(kind, pd.SparseDtype):
        return parser(pd.Series([], dtype=kind.subtype))
    nullable = not isinstance(kind, np.dtype)  # pd.NA is its null
    if pd.api.types.is_bool_dtype(kind):
        return _or_null(_bool, pd.NA) if nullable else _bool
    if pd.api.types.is_integer_dtype(kind):
        limits = np.iinfo(getattr(kind, "numpy_dtype", kind))
        whole = partial(_integer, low=int(limits.min), high=int(limits.max))
        return _or_null(whole, pd.NA) if nullable else whole
    if pd.api.types.is_float_dtype(kind):
        of = np.dtype(getattr(kind, "numpy_dtype", kind)).type
        largest = float(np.finfo(of).max)
        return _or_null(lambda text: plain(of(_finite(text, largest))), pd.NA if nullable else math.nan)
    if isinstance(kind, pd.DatetimeTZDtype) or pd.api.types.is_datetime64_any_dtype(kind):
        return _or_null(partial(_time, pd.Timestamp), pd.NaT)
    if pd.api.types.is_timedelta64_dtype(kind):
        return _or_null(partial(_time, pd.Timedelta), pd.NaT)
    if kind.name == "object":
        return _object_parser(series)
    if isinstance(kind, pd.StringDtype):
        return str
    return _known(series.dropna().unique(), f"a value that this column of {kind} has")


def _or_null(make: Callable[[str], Any], null: Any) -> Callable[[str], Any]:
    """The same, with a null for an empty text."""
    return lambda text: make(text) if text else null


def _known(values: Iterable[Any], what: str) -> Callable[[str], Any]:
    known: dict[str, Any] = {}
    for value in values:
        known.setdefault(cell_text(value), value)

    def find(text: str) -> Any:
        if text not in known:
            raise ValueError(f"{quoted(text)} is not {what}")
        return known[text]

    return find


def _object_parser(series: pd.Series) -> Callable[[str], Any]:
    """Text that the column has stands for the very object; other text is read as what most of its objects are."""
    present = [value for value in series if not is_null(value)]
    find = _known((value for value in present if isinstance(value, SCALARS)), "")
    common = Counter(type(value) for value in present).most_common(1)
    kind = common[0][0] if common else str
    makers: dict[type, Callable[[str], Any]] = {
        bool: _bool,
        int: _integer,
        float: _finite,
        Decimal: _decimal,
        datetime.date: partial(_time, datetime.date.fromisoformat),
        datetime.datetime: partial(_time, datetime.datetime.fromisoformat),
        pd.Timestamp: partial(_time, pd.Timestamp),
    }

    def parse(text: str) -> Any:
        try:
            return find(text)
        except ValueError:
            if not text and kind is not str:
                return None
            if issubclass(kind, np.number):
                return kind(_finite(text))
            return makers.get(kind, str)(text)

    return parse


def _arrow_parser(kind: Any) -> Callable[[str], Any]:
    """For a column of an Arrow type."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return _arrow_parser(kind.value_type)
    make: Callable[[str], Any]
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        make = str
    elif types.is_decimal(kind):
        make = _decimal
    elif types.is_date(kind) or types.is_time(kind):
        make = partial(_time, (datetime.date if types.is_date(kind) else datetime.time).fromisoformat)
    elif types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_temporal(kind):
        make = parser(pd.Series([], dtype=kind.to_pandas_dtype()))
    else:

        def make(text: str) -> Any:
            raise ValueError(f"cells of type {kind} are not written")

    def parse(text: str) -> Any:
        if not text and make is not str:
            return None
        value = make(text)
        try:
            pa.scalar(value, type=kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise ValueError(f"{quoted(text)} is not a valid {kind} ({error})") from None
        return value

    return parse


def _bool(text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE + _FALSE:
        raise ValueError(f"{quoted(text)} is neither True nor False")
    return word in _TRUE


def _integer(text: str, low: float = -np.inf, high: float = np.inf) -> int:
    try:
        value = int(text)
    except ValueError:
        try:
            number = Decimal(text)
        except InvalidOperation:
            number = Decimal("NaN")
        if not number.is_finite() or number != number.to_integral_value() or number.adjusted() > MAX_DIGITS:
            raise ValueError(f"{quoted(text)} is not an integer") from None
        value = int(number)
    if not low <= value <= high:
        raise ValueError(f"{text} is not within {low} to {high}")
    return value


def _finite(text: str, limit: float = np.inf) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{quoted(text)} is not a number") from None
    if not np.isfinite(value) or abs(value) > limit:
        raise ValueError(f"{quoted(text)} is not a finite number of the column's type")
    return value


def _decimal(text: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{quoted(text)} is not a number") from None
    if not value.is_finite():
        raise ValueError(f"{quoted(text)} is not a finite number")
    return value


def _time(make: Callable[[str], Any], text: str) -> Any:
    try:
        value = make(text)
    except (ValueError, OverflowError):
        value = pd.NaT
    if value is pd.NaT:
        raise ValueError(f"{quoted(text)} is not a date or time")
    return value


def replaced(series: pd.Series, change: Change) -> pd.Series:
    """A copy of a column with other values in some rows, in the type it has."""
    rows, values = change
    column = series.copy()
    if series.dtype == object:
        array = column.to_numpy(copy=True)
        for row, value in zip(rows.tolist(), values, strict=True):
            array[row] = value
        return pd.Series(array, index=series.index, name=series.name, dtype=object)
    if isinstance(series.dtype, pd.SparseDtype):
        dense = replaced(pd.Series(column.sparse.to_dense()), change)
        return dense.astype(series.dtype)
    column.iloc[rows] = pd.array(list(values), dtype=series.dtype)
    return column
