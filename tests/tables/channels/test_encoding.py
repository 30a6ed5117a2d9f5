"""Texts decoded with the wrong code page."""

from __future__ import annotations

from typing import Any

from magnet.tables.channels import encoding


def test_a_text_decoded_with_the_wrong_code_page_is_restored(found: Any) -> None:
    assert found(encoding.rewrite, {"name": ["MÃ¼ller", "Meyer"]}) == {(0, 0, "Müller")}


def test_a_garbled_text_that_is_unusual_is_restored_where_the_column_holds_the_right_one(found: Any) -> None:
    garbled = "Škoda".encode().decode("latin-1")
    assert found(encoding.rewrite, {"make": [garbled, "Seat", "Škoda"]}) == {(0, 0, "Škoda")}


def test_umlauts_and_plain_text_are_left_alone(found: Any) -> None:
    assert found(encoding.rewrite, {"name": ["Müller", "Meyer", "Ørsted"]}) == set()


def test_without_ftfy_the_code_pages_are_tried(monkeypatch: Any) -> None:
    monkeypatch.setattr(encoding, "optional_ftfy", lambda: None)
    assert [encoding.repair(text) for text in ("MÃ¼ller", "Müller", "Zürich, Ã")] == ["Müller", "Müller", "Zürich, Ã"]
