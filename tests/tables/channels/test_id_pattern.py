"""Identifiers off the frame of their column."""

from __future__ import annotations

from typing import Any

from magnet.tables.channels.id_pattern import audit

KEYS = [f"item-{100 + k}" for k in range(60)]


def test_a_key_that_misses_the_frame_by_one_character_is_wrong(found: Any) -> None:
    assert found(audit, {"key": [*KEYS, "item-1234"]}) == {(60, 0, None)}
    assert found(audit, {"key": [*KEYS, "item100"]}) == {(60, 0, None)}


def test_another_frame_and_lengths_that_vary_are_left_alone(found: Any) -> None:
    assert found(audit, {"key": KEYS}) == set()
    assert found(audit, {"key": [*KEYS, "box/7/left/side"]}) == set()
    assert found(audit, {"key": [f"item-{k}" for k in range(40, 160)]}) == set()
