"""The same letters and digits with other marks: ``310/246-1501`` among ``310-246-1501``, ``a, b`` among ``a,b``."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np
from rapidfuzz.distance import OSA

from magnet.tables.channels.base import Odd, per_value
from magnet.tables.channels.writing import PROBABILITY, TIMES, certainty
from magnet.tables.coded import CodedColumn, CodedTable, Codes
from magnet.tables.findings import Finding
from magnet.tables.options import TableOptions
from magnet.tables.roles.base import ROLES

RUN = re.compile(r"[^\W_]+")
LIST_MARK = re.compile(r"(?<!\d)\s*([,;|])\s*|\s*([,;|])\s*(?!\d)")  # separators, but not those within numbers
SPLIT = re.compile(r"\s*[,;|]\s*")
LINK = re.compile(r"://|www\.|@")  # marks of addresses mean something
LETTERS = re.compile(r"[^\W\d_]+|\d+")
OWN = 0.6  # share of one frame or one spacing from which it is the column's own
SHORTEST = 4  # letters of a value that is known by its letters; marks of shorter ones mean something (A+, C#)


def rewrite(table: CodedTable, options: TableOptions) -> Iterator[tuple[int, Finding]]:
    """Cells that differ from the column's own writing in marks only.

    Three tests: the lengths of the runs of letters and digits are those of most cells, or these runs are written
    together (phones, codes); separators of a list have other spaces than most; a far more frequent text has the same
    letters and the same numbers.
    """
    roles = [role for role in ROLES if role not in ("quantity", "unit", "date", "time")]
    return per_value(table, options, _exceptions, "format", PROBABILITY, roles)


def _exceptions(column: CodedColumn, held: list[int], counts: Codes, options: TableOptions) -> Iterator[Odd]:
    better = _by_letters(column, held, counts) | _spacing(column, held, counts) | _frames(column, held, counts)
    confidence = certainty(sum(int(counts[k]) for k in better), int(counts[held].sum()))
    for code, text in better.items():
        yield code, text, confidence, f"{column.values[code]!r} has other marks than {text!r}, as most write it: format"


def _frames(column: CodedColumn, held: list[int], counts: Codes) -> dict[int, str]:
    """Texts whose runs are as long as those of the leading frame, with its marks."""
    marks: Counter[tuple[tuple[str, ...], tuple[int, ...]]] = Counter()
    for k in held:
        marks[tuple(RUN.split(column.values[k])), _sizes(column.values[k])] += int(counts[k])
    (between, sizes), most = marks.most_common(1)[0]
    if most < OWN * counts[held].sum() or len(sizes) < 2:
        return {}
    out = {}
    for k in held:
        runs = RUN.findall(column.values[k])
        if len(runs) == 1 and len(runs[0]) == sum(sizes):
            ends = np.cumsum(sizes).tolist()
            runs = [runs[0][end - size : end] for size, end in zip(sizes, ends, strict=True)]
        if tuple(map(len, runs)) == sizes:
            text = "".join(mark + run for mark, run in zip(between, [*runs, ""], strict=True))
            if text != column.values[k]:
                out[k] = text
    return out


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(len(run) for run in RUN.findall(text))


def _spacing(column: CodedColumn, held: list[int], counts: Codes) -> dict[int, str]:
    """Lists whose separators have other spaces than those of most; each of their parts must occur in other lists."""
    written: dict[str, Counter[str]] = defaultdict(Counter)
    for k in held:
        for match in LIST_MARK.finditer(column.values[k].strip()):
            written[match.group().strip()][match.group()] += int(counts[k])
    own = {}
    for mark, forms in written.items():
        form, most = forms.most_common(1)[0]
        if most >= OWN * sum(forms.values()):
            own[mark] = form

    def respace(match: re.Match[str]) -> str:
        return own.get(match.group().strip(), match.group())

    texts = {k: LIST_MARK.sub(respace, column.values[k].strip()).strip() for k in held} if own else {}
    odd = [k for k, text in texts.items() if text != column.values[k].strip()]
    known = {part for k in texts.keys() - set(odd) for part in SPLIT.split(texts[k])} if odd else set()
    return {k: texts[k] for k in odd if known.issuperset(SPLIT.split(texts[k]))}


def _by_letters(column: CodedColumn, held: list[int], counts: Codes) -> dict[int, str]:
    """Texts of the letters and numbers of a far more frequent one; a single mark may be a slip, which is the typo
    channel's."""
    alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for k in held:
        text = column.values[k]
        if sum(c.isalpha() for c in text) >= SHORTEST:
            digits = [run for run in LETTERS.findall(text) if run.isdigit()]
            alike["".join(c for c in text if c.isalpha()).casefold(), *digits].append(k)
    out = {}
    for codes in alike.values():
        first = max(codes, key=lambda k: int(counts[k])) if len(codes) > 1 else -1
        for k in codes:
            if first < 0 or counts[first] < TIMES * counts[k]:
                continue
            text, better = column.values[k], column.values[first]
            if OSA.distance(text, better) > 1 and not LINK.search(text):
                out[k] = better
    return out
