"""Numbers that cannot be right where they stand: slipped decimal points, lost signs, far values."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from magnet.arrays import Floats
from magnet.tables.coded import CodedColumn, CodedTable, Codes, distinct
from magnet.tables.findings import Finding
from magnet.tables.numbers import FACTORS, FAR, Category, ColumnVerdict, NumberStyle, judge_numbers, read_numbers
from magnet.tables.options import LIST_FROM, UNSURE
from magnet.tables.roles.dates import Moment, day_number, has_day_first, parse_moment, write_moment
from magnet.tables.roles.patterns import UNIT_NUMBER, number

GROUPING = ("category", "code", "text", "constant", "phone", "date")  # roles whose equal values make groups of rows
MAX_LEVEL_SHARE = 0.5  # distinct values over rows; more make no groups
EXTRA_DECIMALS = 4  # beyond the usual number; chance and trailing zeros make one or two
ODD_IF_WRONG = 0.5  # share of wrong numbers that show so
MAX_ODDNESS = 3.0  # nats
MAX_WRONG = 0.25  # share of a column's numbers that are outliers; more are another mode
CENTRAL = (0.025, 0.975)  # quantiles between which usual numbers lie
LEVEL = 5  # rows that hold a number which is a level of its column
Writer = Callable[[float, float], str]  # writes a number, which may be off by so much, as its column does
STEP_SHARE = 0.9  # share of the numbers that need no more decimals
SORTED = 0.9  # share of the rows next to each other in file and by date from which both are one order (not swept)


def audit(table: CodedTable) -> Iterator[tuple[int, Finding]]:
    """Numbers and dates judged against the column, the rest of their row, groups, links and neighboring rows; see
    :func:`~magnet.tables.numbers.judge_numbers`. Columns that could not be judged are noted in ``table.not_judged``.
    If values are asked for, every blank number gets what the context expects."""
    places = [j for j, c in table.judged() if c.role.arithmetic or c.role.name == "date" or _unsure(c)]
    if not places or not table.num_rows:
        return
    columns = [table.columns[j] for j in places]
    dates = [k for k, c in enumerate(columns) if c.role.name == "date"]
    unsure = [k for k, c in enumerate(columns) if not c.role.arithmetic and k not in dates]
    writings = [_Writing.of(c) for c in columns]
    read = [_days(w.column) if k in dates else read_numbers(w.texts) for k, w in enumerate(writings)]
    values = np.column_stack([x[c.read] for x, c in zip(read, columns, strict=True)])
    steps, names = [1.0 if k in dates else w.step for k, w in enumerate(writings)], [c.name for c in columns]
    oddness = [w.oddness for w in writings]
    categories, links = _categories(table), link_matrix(table)
    verdicts = judge_numbers(
        values, steps, categories, links, _orders(table), names, unsure, oddness, dates, table.cluster
    )
    for k, (j, column, verdict) in enumerate(zip(places, columns, verdicts, strict=True)):
        write = _date_writer(column) if k in dates else writings[k].writer()
        if verdict.scale is not None:  # the number, or what the context expects where it is wrong or missing
            y = verdict.scale.forward(values[:, k])
            known = (verdict.wrong < LIST_FROM) & np.isfinite(y)
            table.shared[column.name] = np.where(known, y, verdict.center)
            if table.fill and column.role.arithmetic:
                for row in np.flatnonzero(column.read == column.blank).tolist():
                    likely, evidence = _expectation(verdict, row, write)
                    confidence = float(verdict.confidence[row])
                    yield j, Finding(row, likely, 0.0, confidence, "missing", f"{evidence}, but blank: missing")
        if verdict.reason and column.role.arithmetic:
            table.not_judged[column.name] = verdict.reason
        wrong = verdict.wrong >= LIST_FROM
        if not verdict.blocks:  # a repeated far number is a level of a column that nothing predicts
            wrong &= column.read_counts()[column.read] < LEVEL
        listed = np.flatnonzero(wrong)
        if len(listed) <= MAX_WRONG * len(verdict.wrong):
            counts = column.read_counts()
            for row in listed.tolist():
                yield j, _finding(writings[k], verdict, row, write, counts)


@dataclass(frozen=True, eq=False)
class _Writing:
    """The numbers in the texts of a column.

    Args:
        column: the column.
        texts: for each of its values, the number as written; empty if there is none, or one in another unit.
        before, after: what the cells of a column with a unit have around the number.
    """

    column: CodedColumn
    texts: list[str]
    before: str = ""
    after: str = ""

    @classmethod
    def of(cls, column: CodedColumn) -> _Writing:
        if column.role.name != "unit":
            return cls(column, column.values)
        around, counts = Counter[tuple[str, str]](), column.read_counts()
        parts = {}
        for k, match in column.texts().matching(UNIT_NUMBER).items():
            parts[k] = match["number"], (match.string[: match.start("number")], match.string[match.end("number") :])
            around[parts[k][1]] += int(counts[k])
        common = around.most_common(1)[0][0] if around else ("", "")
        texts = [""] * len(column.values)
        for k, (text, unit) in parts.items():
            if unit == common:
                texts[k] = text
        return cls(column, texts, *common)

    @cached_property
    def style(self) -> NumberStyle:
        return NumberStyle.of(self.texts)

    @cached_property
    def step(self) -> float:
        """Distance of neighboring numbers as written: 0.01 where nine of ten need no more than two decimals."""
        places, seen, counts = Counter[int](), 0, self.column.read_counts()
        for text, rows in zip(self.texts, counts.tolist(), strict=True):
            if rows and number(text) is not None:
                places[_decimals(text)] += rows
        for decimals in sorted(places):
            seen += places[decimals]
            if seen >= STEP_SHARE * places.total():
                return float(10.0**-decimals)
        return 1.0

    @property
    def oddness(self) -> Floats:
        """Log ratio of the probabilities that wrong and right numbers have this many extra decimals ``[rows]``: a
        value that was computed among values that were written down."""
        decimals = np.array([_decimals(t) if number(t) is not None else -1 for t in self.texts])[self.column.read]
        known = decimals >= 0
        odd = decimals >= np.median(decimals[known]) + EXTRA_DECIMALS if known.any() else known
        share = (odd.sum() - odd) / max(int(known.sum()), 1) + 1 / max(int(known.sum()), 1)
        return np.where(odd, np.clip(np.log(ODD_IF_WRONG / share), 0.0, MAX_ODDNESS), 0.0)

    def chance(self, factor: float) -> float:
        """How often a genuine far number looks like one of the column times a power of ten: its first digits may be
        any, so the share of a decade that the column covers; a negative one always has a positive counterpart."""
        sizes = np.abs(read_numbers(self.texts)[self.column.read])
        low, high = np.quantile(sizes[sizes > 0], CENTRAL)
        return 1.0 if factor < 0 else min(1.0, float(np.log10(high / low)))

    def writer(self) -> Writer:
        def write(value: float, width: float) -> str:
            return self.before + self.style.write(Decimal(repr(float(value))), width=width) + self.after

        return write

    def divided(self, code: int, factor: float) -> tuple[str, float]:
        """A value of the column divided by a factor, with all its digits; and how likely the result is right: where
        digits may have been lost, the share of the column's numbers that are as round."""
        written = _exact(self.texts[code])
        result = written / Decimal(repr(factor))
        text = self.before + self.style.write(result, exact=True) + self.after
        if abs(factor) >= 1 or _last_place(written) <= Decimal(repr(self.step)) * Decimal(repr(factor)):
            return text, 1.0
        numbers = [each for each in self.texts if number(each) is not None]
        return text, sum(_exact(each) % _last_place(result) == 0 for each in numbers) / len(numbers)


