"""Frames of other libraries come back as they came."""

import numpy as np
import pandas as pd
import pytest

import magnet
from magnet.tables.frames import native_frame, to_pandas

polars = pytest.importorskip("polars")


def test_a_polars_frame_keeps_its_types_and_values():
    frame = polars.DataFrame(
        {"city": ["Rome", "Rmoe", None], "age": polars.Series([1, 2, 3], dtype=polars.Int8), "when": [None, None, None]}
    )
    new = native_frame(frame, {"city": (np.array([1]), ["Rome"]), "age": (np.array([0]), [7])})
    assert new.schema == frame.schema
    assert new["city"].to_list() == ["Rome", "Rome", None]
    assert new["age"].to_list() == [7, 2, 3]
    assert frame["age"].to_list() == [1, 2, 3]
    assert native_frame(frame, {}) is frame


def test_pandas_frames_are_not_copied_and_other_things_are_refused():
    frame = pd.DataFrame({"a": [1]})
    assert to_pandas(frame) is frame
    assert to_pandas(None) is None
    with pytest.raises(ValueError, match="a list is no data frame; pandas and polars frames are read"):
        to_pandas([1, 2])


def test_clean_gives_polars_back_for_polars():
    states = ["Ohio"] * 30 + ["Iowa"] * 30
    states[3] = "Ohoi"
    frame = polars.DataFrame({"state": states, "code": ["OH"] * 30 + ["IA"] * 30})
    cleaned = magnet.clean(frame).cleaned
    assert isinstance(cleaned, polars.DataFrame)
    assert cleaned["state"].to_list() == ["Ohio"] * 30 + ["Iowa"] * 30
    assert cleaned.schema == frame.schema
