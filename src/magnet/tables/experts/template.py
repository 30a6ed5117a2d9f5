"""Values written with the values of other columns: ``{state}_{code}``, copies, merged columns."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from magnet.tables.coded import CodedColumn, CodedTable, Codes
from magnet.tables.experts.base import ColumnContext, Expert, Point
from magnet.tables.options import MIN_ROWS

PART = re.compile(r"-?\d+\.?\d*|[^\W\d_]+")
SAMPLE = 1_000  # rows on which a template is searched
MAX_COLUMNS = 40  # wider tables are not searched: the number of pairs of columns grows with the square
SOURCES = 3  # columns that a template may be made of
SHARE = 0.5  # of the rows that one template must explain
LOSS = 0.95  # share of the rows of the leading text that must stay alike when a source is replaced by its mark
FITS, MIN_FITS = 0.3, 5  # share of the rows, and rows, that a source must explain
MARK = 0xE000  # first private-use character, the placeholder of a source in a template


class Source:
    """A column, or one part of a column whose values have a fixed number of parts."""

    def __init__(self, column: CodedColumn, position: int, part: int | None = None) -> None:
        self.column, self.position, self.part = column, position, part
        if part is None:
            self.texts = column.values
        else:
            self.texts = [p[part] if len(p := PART.findall(v)) > part else "" for v in column.values]

    def rows(self, rows: Codes) -> list[str]:
        texts, current = self.texts, self.column.current
        return [texts[k] for k in current[rows].tolist()]


def sources_of(table: CodedTable) -> list[Source]:
    """Columns, and their parts where most values have the same number of parts (2 to 4)."""
    out = []
    for j, column in enumerate(table.columns):
        if column.role.name == "empty":
            continue
        out.append(Source(column, j))
        counts = column.counts()
        sizes = Counter[int]()
        sample = np.flatnonzero(counts)[:SAMPLE].tolist()
        for k in sample:
            if len(column.values[k]) <= 60:
                sizes[len(PART.findall(column.values[k]))] += int(counts[k])
        if sizes:
            size, held = sizes.most_common(1)[0]
            if 2 <= size <= 4 and held >= 0.5 * int(counts[sample].sum()):
                out += [Source(column, j, q) for q in range(size)]
    return out


def fit(context: ColumnContext) -> list[Expert]:
    """Search a template on a sample, and predict every row with it.

    Greedily, the source whose text occurs in most values is replaced by a mark, as long as that leaves fewer different
    texts. The commonest marked text is the template if it explains enough rows. A source must also explain rows that
    are off its own commonest value, or a constant column would explain everything.
    """
    table, column = context.table, context.table.columns[context.position]
    n = len(column.current)
    if n < MIN_ROWS or len(table.columns) > MAX_COLUMNS or len(np.unique(column.current)) < 2:
        return []
    rows = np.arange(n) if n <= SAMPLE else np.sort(np.random.default_rng(table.seed).choice(n, SAMPLE, replace=False))
    live = rows[[bool(column.values[k]) for k in column.current[rows].tolist()]]
    if len(live) < MIN_ROWS:
        return []
    sources = [s for s in _shared_sources(context) if s.position != context.position]
    texts = [column.values[k] for k in column.current[live].tolist()]
    chosen: list[Source] = []
    for mark in range(SOURCES):
        best = _best_source(texts, sources, live, {s.position for s in chosen})
        if best is None:
            break
        chosen.append(best)
        texts = [
            t.replace(v, chr(MARK + mark), 1) if len(v) >= 2 else t for t, v in zip(texts, best.rows(live), strict=True)
        ]
    if not chosen:
        return []
    template, held = Counter(texts).most_common(1)[0]
    if held < SHARE * len(live) or chr(MARK) not in template:
        return []
    used = [(chr(MARK + k), s) for k, s in enumerate(chosen) if chr(MARK + k) in template]
    predicted = np.full(n, -1, dtype=np.int64)
    filled = {mark: s.rows(np.arange(n)) for mark, s in used}
    for i in range(n):
        text: str | None = template
        for sign, _ in used:
            value = filled[sign][i]
            text = text.replace(sign, value) if text is not None and value else None
        if text is not None:
            predicted[i] = column.code(text)
    names = " and ".join(dict.fromkeys(s.column.name for _, s in used))
    return [Point("template", column, predicted, f"{names} of this row give {{value}}", doubtful=True)]


def _shared_sources(context: ColumnContext) -> list[Source]:
    """The sources of the table, found once per pass."""
    if "template" not in context.shared:
        context.shared["template"] = sources_of(context.table)
    return context.shared["template"]  # type: ignore[return-value]


def _best_source(texts: list[str], sources: list[Source], rows: Codes, used: set[int]) -> Source | None:
    top = Counter(texts).most_common(1)[0][1]
    best: tuple[float, int] | None = None
    for at, source in enumerate(sources):
        if source.position in used:
            continue
        values = source.rows(rows)
        hits = [len(v) >= 2 and v in t for t, v in zip(texts, values, strict=True)]
        if sum(hits) < SHARE * len(texts):
            continue
        marked = [t.replace(v, "\0", 1) if h else t for t, v, h in zip(texts, values, hits, strict=True)]
        score = Counter(marked).most_common(1)[0][1]
        mode = Counter(values).most_common(1)[0][0]
        off_mode = [h for h, v in zip(hits, values, strict=True) if v != mode]
        if score < max(LOSS * top, FITS * len(texts)) or sum(off_mode) < max(MIN_FITS, FITS * len(off_mode)):
            continue
        length = sum(len(v) for v, h in zip(values, hits, strict=True) if h)
        if best is None or (score + 1e-6 * length, at) > best:
            best = (score + 1e-6 * length, at)
    return None if best is None else sources[best[1]]
