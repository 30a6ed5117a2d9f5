"""Texts that break the grammar of their column's semantic type (Hulsebos et al. 2019): e-mail, web and IP addresses,
and telephone numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from ipaddress import ip_address

from magnet.tables.channels.base import WrongText, text_test
from magnet.tables.coded import Texts
from magnet.tables.options import FORMAT_SHARE, MIN_ROWS, REPEATS, UNSURE
from magnet.tables.roles.base import roles_but
from magnet.tables.roles.infer import PHONE_NAME
from magnet.tables.roles.patterns import disguised_blank

EMAIL = re.compile(r"[^@\s,;<>]+@[^@\s,;<>]+\.[^@\s,;<>.]{2,}")
WEB = re.compile(r"(?:\w+://|www\.)\S+|(?:[\w-]+\.)+[a-z]{2,}(?:[/?#]\S*)?", re.I)
LIST = re.compile(r"\s*[,;]\s*|\s+")
DIALED = re.compile(r"[\d\s+()./,;#*-]+")
SPOKEN = re.compile(
    r"\b(?:or|and|ext|extension|tel|phone|fax|cell|mobile|home|work|office)\b\.?:?|(?:\b|(?<=\d))x(?=\s*\d)", re.I
)
MIN_DIGITS = 5  # of a telephone number


def _listed(grammar: re.Pattern[str]) -> Callable[[str], bool]:
    """Whether a text is one text of a grammar, or a list of several."""

    def belongs(text: str) -> bool:
        bare = text.strip(" \t,;")
        return bool(grammar.fullmatch(bare)) or all(grammar.fullmatch(part) for part in LIST.split(bare))

    return belongs


def _ip(text: str) -> bool:
    try:
        return bool(ip_address(text.strip()))
    except ValueError:
        return False


def _telephone(text: str) -> bool:
    bare = SPOKEN.sub(" ", text)
    return DIALED.fullmatch(bare) is not None and sum(c.isdigit() for c in bare) >= MIN_DIGITS


EMAIL_ADDRESS, WEB_ADDRESS, TELEPHONE = "an e-mail address", "a web address", "a telephone number"
TYPES: dict[str, Callable[[str], bool]] = {
    EMAIL_ADDRESS: _listed(EMAIL),
    WEB_ADDRESS: _listed(WEB),
    "an IP address": _ip,
    TELEPHONE: _telephone,
}
# What half of the texts must have, as file names have dots too, and other numbers hyphens.
MARKS = {WEB_ADDRESS: re.compile(r"/|www\."), TELEPHONE: re.compile(r"^\s*\+")}


@text_test("format", roles_but("quantity", "unit", "date", "time", "constant"), MIN_ROWS)
def audit(texts: Texts) -> Iterator[WrongText]:
    """Cells that are not of the type of nearly all others. Telephone numbers are recognized by the
    name of the column or a leading plus sign."""
    filled = texts.only(lambda text: not disguised_blank(text))
    for name, belongs in TYPES.items():
        own = filled.only(belongs)
        if FORMAT_SHARE * filled.total <= own.total < filled.total and _marked(own, name):
            for k, text, _ in filled:
                if not belongs(text):
                    right = _with_sign(text, own) if name == EMAIL_ADDRESS and "@" not in text else None
                    why = f"{own.total} of {filled.total} cells hold {name}, this one does not: format"
                    yield k, right, UNSURE, why
            return


def _marked(own: Texts, name: str) -> bool:
    """Whether texts that may be of a type have what others of the same grammar have not."""
    if name not in MARKS or (name == TELEPHONE and PHONE_NAME.search(own.column.name)):
        return True
    return sum(rows for _, text, rows in own if MARKS[name].search(text)) >= 0.5 * own.total


def _with_sign(text: str, others: Texts) -> str | None:
    """An e-mail address that lost its sign, from the domains of the others."""
    domains = Counter[str]()
    for _, other, rows in others:
        domains[other.rpartition("@")[2]] += rows
    known = [d for d, rows in domains.items() if rows >= REPEATS and text.endswith(d) and text != d]
    domain = max(known, key=len, default="")
    return f"{text.removesuffix(domain)}@{domain}" if domain else None
