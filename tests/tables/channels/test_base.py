"""Column tests made of tests of texts."""

from __future__ import annotations

from typing import Any

from magnet.tables.channels.base import text_test


@text_test("typo", ("category",), min_rows=4, probability=0.8)
def shouting(texts: Any) -> Any:
    """Texts in capitals."""
    for code, text, rows in texts:
        if text.isupper():
            yield code, text.lower(), 0.7, f"{text} in {rows} rows"


def test_every_row_of_a_wrong_text_is_found(coded: Any) -> None:
    table = coded({"word": ["a", "B", "a", "B", "a", ""]})
    findings = list(shouting(table))
    assert [(j, f.row, f.suggested) for j, f in findings] == [(0, 1, "b"), (0, 3, "b")]
    assert findings[0][1].reason == "B in 2 rows"
    assert (findings[0][1].probability, findings[0][1].confidence, findings[0][1].kind) == (0.8, 0.7, "typo")


def test_short_skipped_and_other_columns_are_not_looked_at(coded: Any) -> None:
    assert list(shouting(coded({"word": ["a", "B", "B"]}))) == []
    assert list(shouting(coded({"size": ["1", "2", "3"] * 4}))) == []
    table = coded({"word": ["a", "B", "a", "B", "a"]})
    table.skip = frozenset(["word"])
    assert list(shouting(table)) == []


def test_a_column_test_keeps_the_name_of_its_function() -> None:
    assert (shouting.__name__, shouting.__doc__) == ("shouting", "Texts in capitals.")
