"""Texts that were cut off."""

from __future__ import annotations

from typing import Any

from magnet.tables.channels.truncated import rewrite

GOODS = ["Garden > Tools", "Home > Lighting", "Home > Kitchen > Pans", "Home > Kitchen > Knives"] * 12


def test_beginnings_that_end_within_a_word_are_completed_where_only_one_text_begins_so(found: Any) -> None:
    cut = ["Garden > To", "Home > Lig", "Home > Kit"]
    expected = {(48, 0, "Garden > Tools"), (49, 0, "Home > Lighting"), (50, 0, None)}
    assert found(rewrite, {"goods": [*GOODS, *cut]}) == expected


def test_a_shorter_name_is_a_name(found: Any) -> None:
    assert found(rewrite, {"goods": [*GOODS, "Home", "Garden > To"]}) == set()  # a whole word, and a single text
    names = ["Robert", "Alexander", "Edward", "Christopher"] * 12
    others = ["Robe", "Alex", "Edwa", "Ann", *(f"{a}{b}ra" for a in "BCDFGKLM" for b in "aeo")]
    assert found(rewrite, {"name": [*names, *others]}) == set()
