"""Bytes of a file as text."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from magnet.tables import BadTable
from magnet.tables.readers.text import read_text


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("Köln".encode(), "utf-8"),
        ("Köln".encode("cp1252"), "cp1252"),
        (codecs.BOM_UTF8 + "Köln".encode(), "utf-8"),
        (codecs.BOM_UTF16_LE + "Köln".encode("utf-16-le"), "utf-16-le"),
        ("Köln".encode("utf-16-le"), "utf-16-le"),
        ("Köln".encode("utf-16-be"), "utf-16-be"),
        (codecs.BOM_UTF32_LE + "Köln".encode("utf-32-le"), "utf-32-le"),
    ],
    ids=["utf-8", "cp1252", "utf-8 with mark", "utf-16", "utf-16-le", "utf-16-be", "utf-32"],
)
def test_the_encoding_is_found_and_gives_the_bytes_back(tmp_path: Path, content: bytes, encoding: str) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    text = read_text(tmp_path / "a.csv")
    assert (text.characters.lstrip("\ufeff"), text.encoding) == ("Köln", encoding)
    assert text.characters.encode(text.encoding) == content


@pytest.mark.parametrize(
    ("content", "encoding", "message"),
    [
        (b"a\0b", None, "NUL bytes: it is not a text table"),
        (b"PK\x03\x04 rest", None, "zip archive"),
        (b"K\xc3\xb6ln\nK\xf6ln", None, r"line 2: byte 0xF6 is not utf-8, though others are"),
        (b"x" * 70, None, "a line of more than"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes, encoding: str | None, message: str) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(BadTable, match=message):
        read_text(tmp_path / "a.csv", encoding, longest_line=64)


@pytest.mark.parametrize(("encoding", "message"), [("latin-99", "is unknown"), ("hex", "is not a text encoding")])
def test_an_unknown_encoding_is_an_argument_error(tmp_path: Path, encoding: str, message: str) -> None:
    (tmp_path / "a.csv").write_bytes(b"a")
    with pytest.raises(ValueError, match=message):
        read_text(tmp_path / "a.csv", encoding)
