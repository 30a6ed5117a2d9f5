"""What a reader makes of damaged files."""

from __future__ import annotations

from pathlib import Path

import pytest

from magnet.tables.errors import BadTable, readable


def test_whatever_a_parser_raises_becomes_one_sentence() -> None:
    with (
        pytest.raises(BadTable, match=r"^a.npz cannot be read as .npz: torn in two$"),
        readable(Path("a.npz"), ".npz"),
    ):
        raise RuntimeError("torn\n   in two")


@pytest.mark.parametrize("error", [FileNotFoundError("gone"), MemoryError(), BadTable("as it is")])
def test_what_says_enough_passes(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, readable(Path("a.npz"), ".npz"):
        raise error
    assert raised.value is error
