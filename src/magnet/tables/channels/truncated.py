"""Texts cut off within a word: ``Home > Kitch`` among ``Home > Kitchen``."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from magnet.tables.channels.base import WrongText, text_test
from magnet.tables.coded import Texts
from magnet.tables.options import FEW_ROWS, REPEATS, SURE

SHORTEST, LOST = 4, 2  # characters that are left, and that are lost: a single one is a misspelling
PROCESS = 0.2  # share of the rare texts that must be beginnings: among names, some short ones are (Rob, Robert)


@text_test("typo", ("category", "text"))
def rewrite(texts: Texts) -> Iterator[WrongText]:
    """Rare texts that are the beginning of a frequent one and end within one of its words, where a column has several.
    If they begin several frequent texts, the right one is not known."""
    values = sorted(text for _, text, rows in texts if rows >= FEW_ROWS)
    rare = [(k, text) for k, text, rows in texts if rows < REPEATS]
    found: dict[int, list[str]] = {}
    for k, text in rare:
        bare = text.rstrip(" .…")
        whole = []
        for value in values[bisect_left(values, bare) :]:
            if not value.startswith(bare):
                break
            whole.append(value)
        inside = all(value[len(bare) : len(bare) + 1].isalnum() for value in whole)
        if len(bare) >= SHORTEST and bare[-1].isalnum() and whole and inside and len(whole[0]) >= len(bare) + LOST:
            found[k] = whole
    if len(found) < max(REPEATS, PROCESS * len(rare)):
        return
    for k, whole in found.items():
        why = f"{texts.column.values[k]!r} is the beginning of {whole[0]!r}, cut off: typo"
        yield k, whole[0] if len(whole) == 1 else None, SURE if len(whole) == 1 else 0.0, why
