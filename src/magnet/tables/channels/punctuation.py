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
from magnet.tables.roles.base import roles_but

RUN = re.compile(r"[^\W_]+")
LIST_MARK = re.compile(r"(?<!\d)\s*([,;|])\s*|\s*([,;|])\s*(?!\d)")  # separators, but not those within numbers
SPLIT = re.compile(r"\s*[,;|]\s*")
LINK = re.compile(r"://|www\.|@")  # marks of addresses mean something
LISTED = re.compile(r"[;|/&+]")
LETTERS = re.compile(r"[^\W\d_]+|\d+")
OWN = 0.6  # share of one frame or one spacing from which it is the column's own
SHORTEST = 4  # letters of a value that is known by its letters; marks of shorter ones mean something (A+, C#)


@text_test("format", roles_but("quantity", "unit", "date", "time"))
def rewrite(texts: Texts) -> Iterator[WrongText]:
    """Cells that differ from the column's own writing in marks only.

    Three tests: the lengths of the runs of letters and digits are those of most cells, or these runs are written
    together (phones, codes); separators of a list have other spaces than most; a far more frequent text has the same
    letters and the same numbers.
    """
    better = _by_letters(texts) | _spacing(texts) | _frames(texts)
    confidence = certainty(texts.rows(better), texts.total)
    for code, text in better.items():
        observed = texts.column.values[code]
        yield code, text, confidence, f"{observed!r} has other punctuation than {text!r}, the usual form: format"


def _frames(texts: Texts) -> dict[int, str]:
    """Texts whose runs are as long as those of the leading frame, with its marks."""
    frames = texts.tally(lambda text: (tuple(RUN.split(text)), tuple(map(len, RUN.findall(text)))))
    (between, sizes), most = frames.most_common(1)[0]
    if most < OWN * texts.total or len(sizes) < 2:
        return {}
    out: dict[int, str] = {}
    # what its runs are made of: the article number e99787 is not the range e99-787
    kinds = {_kinds(RUN.findall(t)) for _, t, _ in texts if tuple(map(len, RUN.findall(t))) == sizes}
    for k, observed, _ in texts:
        runs = RUN.findall(observed)
        if len(runs) == 1 and len(runs[0]) == sum(sizes):
            ends = np.cumsum(sizes).tolist()
            runs = [runs[0][end - size : end] for size, end in zip(sizes, ends, strict=True)]
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
            words = LETTERS.findall(text.casefold())
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
            if often and OSA.distance(text, better) > 1 and not LINK.search(text):
                out[k] = better
    return out
