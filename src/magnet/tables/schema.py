"""The kind of each column of a table, inferred from its values: how it becomes features of a graph.

:mod:`magnet.tables.roles` infers a role besides, which says what kinds of errors the table engine looks for. A kind
must have an encoding that can be undone, in the types of a data frame; a role is found in the texts of a column, beside
the other columns. Integers may be counts here and codes there. Either in the place of the other loses columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from magnet.arrays import Floats
from magnet.scales import asinh_unit, natural_unit
from magnet.tables.errors import BadTable, listed
from magnet.tables.fields import MISSING, Field, Kind, grouped_number, is_missing, is_text, numbers
from magnet.tables.options import FLOOR
from magnet.tables.readers.override import words_of
from magnet.tables.roles.dates import DATE_SHARE, is_moment

READABLE = 0.9  # share of the cells that must be numbers for a column of numbers
MOSTLY = 0.98  # share of a column's numbers that must be integers, nonnegative, or have this many decimals
SPACES = (" ", "\u00a0", "\u202f", "'", "\u2019")  # that separate thousands, besides a comma and a point
MAX_CATEGORIES = 256  # columns that one categorical column may take in the feature matrix
CELLS_PER_CATEGORY = 3  # on average; values that occur more rarely are text
MAX_DECIMALS = 8  # more are rounding errors of binary numbers
DECIMAL_SAMPLE, MAX_EXACT = 20_000, 1e9  # numbers by which decimals are counted, and the largest that show theirs
ROUNDING = 1e-9  # relative error of a binary number, and of a spread that is none
ZEROS = 0.01  # share of the cells with a zero in front from which digits are a code (not swept)
MIN_KEYS = 10  # different integers that show a key (not swept)
NORMAL_QUARTILES = 1.349  # a normal distribution's distance between the quartiles over its standard deviation
LARGE = 1e100  # numbers beyond are divided first, so that the largest floats do not overflow
SORTED_VALUES = 100 * MAX_CATEGORIES  # more are no categories and need no order
DATE_SAMPLE = 1000  # cells by which a column of dates is recognized
_IDENTIFIER = re.compile(r"(^|[_\s])(id|ids|uuid|guid|key|index|idx|no|nr|number|code|zip|postcode|phone)$", re.I)
_CODE = re.compile(r"(^|[_\s])(zip|zipcode|postcode|postal_?code|plz|code)$", re.I)
_FALSE = ("0", "0.0", "false", "no", "n", "f", "off", "none", "absent", "-")


def infer_field(series: pd.Series, missing: tuple[str, ...] = MISSING, kind: str | None = None) -> Field:
    """The field of one column, of a given ``kind`` if one is given.

    Example:
        >>> infer_field(pd.Series(["3", "1", "2", "41O0", "7", "5", "1", "4", "9", "12"], name="visits")).kind
        'count'
    """
    name, text = str(series.name), is_text(series)
    base = Field(name, "text", text=text, missing=missing)
    present = series[~is_missing(series, missing)]
    if kind in ("id", "label", "date", "text", "constant", "empty"):
        return replace(base, kind=kind, note="given by the user", given=True)  # type: ignore[arg-type]
    if present.empty:
        return replace(base, kind="empty", note="no values")
    note = "given by the user" if kind else ""
    if kind in ("count", "continuous"):
        comma, group = _marks(present) if text else (False, "")
        field = _numeric(replace(base, comma=comma, group=group), numbers(present, comma, group), note)
        field = _written_like(field, present) if text else field
        return replace(field, kind=kind)  # type: ignore[arg-type]
    unique = _unique(present, text)
    if kind in ("binary", "categorical"):
        return _of_values(base, present, unique, kind, note)
    if len(unique) == 1:
        return replace(base, kind="constant", note="a single value")
    if pd.api.types.is_datetime64_any_dtype(series.dtype) or pd.api.types.is_timedelta64_dtype(series.dtype):
        return replace(base, kind="date", note="dates")
    if len(unique) == 2:
        return _of_values(base, present, unique, "binary", "two values")
    if text or _CODE.search(name) or not pd.api.types.is_numeric_dtype(series.dtype):
        return _from_text(base, present, unique, len(series))
    return _from_numbers(base, numbers(present), len(series))


def _from_text(base: Field, present: pd.Series, unique: list[Any], rows: int) -> Field:
    words = present.astype("str").str.strip()
    coded = bool(_CODE.search(base.name)) or float(words.str.fullmatch(r"0\d+").mean()) > ZEROS
    comma, group = _marks(words)
    number = numbers(words, comma, group)
    readable = float(np.isfinite(number).mean())
    if readable >= READABLE and not coded:
        field = _written_like(_from_numbers(replace(base, comma=comma, group=group), number, rows), words)
        bad = int((~np.isfinite(number)).sum())
        return replace(field, note=f"{field.note}; {bad} cells are not numbers") if bad else field
    if words.iloc[:: max(1, len(words) // DATE_SAMPLE)].map(is_moment).mean() >= DATE_SHARE:
        return replace(base, kind="date", note="dates")
    if len(unique) <= MAX_CATEGORIES and CELLS_PER_CATEGORY * len(unique) <= len(present):
        return _of_values(base, present, unique, "categorical", f"{len(unique)} different values")
    return replace(base, kind="text", note=f"{len(unique)} different values")


def _written_like(field: Field, words: pd.Series) -> Field:
    """With the digits behind the point that nearly all numbers have (one in ``57.0``), and exponents if they occur."""
    words = words.astype("str").str.strip()
    mark = "," if field.comma else "[.]"
    behind = words.str.extract(rf"{mark}(\d+)$", expand=False).str.len().fillna(0).to_numpy(dtype=float)
    places = int(np.quantile(behind, 1 - MOSTLY, method="lower")) if behind.size else 0
    places = min(places, MAX_DECIMALS)
    most = int(np.quantile(behind, MOSTLY, method="higher")) if behind.size else MAX_DECIMALS + 1
    decimals = most if field.decimals is None and most <= MAX_DECIMALS else field.decimals
    exponent = bool(words.str.contains(r"\d[eE][+-]?\d", regex=True).any())
    return replace(field, places=places, exponent=exponent, decimals=None if exponent else decimals)


def _from_numbers(base: Field, number: Floats, rows: int) -> Field:
    finite = number[np.isfinite(number)]
    if not finite.size:
        return replace(base, kind="empty", note="no finite number")
    # a few wrong cells must not decide the kind of a column
    whole = float((finite == np.round(finite)).mean()) >= MOSTLY
    unique = np.unique(finite)
    if unique.size == 1:
        return replace(base, kind="constant", note="a single number")
    if whole and unique.size == finite.size and rows > MIN_KEYS:
        if _IDENTIFIER.search(base.name):
            return replace(base, kind="id", note="a different integer in every row, and a name like a key")
        if unique[-1] - unique[0] == unique.size - 1 and (np.diff(finite) == 1).all():
            return replace(base, kind="id", note="row numbers")
    if whole and float((finite >= 0).mean()) >= MOSTLY:
        return replace(_numeric(base, number, "whole numbers from 0"), kind="count")
    return replace(_numeric(base, number, "numbers"), kind="continuous")


def _numeric(base: Field, number: Floats, note: str) -> Field:
    finite = number[np.isfinite(number)]
    if not finite.size:
        raise BadTable(f"column {base.name!r} holds no finite number; it cannot be numeric")
    decimals = _decimals(finite)
    log = asinh_unit(finite) > 0
    text = note + (", on a log scale" if log else "")
    low, high = float(finite.min()), float(finite.max())
    return _scaled(replace(base, decimals=decimals, note=text, low=low, high=high), finite, log)


def _scaled(field: Field, finite: Floats, log: bool) -> Field:
    """With the code of these numbers, on a log scale or not."""
    unit = natural_unit(finite) if log else 1.0
    code = np.arcsinh(finite / unit) if log else finite
    center, scale = _middle(code)
    return replace(field, log=log, unit=unit, center=center, scale=scale)


def _middle(code: Floats) -> tuple[float, float]:
    """Median and robust spread (the standard deviation where more than half of the values are one and the same)."""
    unit = max(1.0, float(np.abs(code).max()) / LARGE)
    low, center, high = np.quantile(code / unit, [0.25, 0.5, 0.75])
    scale = (high - low) / NORMAL_QUARTILES
    if scale <= ROUNDING * max(FLOOR, abs(center)):
        scale = float(np.std(code / unit)) or 1.0
    return float(center * unit), float(scale * unit)


def _decimals(finite: Floats) -> int | None:
    """Digits behind the point that the values have, where they are few."""
    if float((finite == np.round(finite)).mean()) >= MOSTLY:
        return 0
    sample = finite[:DECIMAL_SAMPLE]
    sample = sample[np.abs(sample) < MAX_EXACT]
    if not sample.size:
        return None
    for decimals in range(MAX_DECIMALS + 1):
        tolerance = ROUNDING * np.maximum(1.0, np.abs(sample))
        if float((np.abs(np.round(sample, decimals) - sample) <= tolerance).mean()) >= MOSTLY:
            return decimals
    return None


def _of_values(base: Field, present: pd.Series, unique: list[Any], kind: str, note: str) -> Field:
    if kind == "binary":
        if len(unique) != 2:
            raise BadTable(f"column {base.name!r} has {len(unique)} different values; a binary column has two")
        return replace(base, kind="binary", values=tuple(sorted(unique, key=_truth)), note=note)
    if len(unique) > MAX_CATEGORIES:
        words = present.astype("str").str.strip() if base.text else present
        common = set(words.value_counts().index[:MAX_CATEGORIES])
        note = f"{note}; the {MAX_CATEGORIES} most common of {len(unique)} categories"
        unique = [value for value in unique if value in common]  # in the order of the values
    return replace(base, kind="categorical", values=tuple(unique), note=note)


def _truth(value: Any) -> tuple[bool, str]:
    return str(value).strip().lower() not in _FALSE, str(value)


def _unique(present: pd.Series, text: bool) -> list[Any]:
    """The different values as plain Python ones, sorted unless there are too many for categories."""
    values = (present.astype("str").str.strip() if text else present).unique().tolist()
    if len(values) > SORTED_VALUES:
        return values
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=str)


def _marks(present: pd.Series) -> tuple[bool, str]:
    """Whether numbers have a decimal comma (``3,14``), and what separates their thousands (``1,523``).

    A comma is a thousands mark where three digits follow every comma and no number starts with ``0,``. A point is one
    only where it cannot be a decimal point: a number has two, or a comma as well (``1.234,5``).
    """
    words = present.astype("str").str.strip()
    held = set("".join(words))
    marks = ((False, ","), (True, "."), *((c, g) for g in SPACES for c in (False, True)))
    marks = tuple((comma, group) for comma, group in marks if group in held)
    if not marks:
        return False, ""
    whole = words.str.fullmatch(r"[+-]?\d+")
    for comma, group in marks:
        marked = words.str.contains(group, regex=False)
        grouped = words.str.fullmatch(grouped_number(group, comma))
        if group == "." and not words[grouped].str.contains(r"[.].*[.,]", regex=True).any():
            continue
        plain = whole | words.str.fullmatch(rf"[+-]?\d+{',' if comma else '[.]'}\d+")
        if grouped.any() and grouped.sum() >= MOSTLY * marked.sum() and float((grouped | plain).mean()) >= READABLE:
            return comma, group
    return "," in held and _decimal_comma(words, whole), ""


def _decimal_comma(words: pd.Series, whole: pd.Series) -> bool:
    written = words.str.fullmatch(r"[+-]?\d+,\d+")
    grouped = words.str.fullmatch(grouped_number(",", False))
    certain = bool((written & ~grouped).any())
    return certain and float((written | whole).mean()) >= READABLE


def infer_fields(
    frame: pd.DataFrame,
    id: str | None = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    override: Mapping[str, Any] | None = None,
    left_alone: Mapping[str, str] | None = None,
) -> tuple[Field, ...]:
    """The field of every column, in order.

    Args:
        frame: the table.
        id: name of the id column, which is left alone.
        label: name of the label column, which is left alone.
        columns: judge only these columns. (default: all that can be)
        exclude: columns that are not judged.
        override: what :func:`read_override` returned.
        left_alone: columns whose values cannot be judged, and why.
    """
    names = [str(name) for name in frame.columns]
    settings: Mapping[str, Any] = (override or {}).get("columns", {})
    for what, asked in (("columns", columns), ("exclude", exclude), ("schema", settings)):
        unknown = next((name for name in asked or () if name not in names), None)
        if unknown is not None:
            raise ValueError(f"{what} names {unknown!r}; the columns are {listed(names, unknown)}")
    words = words_of((override or {}).get("missing")) or MISSING
    fields = []
    for name in names:
        left_out = (columns is not None and name not in columns) or name in (exclude or ())
        if left_out and name != label:
            field = Field(name, "excluded", note="excluded by the user", text=is_text(frame[name]))
        elif name in (id, label):
            kind: Kind = "id" if name == id else "label"
            field = Field(name, kind, note="given by the user or detected", text=is_text(frame[name]))
        elif name in (left_alone or {}):
            field = Field(name, "text", note=(left_alone or {})[name])
        else:
            field = _given_field(frame[name], words, settings.get(name, {}))
        fields.append(field)
    return tuple(fields)


def _given_field(series: pd.Series, missing: tuple[str, ...], settings: Mapping[str, Any]) -> Field:
    """The field of a column, with the user's settings if any."""
    field = infer_field(series, words_of(settings.get("missing")) or missing, settings.get("kind"))
    field = replace(field, given="kind" in settings)
    if field.kind in ("count", "continuous") and settings.get("log", field.log) != field.log:
        number = numbers(series, field.comma, field.group)
        field = _scaled(field, number[np.isfinite(number)], bool(settings["log"]))
    if "decimals" in settings:
        field = replace(field, decimals=settings["decimals"], places=settings["decimals"], exponent=False)
    return field


def not_empty(frame: pd.DataFrame, what: str) -> None:
    if not frame.shape[1]:
        raise BadTable(f"{what} has no columns; at least one is needed")
    if not len(frame):
        raise BadTable(f"{what} has a header but no rows; at least one is needed")
