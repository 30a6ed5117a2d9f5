"""Values written with the values of other columns: ``{state}_{code}``, copies, merged columns."""

from __future__ import annotations

from collections import Counter

import numpy as np

from magnet.tables.coded import CodedColumn, Codes
from magnet.tables.experts.base import ColumnContext, Expert, Point
from magnet.tables.located import located
from magnet.tables.options import MIN_ROWS

SAMPLE = 1_000  # rows on which a template is searched
MAX_COLUMNS = 40  # wider tables are not searched: the number of pairs of columns grows with the square
SOURCES = 3  # columns that a template may be made of
SHARE = 0.5  # of the rows that one template must explain
LOSS = 0.95  # share of the rows of the leading text that must stay alike when a source is replaced by its mark
FITS, MIN_FITS = 0.3, 5  # share of the rows, and rows, that a source must explain
LENGTH_WEIGHT = 1e-6  # rows per character: of sources that explain as many rows, the longest
MARK = 0xE000  # first private-use character, the placeholder of a source in a template


def fit(context: ColumnContext) -> list[Expert]:
    """Search a template on a sample, and predict every row with it.

    Greedily, the source whose text occurs in most values is replaced by a mark, as long as that leaves fewer different
    texts. The commonest marked text is the template if it explains enough rows. A source must also explain rows that
    are off its own commonest value, or a constant column would explain everything.
    """
    table, column = context.table, context.column
    n = len(column.current)
    if n < MIN_ROWS or len(table.columns) > MAX_COLUMNS or len(np.unique(column.current)) < 2:
        return []
    rows = np.arange(n) if n <= SAMPLE else np.sort(np.random.default_rng(table.seed).choice(n, SAMPLE, replace=False))
    live = rows[[bool(column.values[k]) for k in column.current[rows].tolist()]]
    if len(live) < MIN_ROWS:
        return []
    sources = [c for c in table.columns if c is not column and c.role.name != "empty"]
    texts, chosen = _texts(column, live), list[CodedColumn]()
    for mark in range(SOURCES):
        best = _best_source(texts, [s for s in sources if s not in chosen], live)
        if best is None:
            break
        chosen.append(best)
        texts = [
            t.replace(v, chr(MARK + mark), 1) if len(v) >= 2 else t
            for t, v in zip(texts, _texts(best, live), strict=True)
        ]
    if not chosen:
        return []
    template, held = Counter(texts).most_common(1)[0]
    if held < SHARE * len(live) or chr(MARK) not in template:
        return []
    used = [(chr(MARK + k), s) for k, s in enumerate(chosen) if chr(MARK + k) in template]
    predicted = np.full(n, -1, dtype=np.int64)
    filled = {mark: _texts(s, np.arange(n)) for mark, s in used}
    for i in range(n):
        text: str | None = template
        for sign, _ in used:
            value = filled[sign][i]
            text = text.replace(sign, value) if text is not None and value else None
        if text is not None:
            predicted[i] = column.code(text)
    against = (predicted >= 0) & (predicted != column.read) & ~column.blanks(column.read)
    if against.any() and located(
        table, context.position, against
    ):  # another template there, as where codes of one district are longer
        predicted[against] = -1
    names = " and ".join(s.name for _, s in used)
    return [Point(column, predicted, f"{names} of this row give {{value}}", doubtful=True)]


def _texts(column: CodedColumn, rows: Codes) -> list[str]:
    return [column.values[k] for k in column.current[rows].tolist()]


def _best_source(texts: list[str], sources: list[CodedColumn], rows: Codes) -> CodedColumn | None:
    top = Counter(texts).most_common(1)[0][1]
    best: tuple[float, int] | None = None
    place = {text: k for k, text in enumerate(dict.fromkeys(texts))}
    different, own = list(place), np.array([place[text] for text in texts])
    for at, source in enumerate(sources):
        width = len(source.values)
        pairs, counts = np.unique(own * width + source.current[rows], return_counts=True)
        within = ((different[pair // width], source.values[pair % width]) for pair in pairs.tolist())
        if counts[[len(v) >= 2 and v in t for t, v in within]].sum() < SHARE * len(texts):
            continue
        values = _texts(source, rows)
        hits = [len(v) >= 2 and v in t for t, v in zip(texts, values, strict=True)]
        marked = [t.replace(v, "\0", 1) if h else t for t, v, h in zip(texts, values, hits, strict=True)]
        score = Counter(marked).most_common(1)[0][1]
        mode = Counter(values).most_common(1)[0][0]
        off_mode = [h for h, v in zip(hits, values, strict=True) if v != mode]
        if score < max(LOSS * top, FITS * len(texts)) or sum(off_mode) < max(MIN_FITS, FITS * len(off_mode)):
            continue
        length = sum(len(v) for v, h in zip(values, hits, strict=True) if h)
        if best is None or (score + LENGTH_WEIGHT * length, at) > best:
            best = (score + LENGTH_WEIGHT * length, at)
    return None if best is None else sources[best[1]]
