"""A value written behind that of another column, while its own cell is blank."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from magnet.tables.coded import CodedTable
from magnet.tables.findings import Finding
from magnet.tables.options import FOUND, REPEATS, SURE
from magnet.tables.roles.patterns import blank

JOINED = re.compile(r"(?P<head>.+?)(?P<mark>[\s,;/|]+)(?P<tail>\S+)")
OF_GAPS = 0.3  # share of the blanks that the moved values must explain
ELSEWHERE = 0.05  # rows that end with the other column's value although it is filled: then it belongs there


def rewrite(table: CodedTable) -> Iterator[tuple[int, Finding]]:
    """``Madison WI`` beside an empty state becomes ``Madison`` and ``WI``."""
    n = table.num_rows
    for b, target in enumerate(table.columns):
        counts = target.read_counts()
        gap_codes = [k for k in np.flatnonzero(counts).tolist() if blank(target.values[k])]
        gaps = np.flatnonzero(np.isin(target.read, gap_codes))
        domain = {target.values[k] for k in np.flatnonzero(counts >= 2).tolist()} - {
            target.values[k] for k in gap_codes
        }
        domain = {v for v in domain if not v.isdigit()}
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
                yield (
                    b,
                    Finding(i, m["tail"], FOUND, SURE, "moved", f"the value is in column {source.name}"),
                )
