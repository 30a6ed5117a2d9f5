"""Bytes of a text file to text: encodings, and lines that are too long to be a table's."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from pathlib import Path

from magnet.tables.errors import BadTable

LONGEST_LINE = 32 << 20  # bytes; a table with wider rows than this is some other kind of file
CHUNK = 1 << 22
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_TWO_BYTES = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")


@dataclass(frozen=True)
class Text:
    """The characters of a file and the encoding they came in (and go back in)."""

    characters: str
    encoding: str


def read_text(path: Path, encoding: str | None = None) -> Text:
    """Decode a file: by its byte order mark, else UTF-8, else (where no byte speaks for UTF-8) Windows-1252."""
    content = _read_bytes(path)
    name = encoding or next((name for bom, name in _BOMS if content.startswith(bom)), "utf-8")
    try:
        codecs.lookup(name)
    except LookupError:
        raise ValueError(f"encoding {encoding!r} is not known; for example utf-8, utf-16, cp1252") from None
    if b"\0" in content[:CHUNK] and not name.lower().startswith(("utf-16", "utf_16", "utf16", "utf-32")):
        kind = " (an Excel workbook? export it as CSV)" if content.startswith(b"PK") else ""
        raise BadTable(f"{path} holds NUL bytes: it is not a text table{kind}")
    if content.startswith(b"PK\x03\x04"):
        raise BadTable(f"{path} is a zip archive (an Excel workbook?), not a text table; export it as CSV")
    try:
        return Text(content.decode(name), name)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{content[error.start]:02X} is not {name}"
    except UnicodeError as error:
        raise BadTable(f"{path} is not {name} ({error}); name its encoding with --encoding") from None
    if encoding is None and name == "utf-8" and not _TWO_BYTES.search(content):
        try:
            return Text(content.decode("cp1252"), "cp1252")
        except UnicodeDecodeError:
            pass
    mixed = ", though others are" if name == "utf-8" else ""
    raise BadTable(f"{path} line {line}: {found}{mixed}; save the file as UTF-8 or name its encoding with --encoding")


def _read_bytes(path: Path) -> bytes:
    """The whole file, given up as soon as a line is too long."""
    parts: list[bytes] = []
    length = 0  # of the line that the chunks so far end in
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            first, last = _line_ends(chunk)
            if length + first > LONGEST_LINE:
                raise BadTable(
                    f"{path} has a line of more than {LONGEST_LINE >> 20} MiB: it is not a table of rows and columns"
                )
            length = len(chunk) - last if last else length + len(chunk)
            parts.append(chunk)
    return b"".join(parts)


def _line_ends(chunk: bytes) -> tuple[int, int]:
    """Bytes up to the first line end (all, where there is none), and the place behind the last (0)."""
    first = min((place for place in (chunk.find(b"\n"), chunk.find(b"\r")) if place >= 0), default=len(chunk))
    return first, max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
