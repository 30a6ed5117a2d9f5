import numpy as np
import pytest

from magnet.tables.coded import CodedTable
from magnet.tables.roles import infer_role

RNG = np.random.default_rng(0)
CASES = {
    "empty": ("note", ["", " ", "N/A"] * 10),
    "constant": ("country", ["US"] * 29 + [""]),
    "phone": ("tel", [f"(555) {100 + k}-{1000 + 7 * k}" for k in range(30)]),
    "date": ("when", [f"{1 + k % 12}/{1 + k % 28}/2020" for k in range(30)]),
    "time": ("departs", [f"{1 + k % 12}:{10 + k} a.m." for k in range(30)]),
    "code": ("zip", [f"{3500 + 17 * (k % 9):05d}" for k in range(30)]),
    "identifier": ("key", [f"{10**17 + 31 * k}" for k in range(30)]),
    "quantity": ("income", [f"{x:.2f}" for x in RNG.normal(50, 9, size=30)]),
    "unit": ("volume", [f"{10 + k % 7}.0 oz" for k in range(30)]),
    "category": ("color", ["red", "green", "blue"] * 10),
    "text": ("title", [f"the story of number {k} and others" for k in range(30)]),
}


@pytest.mark.parametrize("role", list(CASES))
def test_role(role: str) -> None:
    name, texts = CASES[role]
    table = CodedTable.of({name: texts})
    found = infer_role(table.columns[0], table)
    assert found.name == role
    assert found.note


def test_different_rounded_numbers_are_sizes_and_no_labels() -> None:
    prices = [str(100_000 + 100 * (k * k % 8999)) for k in range(60)]
    labels = [str(100_000 + 100 * (k % 9)) for k in range(60)]
    roles = {
        name: infer_role(CodedTable.of({"x": texts}).columns[0], CodedTable.of({})).name
        for name, texts in (("prices", prices), ("labels", labels))
    }
    assert roles == {"prices": "quantity", "labels": "code"}


@pytest.mark.parametrize(
    ("header", "role"),
    [
        ("house_number", "code"),
        ("Case No.", "code"),
        ("objectid", "code"),
        ("index", "code"),
        ("year", "code"),
        ("Number of deaths", "quantity"),
        ("num_rooms", "quantity"),
        ("fees_paid", "quantity"),
        ("valid", "quantity"),
        ("price_index", "quantity"),
        ("births per year", "quantity"),
    ],
)
def test_headers_of_labels_and_of_counts(header: str, role: str) -> None:
    table = CodedTable.of({header: [str(k % 40 * 7) for k in range(60)]})
    assert infer_role(table.columns[0], table).name == role
