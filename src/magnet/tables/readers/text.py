"""Bytes of a text file to text: encodings, and lines that are too long to be a table's."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from pathlib import Path

from magnet.tables.errors import BadTable
from magnet.untrusted import check_size

LONGEST_LINE = 32 << 20  # bytes; a table with wider rows than this is some other kind of file
UNFOLDED = 8  # bytes of memory that a byte of text takes as lines, cells and columns, about
_BOMS = (  # the longest first: UTF-32-LE begins like UTF-16-LE
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARKED = ("utf-16", "utf-32", "utf-8-sig")  # whose byte order mark Python would take away
_TWO_BYTES = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")


@dataclass(frozen=True)
class Text:
    """The characters of a file and the encoding they came in (and go back in)."""

    characters: str
    encoding: str


def read_text(path: Path, encoding: str | None = None, longest_line: int | None = LONGEST_LINE) -> Text:
    """Decode a file: by its byte order mark, else UTF-16 if it looks like it, else UTF-8, else (without any valid
    multi-byte UTF-8) Windows-1252.

    The mark stays in the text. A file whose characters would not give back the same bytes is refused: what nobody
    changed could not be written as it was.
    """
    check_size(UNFOLDED * path.stat().st_size, str(path))
    content = path.read_bytes()
    if longest_line is not None and max(map(len, content.replace(b"\r", b"\n").split(b"\n"))) > longest_line:
        raise BadTable(
            f"{path} has a line of more than {longest_line >> 20} MiB: it is not a table of rows and columns"
        )
    marked = next((name for bom, name in _BOMS if content.startswith(bom)), None) or _unmarked_utf16(content)
    name = _known_encoding(encoding) if encoding is not None else marked or "utf-8"
    if name in _MARKED and marked is not None and marked.startswith(name[:6].rstrip("-")):
        name = marked
    wide = name.startswith(("utf-16", "utf-32"))
    if b"\0" in content and not wide:
        kind = " (an Excel workbook? export it as CSV)" if content.startswith(b"PK") else ""
        raise BadTable(f"{path} holds NUL bytes: it is not a text table{kind}")
    if content.startswith(b"PK\x03\x04"):
        raise BadTable(f"{path} is a zip archive (an Excel workbook?), not a text table; export it as CSV")
    try:
        return _decoded(path, content, name)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{content[error.start]:02X} is not {name}"
    if encoding is None and name == "utf-8" and marked is None and not _TWO_BYTES.search(content):
        try:
            return _decoded(path, content, "cp1252")
        except UnicodeDecodeError:
            pass
    mixed = ", though others are" if name == "utf-8" else ""
    raise BadTable(f"{path} line {line}: {found}{mixed}; save the file as UTF-8 or give its encoding with --encoding")


def _unmarked_utf16(content: bytes) -> str | None:
    """UTF-16 without a byte order mark: most of every other byte are NUL, and none of the rest."""
    if len(content) % 2:
        return None
    even, odd = content[::2], content[1::2]
    for name, zeros, letters in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if 2 * zeros.count(0) > len(zeros) and not letters.count(0):
            return name
    return None


def _known_encoding(encoding: str) -> str:
    """The usual name of an encoding of text."""
    try:
        found = codecs.lookup(encoding)
    except (LookupError, ValueError):
        raise ValueError(f"encoding {encoding!r} is unknown; use for example utf-8, utf-16 or cp1252") from None
    if not getattr(found, "_is_text_encoding", True):
        raise ValueError(f"encoding {encoding!r} is not a text encoding; use for example utf-8, utf-16 or cp1252")
    return found.name


def _decoded(path: Path, content: bytes, name: str) -> Text:
    try:
        characters = content.decode(name)
        same = characters.encode(name) == content
    except UnicodeDecodeError:
        raise
    except (UnicodeError, ValueError, NotImplementedError) as error:
        raise BadTable(f"{path} is not {name} ({error}); give its encoding with --encoding") from None
    if not same:
        raise BadTable(
            f"{path} is not what {name} would write: it cannot be rewritten byte by byte; save the file as UTF-8 or "
            "give another encoding with --encoding"
        )
    return Text(characters, name)
