"""Text decoded with the wrong code page: ``MÃ¼ller`` for ``Müller``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import ModuleType

from magnet.tables.channels.base import WrongText, text_test
from magnet.tables.coded import Texts
from magnet.tables.options import SURE

PAGES = ("cp1252", "latin-1")


def repair(text: str) -> str:
    """The text as it was before it was decoded wrongly; the text itself if nothing is wrong.

    With the package ftfy its heuristics decide; without it, a text that is valid UTF-8 in the bytes of a western code
    page is taken for one that was decoded wrongly, which hardly ever happens by chance.

    Example:
        >>> repair("MÃ¼ller"), repair("Müller"), repair("plain")
        ('Müller', 'Müller', 'plain')
    """
    if text.isascii():
        return text
    ftfy = optional_ftfy()
    if ftfy is not None:
        return str(ftfy.fix_encoding(text))
    return _decoded(text)


def _decoded(text: str) -> str:
    """The text that is valid UTF-8 in the bytes of a western code page; the text itself if there is none."""
    for page in PAGES:
        try:
            fixed = text.encode(page).decode("utf-8")
        except UnicodeError:
            continue
        if fixed != text:
            return fixed
    return text


@cache
def optional_ftfy() -> ModuleType | None:
    """The package ftfy if it is installed."""
    try:
        import ftfy
    except ImportError:
        return None
    return ftfy


@text_test("encoding", min_rows=1)
def rewrite(texts: Texts) -> Iterator[WrongText]:
    """Cells whose text was decoded with the wrong code page. What the heuristics of ftfy leave alone (a garbled
    ``Škoda``) is repaired where the column also holds the right text."""
    for code, text, _ in texts:
        fixed = repair(text)
        if fixed == text and (plain := _decoded(text)) in texts.column.index:
            fixed = plain
        if fixed != text:
            yield code, fixed, SURE, f"{text!r} is {fixed!r} decoded with the wrong character set: encoding"
