"""A remark behind some values of a column: ``2008 (USA)``, ``Ulm [1]``, ``Bonn *``."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from magnet.tables.channels.base import Odd, per_value
from magnet.tables.coded import CodedColumn, CodedTable, Codes
from magnet.tables.experts.groups import dispersion
from magnet.tables.findings import Finding
from magnet.tables.options import TableOptions
from magnet.tables.roles.dates import parse_moment
from magnet.tables.roles.patterns import number

BEHIND = re.compile(
    r"(?P<core>.*[^\W_][.)\]%]?)"
    r"(?P<remark>\s*(?:\([^()]{1,30}\)|\[[^\[\]]{1,30}\]|[*#†‡]{1,3})|\s(?P<letter>[^\W\d_]))",
    re.S,
)
WORD = re.compile(r"(?P<core>.*\d)(?P<remark>\s+[^\W\d_]{2,12}\.?)", re.S)
LETTER = "a letter"  # single letters behind values are one remark, whichever they are
REPEATS = 3  # rows from which a remark is a habit
MOST = 0.4  # share of the filled cells; more remarks are part of the values
SHARE = 0.3  # of the rows of one value that may have a remark; a version of its own stands beside few others
AT_HOME = 0.8  # share of the remarked values that the column also holds without a remark
PROBABILITY, CONFIDENCE = 0.95, 0.94


def rewrite(table: CodedTable, options: TableOptions) -> Iterator[tuple[int, Finding]]:
    """Values with a remark become bare, where the column holds them bare.

    A remark belongs to the value if most of the values it stands behind never occur without it, or if it gathers on
    some of them (dispersion): an error process strikes values in proportion to how frequent they are. Numbers and
    dates need not occur bare themselves, if the column is one of numbers or dates.
    """
    return per_value(table, options, _remarks, "format", PROBABILITY)


def _kind(text: str) -> str:
    """What a bare value is: a number, a date or time, or words."""
    return "number" if number(text) is not None else "moment" if parse_moment(text) else "words"


def _remarks(column: CodedColumn, held: list[int], counts: Codes, options: TableOptions) -> Iterator[Odd]:
    filled = int(counts[held].sum())
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for k in held:
        match = BEHIND.fullmatch(column.values[k]) or WORD.fullmatch(column.values[k])
        if match:
            kind = _kind(match["core"])
            if kind != "words" or match.re is BEHIND:
                remark = LETTER if match.groupdict().get("letter") else match["remark"].strip()
                found[remark if kind == "words" else kind].append((k, match["core"]))
    if not found:
        return
    with_remark = {k for pairs in found.values() for k, _ in pairs}
    bare_codes = [k for k in held if k not in with_remark]
    bare = Counter[str]()
    for k in bare_codes if {"number", "moment"} & set(found) else []:
        bare[_kind(column.values[k])] += int(counts[k])
    for remark, pairs in found.items():
        rows = sum(int(counts[k]) for k, _ in pairs)
        if rows < REPEATS or rows > MOST * filled:
            continue
        if remark in ("number", "moment"):
            kept = pairs if bare[remark] + rows >= options.format_share * filled else []
        else:
            home = [(k, core) for k, core in pairs if column.index.get(core, -1) in bare_codes]
            kept = home if _scattered(column, home, rows, bare_codes, counts, options) else []
        for k, core in kept:
            yield k, core, CONFIDENCE, f"{rows} cells have a remark behind the value, most have none: format"


def _scattered(
    column: CodedColumn,
    home: list[tuple[int, str]],
    rows: int,
    bare: list[int],
    counts: Codes,
    options: TableOptions,
) -> bool:
    """Whether one remark strikes the values of a column as chance would."""
    if len(home) < REPEATS:
        return False
    hits = np.zeros(len(counts), dtype=np.int64)
    for k, core in home:
        hits[column.index[core]] += counts[k]
    sizes, struck = hits + counts, hits > 0
    few = AT_HOME * rows <= hits.sum() <= SHARE * sizes[struck].sum()
    return bool(few and dispersion(hits[bare], sizes[bare]) <= options.dispersion)
