"""Identifiers of one fixed frame (uuid, phone, code): a cell off the frame by one character is wrong, and so is a
letter that looks like a digit among digits."""

from __future__ import annotations

from collections.abc import Iterator

from rapidfuzz.distance import OSA

from magnet.tables.channels.base import ODD_FORM, WrongText, text_test
from magnet.tables.channels.punctuation import RUN
from magnet.tables.coded import Texts
from magnet.tables.options import MIN_ROWS, UNSURE
from magnet.tables.roles.base import roles_but

COMMON, ALL_COMMON, RARE = 0.05, 0.7, 0.02  # shares of a usual frame, of the usual ones together, of an exception
FRAMES = 3  # a column with more usual frames has none
LENGTH_0 = 0xE000  # first of the private characters of Unicode, which stand for runs of a length
LONGEST_RUN = 60  # longer ones count as equally long
# Characters that are taken for each other, by readers and by programs; shorter texts (12B, 3S) may be house numbers and
# sizes, whatever the others are.
LOOKALIKES = {"O": "0", "o": "0", "Q": "0", "D": "0", "I": "1", "l": "1", "i": "1", "Z": "2", "S": "5", "B": "8"}
SHORTEST = 6  # characters (not swept)


@text_test("typo", roles_but("quantity", "constant", "unit"), MIN_ROWS, ODD_FORM)
def audit(texts: Texts) -> Iterator[WrongText]:
    """Cells whose frame (lengths of the runs of letters and digits, and what is between them) misses all usual ones by
    one character. The right text is not known."""
    total = texts.total
    if len(texts.codes) < 0.5 * total or texts.only(str.isdigit).total > 0.5 * total:
        return
    frames = texts.tally(frame_of)
    usual = [f for f, c in frames.items() if c >= COMMON * total]
    if not 1 <= len(usual) <= FRAMES or sum(frames[f] for f in usual) < ALL_COMMON * total:
        return
    if len({_bare(f) for f in usual}) < len(usual):
        return  # the usual frames differ in lengths only: lengths vary in this column
    example = next(text for _, text, _ in texts if frame_of(text) in usual)
    for k, text, _ in texts:
        frame = frame_of(text)
        if frame not in usual and frames[frame] <= RARE * total and any(_near(frame, f) for f in usual):
            yield k, None, 0.0, f"{text!r} differs in form from {example!r} and most other values: typo"


@text_test("typo", roles_but("quantity", "constant", "unit"), MIN_ROWS)
def lookalikes(texts: Texts) -> Iterator[WrongText]:
    """Cells with a letter that looks like a digit where other texts of this frame have one (``HEX-121O-3761``), in
    columns that hardly repeat."""
    if len(texts.codes) < 0.5 * texts.total:
        return
    kinds = {k: "".join("A" if c.isalpha() else "0" if c.isdigit() else c for c in text) for k, text, _ in texts}
    frames = texts.tally_codes(kinds)
    usual = {f for f, rows in frames.items() if rows >= COMMON * texts.total}
    if sum(frames[f] for f in usual) < ALL_COMMON * texts.total:
        return
    for k, kind in kinds.items():
        text = texts.column.values[k]
        if kind in usual or len(text) < SHORTEST or frames[kind] > RARE * texts.total:
            continue
        right = {
            text[:at] + LOOKALIKES[c] + text[at + 1 :]
            for at, c in enumerate(text)
            if c in LOOKALIKES and kind[:at] + "0" + kind[at + 1 :] in usual
        }
        if len(right) == 1:
            better = right.pop()
            yield k, better, UNSURE, f"{text!r} has a letter where {better!r} and most other values have a digit: typo"


def frame_of(text: str) -> str:
    """The frame of a text: one character per run, which encodes its length.

    Example:
        >>> frame_of("ab-123") == frame_of("xy-907"), frame_of("ab-123") == frame_of("abc-123")
        (True, False)
    """
    return RUN.sub(lambda m: chr(LENGTH_0 + min(len(m.group()), LONGEST_RUN)), text)


def _near(frame: str, usual: str) -> bool:
    if len(frame) == len(usual):
        return sum(abs(ord(a) - ord(b)) for a, b in zip(frame, usual, strict=True)) <= 1
    sizes = abs(sum(map(_size, frame)) - sum(map(_size, usual)))
    return OSA.distance(frame, usual) == 1 or (sizes <= 1 and abs(len(frame) - len(usual)) <= 2)


def _bare(frame: str) -> str:
    return "".join("." if ord(c) >= LENGTH_0 else c for c in frame)


def _size(character: str) -> int:
    return ord(character) - LENGTH_0 if ord(character) >= LENGTH_0 else 1
