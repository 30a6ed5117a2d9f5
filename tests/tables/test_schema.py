from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from magnet.tables import BadTable, infer_fields, read_override
from magnet.tables.schema import infer_field

RNG = np.random.default_rng(0)


def series(values: object, name: str = "v") -> pd.Series:
    return pd.Series(values, name=name)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["yes", "no"] * 10, "binary"),
        ([0, 1, 1] * 10, "binary"),
        ([True, False] * 10, "binary"),
        (["3", "1", "4", "1", "5", "9", "2", "6", "5", "3"], "count"),
        ([3.0, 1.0, None, 5.0, 2.0], "count"),
        (RNG.normal(size=50), "continuous"),
        ([-3, 4, -1, 5, 2], "continuous"),
        ([f"{v:.2f}".replace(".", ",") for v in RNG.normal(size=50)], "continuous"),
        (["red", "green", "blue", "red"] * 5, "categorical"),
        (["01067", "80331", "04109", "01067"] * 5, "categorical"),
        (["2024-01-02", "2023-05-06", "2022-12-31"] * 4, "date"),
        (["2 March 2015", "Jan 5, 2016", "3/4/2017"] * 4, "date"),
        ([f"2021-02-{1 + k}" if k % 5 else f"2021-02x{1 + k}" for k in range(25)], "date"),
        (["2024-01-02 and later"] * 5 + ["soon"] * 5 + ["2023-05-06"] * 5, "categorical"),
        (pd.to_datetime(["2024-01-02", "2023-05-06", "2022-12-31"]), "date"),
        ([f"remark {k}" for k in range(40)], "text"),
        ([str(k) for k in range(100)], "id"),
        ([7] * 9, "constant"),
        (["", "NA", None, "n/a"], "empty"),
    ],
)
def test_kinds_are_told_from_the_values(values: object, kind: str) -> None:
    assert infer_field(series(values)).kind == kind


def test_a_million_categories_are_text() -> None:
    assert infer_field(series(np.arange(1_000_000).astype(str) + pd.Series(["x"] * 1_000_000))).kind == "text"


def test_wrong_cells_do_not_decide_what_a_column_holds() -> None:
    words = [str(k % 30) for k in range(200)]
    words[3], words[50], words[120] = "1O", "inf", "-4"
    field = infer_field(series(words))
    assert (field.kind, field.decimals) == ("count", 0)
    x, missing, unreadable = field.encode(series(words))
    assert np.flatnonzero(unreadable).tolist() == [3, 50]
    assert not missing.any()
    assert np.isnan(x[3, 0])


def test_numbers_come_back_as_the_column_writes_them() -> None:
    price = series(["3,50", "4,25", "12,00", "7,99", "5,10"] * 4)
    field = infer_field(price)
    x, _, _ = field.encode(price)
    assert field.decode(x[:2]) == ["3,50", "4,25"]
    whole = series(["57.0", "61.0", "44.0", "39.0"] * 5)
    field = infer_field(whole)
    assert field.decode(field.encode(whole)[0][:1]) == ["57.0"]
    typed = series([41, 40, 42, 39] * 5)
    value = infer_field(typed).decode(infer_field(typed).encode(typed)[0][:1])
    assert value == ["41"]


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e15, 1e300])
def test_encoding_survives_any_scale(scale: float) -> None:
    values = series(scale * RNG.normal(size=100))
    field = infer_field(values)
    x, _, bad = field.encode(values)
    assert np.isfinite(x.astype(np.float32)).all()
    assert not bad.any()
    np.testing.assert_allclose(field.quantity(x[:, 0]), values, rtol=1e-6, atol=1e-9 * scale)


def test_skewed_counts_are_coded_on_a_log_scale_and_come_back() -> None:
    visits = series(np.exp(RNG.normal(3, 1.5, size=300)).astype(int))
    field = infer_field(visits)
    assert field.log
    assert field.decode(field.encode(visits)[0]) == [str(v) for v in visits]


def test_categories_and_binaries_stay_what_they_were() -> None:
    city = series(["Rome", "Oslo", "Rome", None, "Bern", "Oslo"] * 3)
    field = infer_field(city)
    x, missing, bad = field.encode(city)
    assert x.shape == (18, 3)
    assert (missing.sum(), bad.sum()) == (3, 0)
    assert field.decode(x[[0, 1, 4]]) == ["Rome", "Oslo", "Bern"]
    premium = infer_field(series(["yes", "no", "yes"] * 3))
    assert premium.values == ("no", "yes")
    assert premium.decode(np.array([[0.49], [0.51]])) == ["no", "yes"]


def test_a_schema_file_overrides_the_guess(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(
        'missing = ["", "-999"]\n[columns]\nzip = "categorical"\nv = { kind = "continuous", log = false }\n'
    )
    frame = pd.DataFrame({"zip": [1, 2, 3] * 5, "v": ["1", "-999", "100"] * 5, "w": ["1", "2", "3"] * 5})
    fields = infer_fields(frame, override=read_override(path), exclude=["w"])
    assert [(f.kind, f.used) for f in fields] == [("categorical", True), ("continuous", True), ("excluded", False)]
    assert fields[1].encode(frame["v"])[1].sum() == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("columns = 3", "must be a table"),
        ('[columns]\na = "numbr"', "kind 'numbr'; it must be one of binary"),
        ("[columns]\na = { size = 3 }", "takes a kind"),
        ('colums = "x"', "it may hold 'columns', 'missing' and 'rules'"),
        ("missing = 3", "must be a list of strings"),
        ("[[[", "is not a TOML file"),
    ],
)
def test_bad_schema_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_override(path)


