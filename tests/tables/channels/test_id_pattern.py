"""Identifiers off the frame of their column."""

from __future__ import annotations

from typing import Any

from magnet.tables.channels.id_pattern import audit, lookalikes

KEYS = [f"item-{100 + k}" for k in range(60)]


def test_a_key_that_misses_the_frame_by_one_character_is_wrong(found: Any) -> None:
    assert found(audit, {"key": [*KEYS, "item-1234"]}) == {(60, 0, None)}
    assert found(audit, {"key": [*KEYS, "item100"]}) == {(60, 0, None)}


def test_another_frame_and_lengths_that_vary_are_left_alone(found: Any) -> None:
    assert found(audit, {"key": KEYS}) == set()
    assert found(audit, {"key": [*KEYS, "box/7/left/side"]}) == set()
    assert found(audit, {"key": [f"item-{k}" for k in range(40, 160)]}) == set()


def test_a_letter_that_looks_like_a_digit_is_one(found: Any) -> None:
    ids = [f"{'HEX' if k % 3 else 'IC'}-{1000 + 7 * k}-{k % 10}{'' if k % 2 else '-A'}" for k in range(100)]
    assert found(lookalikes, {"id": ids}) == set()
    ids[7] = "HEX-1O49-7"
    assert found(lookalikes, {"id": ids}) == {(7, 0, "HEX-1049-7")}
    houses = [str(100 + k) for k in range(97)]
    assert found(lookalikes, {"house": [*houses, "12B", "14S", "11O"]}) == set()
