"""A value written behind that of another column, while its own cell is blank."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from magnet.tables.coded import CodedTable
from magnet.tables.findings import Finding
from magnet.tables.options import FOUND, REPEATS, SURE

JOINED = re.compile(r"(?P<head>.+?)(?P<mark>[\s,;/|]+)(?P<tail>\S+)")
OF_GAPS = 0.3  # share of the blanks that the moved values must explain
ELSEWHERE = 0.05  # rows that end with the other column's value although it is filled: then it belongs there


def rewrite(table: CodedTable) -> Iterator[tuple[int, Finding]]:
    """``Madison WI`` beside an empty state becomes ``Madison`` and ``WI``."""
    n = table.num_rows
    for b, target in enumerate(table.columns):
        gaps = np.flatnonzero(target.blanks(target.read))
        domain = {text for _, text, rows in target.texts() if rows >= 2 and not text.isdigit()}
        if not REPEATS <= len(gaps) <= 0.5 * n or not domain:
            continue
        for a, source in enumerate(table.columns):
            if a == b or {target.name, source.name} & table.skip:
                continue
            matches = {int(i): JOINED.fullmatch(source.values[source.read[i]]) for i in gaps}
            hits = {i: m for i, m in matches.items() if m and m["tail"] in domain}
            if len(hits) < max(REPEATS, OF_GAPS * len(gaps)):
                continue
            last = np.array([v.split()[-1] if v.split() else "" for v in source.values], dtype=object)
            own = np.array(target.values, dtype=object)
            if float((last[source.read] == own[target.read]).mean()) >= ELSEWHERE:
                continue
            for i, m in hits.items():
                why = f"{m['tail']!r} belongs to {target.name}, which is blank here"
                yield a, Finding(i, m["head"], FOUND, SURE, "moved", why)
                why = f"the value is in column {source.name}"
                yield b, Finding(i, m["tail"], FOUND, SURE, "moved", why)
