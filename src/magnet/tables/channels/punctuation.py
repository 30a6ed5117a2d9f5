"""The same letters and digits with other marks: ``310/246-1501`` among ``310-246-1501``, ``a, b`` among ``a,b``."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np
from rapidfuzz.distance import OSA

from magnet.tables.channels.base import WrongText, text_test
from magnet.tables.channels.case_and_space import TIMES, certainty
from magnet.tables.coded import Texts
from magnet.tables.options import REPEATS, SURE, UNSURE
from magnet.tables.roles.base import roles_but

RUN = re.compile(r"[^\W_]+")
LIST_MARK = re.compile(r"(?<!\d)\s*([,;|])\s*|\s*([,;|])\s*(?!\d)")  # separators, but not those within numbers
SPLIT = re.compile(r"\s*[,;|]\s*")
LONG_RUN = 8  # digits of a number that marks may divide; those of shorter ones mean something (1.25, 5-6)
LINK = re.compile(r"://|www\.|@")  # marks of addresses mean something
LISTED = re.compile(r"[;|/&+]")
LETTERS = re.compile(r"[^\W\d_]+|\d+")
OWN = 0.6  # share of one frame or one spacing from which it is the column's own
JOINED, SETTLED = 0.9, 20  # share and number of rows of one way to join the same runs, from which others are odd
OFTEN = 0.05  # share of the column that these runs need: rarer ones may be misspelled themselves
LONGEST = 80  # characters of a text whose joints are compared
DASHES = re.compile(r"[-‐-―−]+")
SYMBOLS = re.compile(r"[+%@=<>$€£°]|#(?!\d)")  # which mean something: C, C++ and C#
SIGNED = re.compile(r"\s*[-−]\s*\d")
SHORTEST = 4  # letters of a value that is known by its letters; marks of shorter ones mean something (A+, C#)


@text_test("format", roles_but("quantity", "unit", "date", "time"))
def rewrite(texts: Texts) -> Iterator[WrongText]:
    """Cells that differ from the column's own writing in marks only.

    Four tests: the lengths of the runs of letters and digits are those of most cells, or these runs are written
    together (phones, codes); separators of a list have other spaces than most; a far more frequent text has the same
    letters and the same numbers; nearly all texts of the same words and any numbers have other marks between them, or
    most have other spaces around the same marks.
    """
    better = _by_letters(texts) | _spacing(texts) | _frames(texts)
    confidence = dict.fromkeys(better, certainty(texts.rows(better), texts.total))
    joints, values = _joints(texts), texts.column.values
    spaced = [code for code, text in joints.items() if _unspaced(text) == _unspaced(values[code])]
    confidence = dict.fromkeys(spaced, certainty(texts.rows(spaced), texts.total)) | confidence
    better = joints | better
    for code, text in better.items():
        observed, known = values[code], texts.column.index.get(text, -1)
        if bool(SIGNED.match(observed)) != bool(SIGNED.match(text)):
            continue  # west is not east
        established = 0 <= known < len(texts.counts) and texts.counts[known] >= SETTLED * texts.counts[code]
        yield (
            code,
            text,
            SURE if established else confidence.get(code, UNSURE),
            f"{observed!r} has other punctuation than {text!r}, the usual form: format",
        )


def _joints(texts: Texts) -> dict[int, str]:
    """Texts whose runs are joined in another way than nearly all of the same words and any numbers: ``4:03,70`` among
    ``4:05.12``, ``12x40 cm`` among ``15 x 30 cm``, ``High-jump`` among ``High jump``."""
    parts: dict[tuple[str, ...], list[tuple[int, list[str]]]] = defaultdict(list)
    for k, text, _ in texts:
        if len(text) <= LONGEST:
            runs = LETTERS.findall(text)
            if len(runs) > 1:
                parts["".join("#" if run.isdigit() else run for run in runs), str(len(runs))].append(
                    (k, LETTERS.split(text))
                )
    out = {}
    for alike in parts.values():
        marks = Counter[tuple[str, ...]]()
        for k, between in alike:
            marks[tuple(between)] += int(texts.counts[k])
        own, most = marks.most_common(1)[0]
        if most < max(SETTLED, OFTEN * texts.total):
            continue
        bare = [_unspaced(mark) for mark in own]
        nearly_all = most >= JOINED * marks.total()
        sizes = {_digits(texts.column.values[k]) for k, between in alike if tuple(between) == own}
        spaced = most >= OWN * sum(rows for each, rows in marks.items() if [_unspaced(mark) for mark in each] == bare)
        for k, between in alike:
            runs = LETTERS.findall(texts.column.values[k])
            if not all(map(str.isdigit, runs)) and _digits(texts.column.values[k]) not in sizes:
                continue  # A 180 and A 200 among A3 and A4 are other names
            ends = [runs[0], *runs, runs[-1]]  # only marks between runs are compared
            if not nearly_all and not (spaced and bare == [_unspaced(mark) for mark in between]):
                continue
            if tuple(between) != own and all(
                a == b or (0 < at < len(runs) and _alike(a, b, ends[at], ends[at + 1]))
                for at, (a, b) in enumerate(zip(between, own, strict=True))
            ):
                better = "".join(mark + run for mark, run in zip(own, [*runs, ""], strict=True))
                if better not in texts.column.index or texts.counts[k] >= REPEATS:  # else a slip: the typo channel's
                    out[k] = better
    return out


def _digits(text: str) -> tuple[int, ...]:
    """Lengths of the numbers in a text."""
    return tuple(len(run) for run in LETTERS.findall(text) if run.isdigit())


def _unspaced(mark: str) -> str:
    """Without white space."""
    return "".join(mark.split())


def _alike(mark: str, own: str, before: str, after: str) -> bool:
    """Whether two marks between runs join them in the same way: between numbers, a point and a comma, or dashes and
    spaces around the same mark; elsewhere spaces and hyphens too."""
    a, b = (DASHES.sub("-", _unspaced(m)) for m in (mark, own))
    if before.isdigit() and after.isdigit():
        return bool(a) and (a == b or {a, b} == {".", ","})
    return a == b or {a, b} <= {"", "-", "_", "."}


def _frames(texts: Texts) -> dict[int, str]:
    """Texts whose runs are as long as those of the leading frame, with its marks."""
    frames = texts.tally(lambda text: (tuple(RUN.split(text)), tuple(map(len, RUN.findall(text)))))
    (between, sizes), most = frames.most_common(1)[0]
    if most < OWN * texts.total or not sizes or (len(sizes) == 1 and sizes[0] < LONG_RUN):
        return {}
    out: dict[int, str] = {}
    # what its runs are made of: the article number e99787 is not the range e99-787
    kinds = {_kinds(RUN.findall(t)) for _, t, _ in texts if tuple(map(len, RUN.findall(t))) == sizes}
    for k, observed, _ in texts:
        runs = RUN.findall(observed)
        if len(runs) == 1 and len(runs[0]) == sum(sizes) and not runs[0].isalpha():  # Seasonal is not Part-Time
            ends = np.cumsum(sizes).tolist()
            runs = [runs[0][end - size : end] for size, end in zip(sizes, ends, strict=True)]
        elif len(sizes) == 1 and len(runs) > 2 and all(map(str.isdigit, runs)):  # 978-0-19-853453-1 among plain ones
            runs = ["".join(runs)]
        if tuple(map(len, runs)) == sizes and _kinds(runs) in kinds:
            text = "".join(mark + run for mark, run in zip(between, [*runs, ""], strict=True))
            if text != observed:
                out[k] = text
    return out


def _kinds(runs: list[str]) -> tuple[tuple[bool, bool], ...]:
    """Whether each run is all digits, and whether it is all letters."""
    return tuple((run.isdigit(), run.isalpha()) for run in runs)


def _spacing(texts: Texts) -> dict[int, str]:
    """Lists whose separators have other spaces than those of most; each of their parts must occur in other lists."""
    written: dict[str, Counter[str]] = defaultdict(Counter)
    for _, text, rows in texts:
        for match in LIST_MARK.finditer(text.strip()):
            written[match.group().strip()][match.group()] += rows
    own = {}
    for mark, forms in written.items():
        form, most = forms.most_common(1)[0]
        if most >= OWN * sum(forms.values()):
            own[mark] = form

    def respace(match: re.Match[str]) -> str:
        return own.get(match.group().strip(), match.group())

    spaced = {k: LIST_MARK.sub(respace, text.strip()).strip() for k, text, _ in texts} if own else {}
    odd = {k for k, text in spaced.items() if text != texts.column.values[k].strip()}
    known = {part for k in spaced.keys() - odd for part in SPLIT.split(spaced[k])} if odd else set()
    return {k: text for k, text in spaced.items() if k in odd and known.issuperset(SPLIT.split(text))}


def _by_letters(texts: Texts) -> dict[int, str]:
    """Texts of the letters and numbers, or of the two words in the other order, of a far more frequent one; a single
    mark may be a slip, which is the typo channel's."""
    alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for k, text, _ in texts:
        if sum(c.isalpha() for c in text) >= SHORTEST:
            words = LETTERS.findall(text.casefold().replace(" & ", " and "))
            digits = [run for run in words if run.isdigit()]
            alike["".join(run for run in words if not run.isdigit()), *digits].append(k)
            if len(words) == 2 and not LISTED.search(text):  # the order of a list may mean something
                alike["", *sorted(words)].append(k)
    out = {}
    for codes in alike.values():
        first = max(codes, key=texts.counts.__getitem__)
        better = texts.column.values[first]
        for k in codes:
            text = texts.column.values[k]
            often = texts.counts[first] >= TIMES * texts.counts[k]
            if "," in text and "," in better and _exchanged(text, better):  # Crime,Drama and Drama,Crime are lists
                continue
            if SYMBOLS.findall(text) != SYMBOLS.findall(better):
                continue
            if often and OSA.distance(text, better) > 1 and not LINK.search(text):
                out[k] = better
    return out


def _exchanged(text: str, other: str) -> bool:
    """Whether two texts hold the same words in another order."""
    words, others = LETTERS.findall(text.casefold()), LETTERS.findall(other.casefold())
    return words != others and sorted(words) == sorted(others)