def _date_writer(column: CodedColumn) -> Writer:
    order = has_day_first(column.values)
    example = next((m for v in column.values if (m := parse_moment(v, order)) and m[0].date), None)

    def write(value: float, width: float) -> str:
        day = dt.date.fromordinal(int(np.clip(round(value), 1, dt.date.max.toordinal())))
        if example is None:
            return day.isoformat()
        moment, style = example
        return write_moment(Moment((day.year, day.month, day.day), moment.time), style) or day.isoformat()

    return write


def _days(column: CodedColumn) -> Floats:
    """Day numbers of the values of a column, NaN for values that are not dates."""
    order = has_day_first(column.values)
    return np.array([np.nan if (day := day_number(text, order)) is None else day for text in column.values])


def _unsure(column: CodedColumn) -> bool:
    """Whether whole numbers that look like labels may still be quantities: none of them starts with a zero."""
    if column.role.name not in ("identifier", "code"):
        return False
    texts = [t for t in column.values if t.strip()]
    return all((t.strip().isdigit() and t.strip()[0] != "0") or t.strip() == "0" for t in texts)


def _expectation(verdict: ColumnVerdict, row: int, write: Writer) -> tuple[str, str]:
    """The most likely value, and the expectation in words."""
    low, high = verdict.expected(row)
    likely, *ends = (write(v, high - low) for v in (verdict.suggestion[row], low, high))
    return likely, f"expected {ends[0]} to {ends[1]} from {_context(verdict.blocks)}"


