"""Rules of a schema file reach the engine."""

import pandas as pd
import pytest

import magnet
from magnet.tables import read_override
from magnet.tables.rules import Rule


def test_patterns_ranges_and_dependencies_are_read(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(
        'rules = ["zip -> city"]\n[columns]\nphone = { pattern = "[0-9]{3}" }\nage = { min = 0, max = 120 }\n'
    )
    rules = read_override(path)["rules"]
    assert rules == ["zip -> city", Rule("phone", pattern="[0-9]{3}"), Rule("age", low=0, high=120)]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('phone = { pattern = "[" }', "is not a valid regular expression"),
        ('age = { min = "young" }', "min and max must be numbers"),
        ("age = " + "[" * 100_000, "schema.toml is not a TOML file"),
        ("age = { size = 3 }", "takes a kind, or a table of decimals, kind, log, max, min, missing, pattern"),
    ],
)
def test_unusable_entries_are_refused(tmp_path, entry, message):
    path = tmp_path / "schema.toml"
    path.write_text(f"[columns]\n{entry}\n")
    with pytest.raises(ValueError, match=message):
        read_override(path)


def test_columns_can_be_chosen_in_python():
    frame = pd.DataFrame({"id": range(9), "age": range(9), "city": list("aab") * 3})
    assert magnet.clean(frame, columns="age").record.judged == ["age"]
    assert magnet.clean(frame, exclude=["age", "id"]).record.judged == ["city"]


def test_a_cell_outside_its_range_is_listed_with_its_own_reason(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text("[columns]\nage = { max = 40 }\n")
    frame = pd.DataFrame({"age": [20 + k % 20 for k in range(60)]})
    frame.loc[7, "age"] = 41
    reading = {"override": read_override(path)}
    cells = magnet.clean(frame, reading=reading).suspicious_cells
    assert cells[["row", "column", "kind"]].values.tolist() == [[7, "age", "rule"]]
    assert "40" in cells["reason"].tolist()[0]