def test_unknown_columns_and_impossible_kinds_are_refused() -> None:
    frame = pd.DataFrame({"a": ["x", "y", "z"]})
    with pytest.raises(ValueError, match="exclude names 'b'; the columns are 'a'"):
        infer_fields(frame, exclude=["b"])
    with pytest.raises(BadTable, match="holds no finite number"):
        infer_fields(frame, override={"columns": {"a": {"kind": "count"}}})
    with pytest.raises(BadTable, match="has 3 different values; a binary column has two"):
        infer_fields(frame, override={"columns": {"a": {"kind": "binary"}}})


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e6])
def test_a_log_scale_does_not_depend_on_the_unit_of_measurement(unit: float) -> None:
    rng = np.random.default_rng(1)
    metres = np.exp(rng.normal(0, 1, size=400))
    metres[:4] = -metres[:4]  # a few impossible ones must not decide
    field = infer_field(series(unit * metres))
    assert field.log
    x, missing, bad = field.encode(series(unit * metres))
    reference = infer_field(series(metres)).encode(series(metres))[0]
    np.testing.assert_allclose(x, reference, atol=1e-6)
    np.testing.assert_allclose(field.quantity(x[~bad, 0]), unit * metres[~bad], rtol=1e-6)
    assert not missing.any()
    assert not bad.any()
    assert x[:4].max() < x[4:].min()  # negative numbers are judged like others: they lie below all sizes
    assert not bad[4:].any()


@pytest.mark.parametrize("text", [False, True])
def test_codes_that_look_like_numbers_are_categories(text: bool) -> None:
    codes = pd.Series(np.repeat([10115, 20095, 50667], 20), name="zip")
    field = infer_field(codes.astype(str) if text else codes)
    assert (field.kind, len(field.values)) == ("categorical", 3)
    assert field.decode(np.eye(3)[[1]]) == (["20095"] if text else [20095])
    many = pd.Series(range(10_000, 10_100), name="postcode")
    assert infer_field(many).kind in ("id", "text")
    assert infer_field(pd.Series(np.repeat([3, 5, 8], 20), name="encoded visits")).kind == "count"


def test_whole_numbers_that_are_written_with_a_point_stay_whole() -> None:
    visits = pd.Series([f"{k}.0" for k in (0, 1, 2, 3, 5, 8) * 5], name="visits")
    field = infer_field(visits)
    code = (np.array([[1.9], [5.2]]) - field.center) / field.scale
    assert (field.kind, field.decode(code)) == ("count", ["2.0", "5.0"])
    assert field.decode(field.encode(visits)[0]) == [str(v) for v in visits]


def test_a_comma_before_three_digits_separates_thousands() -> None:
    pay = series(["1,523", "805", "12,040", "997", "1,250,000", "3,100"] * 4)
    field = infer_field(pay)
    assert (field.kind, field.comma, field.group) == ("count", False, ",")
    assert field.decode(field.encode(pay)[0])[:5] == ["1,523", "805", "12,040", "997", "1,250,000"]
    price = series(["1,5", "0,805", "1,523", "2,25"] * 5)
    assert (infer_field(price).comma, infer_field(price).group) == (True, "")
    both = series(["1.234,5", "12,0", "1.000.000,0", "7,5"] * 5)
    field = infer_field(both)
    assert (field.comma, field.group) == (True, ".")
    assert field.quantity(field.encode(both)[0][:1, 0]).round(4).tolist() == [1234.5]
    spaced = series(["1 234", "12 000", "7", "1 000 000"] * 5)
    assert infer_field(spaced).group == " "
    assert infer_field(series(["1.234", "2.345", "7.125", "0.5"] * 5)).group == ""


@pytest.mark.parametrize("text", [True, False])
def test_large_whole_numbers_stay_whole(text: bool) -> None:
    values = [3038190000 + 17 * k for k in range(20)] + [10**16 + 10**10 * k for k in range(20)]
    given = series([str(v) for v in values] if text else values)
    field = infer_field(given)
    written = field.decode(field.encode(given)[0])
    assert all(word.isdigit() for word in written)
    assert all(abs(int(word) - v) <= 1e-6 * v for word, v in zip(written, values, strict=True))


def test_numbers_keep_their_notation() -> None:
    tiny = series(["0.00001234", "0.00005", "0.0000321", "0.00001"] * 5)
    assert infer_field(tiny).write(0.0000123) == "0.0000123"
    science = series(["1.5e-7", "2.5e-7", "3e-6", "1e-7"] * 5)
    assert infer_field(science).write(2e-7) == "2e-07"
    trimmed = series(["1.5", "2", "3.25", "4"] * 5)
    assert [infer_field(trimmed).write(v) for v in (2.0, 2.5, 3.25)] == ["2", "2.5", "3.25"]
    largest = series([f"{v}" for v in (1e308, 1.7e308, -1.6e308, 1.2e308)] * 5)
    field = infer_field(largest)
    assert all(np.isfinite(float(word)) for word in field.decode(np.array([[1e9], [-1e9], [np.nan]])))