def _finding(writing: _Writing, verdict: ColumnVerdict, row: int, write: Writer, counts: Codes) -> Finding:
    column = writing.column
    observed = column.values[column.read[row]]
    probability, confidence = float(verdict.wrong[row]), float(verdict.confidence[row])
    kind = int(verdict.kind[row])
    if row in verdict.relations:
        likely, evidence = write(verdict.suggestion[row], 0.0), verdict.relations[row]
    elif kind == FAR:
        likely, evidence = _expectation(verdict, row, write)
        known = column.index.get(likely)
        if known is None or counts[known] < 2:  # not attested, however narrow the prediction
            confidence = min(confidence, UNSURE)
        elif not verdict.blocks:  # nothing but the column is known
            confidence = min(confidence, float(counts[known] / counts.sum()))
    else:
        likely, right = writing.divided(int(column.read[row]), FACTORS[kind])
        if not verdict.blocks:  # nothing but the column is known
            right *= 1 - writing.chance(FACTORS[kind])
        confidence = min(confidence, max(right, UNSURE))  # 0.57 is a hundredth of 57.00, and of 56.81 if rounded
        evidence = f"expected about {likely} from {_context(verdict.blocks)}"
        observed += " (sign changed)" if FACTORS[kind] < 0 else f" ({FACTORS[kind]:g} times as large)"
    return Finding(row, likely, probability, confidence, "outlier", f"{evidence}, observed {observed}: outlier")


def _context(blocks: tuple[str, ...]) -> str:
    """What an expectation rests on, in words."""
    words_of = {"row": "the rest of the row", "links": "linked rows", "linked rows": "linked rows", "squares": ""}
    words = []
    for name in blocks:
        kind, _, what = name.partition(":")
        if kind == "group":
            words.append(f"rows with the same {what}")
        else:
            words.append("the rows before and after" if kind == "order" else words_of[kind])
    known = list(dict.fromkeys(w for w in words if w))
    return " and ".join([", ".join(known[:-1]), known[-1]] if known[1:] else known) or "the column"


def _exact(text: str) -> Decimal:
    return Decimal(text.strip().replace(",", ""))


def _last_place(value: Decimal) -> Decimal:
    """One in the last place of a number as written."""
    return Decimal(1).scaleb(int(value.as_tuple().exponent))


def _decimals(text: str) -> int:
    return len(text.strip().partition(".")[2].rstrip("0")) if "e" not in text.lower() else 0


def _categories(table: CodedTable) -> list[Category]:
    out = []
    for column in table.columns:
        if column.role.name in GROUPING:
            codes, levels = distinct(column.current)
            if 2 <= levels <= MAX_LEVEL_SHARE * table.num_rows:
                out.append(Category(column.name, codes))
    return out


def link_matrix(table: CodedTable) -> sp.csr_matrix | None:
    """The given links as a symmetric matrix without loops."""
    if table.links is None:
        return None
    links = sp.csr_matrix(table.links, dtype=np.float64)
    links = ((abs(links) + abs(links).T) > 0).astype(np.float64).tocsr()
    links.setdiag(0)
    links.eliminate_zeros()
    return links if links.nnz else None


def _orders(table: CodedTable) -> list[tuple[str, Codes]]:
    """The rows as given, and by date where they are not sorted so."""
    rows = np.arange(table.num_rows)
    orders = [("rows", rows)]
    for column in table.columns:
        if column.role.name != "date":
            continue
        days = np.nan_to_num(_days(column), nan=np.inf)
        order = np.argsort(days[column.current], kind="stable")
        if np.mean(np.abs(np.diff(order)) == 1) < SORTED:
            orders.append((column.name, order))
    return orders
