"""Data frames of other libraries: read as pandas, given back as they came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from magnet.tables.values import Change


def to_pandas(frame: Any) -> Any:
    """A pandas frame as it is, and any other eager frame that narwhals knows as a pandas one."""
    if frame is None or isinstance(frame, pd.DataFrame):
        return frame
    import narwhals as nw

    try:
        return nw.from_native(frame, eager_only=True).to_pandas()
    except TypeError:
        raise ValueError(
            f"a {type(frame).__name__} is no data frame; pandas and polars frames are read (collect a lazy one first)"
        ) from None


def native_frame(frame: Any, changes: Mapping[str, Change]) -> Any:
    """A copy of a frame of another library with other values in some cells, every column with the type it had."""
    import narwhals as nw

    known = nw.from_native(frame, eager_only=True)
    columns = []
    for name, (rows, values) in changes.items():
        series = known[name]
        cells = series.to_list()
        for row, value in zip(rows.tolist(), values, strict=True):
            cells[row] = value
        columns.append(nw.new_series(name, cells, series.dtype, backend=known.implementation))
    return known.with_columns(*columns).to_native() if columns else frame
