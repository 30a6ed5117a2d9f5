"""Suspicious cells in the user's own words: what stands there, what should, why, and what was done about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from magnet.tables.encoding import Encoded
from magnet.tables.fields import Field, FloatArray, Mask, numbers
from magnet.tables.table import Table
from magnet.tables.values import Change, cell_text, cells, is_null, plain

Fix = Literal["none", "confident", "all"]
FIXES: tuple[str, ...] = ("none", "confident", "all")
COLUMNS = ["node", "column", "observed", "suggested", "action", "score", "probability", "reason", "row"]


@dataclass(frozen=True, eq=False)
class Findings:
    """What detection and recovery say about the cells of a table, field by field (all ``[n, fields]``).

    Args:
        flagged: judged wrong.
        listed: flagged, missing, unreadable, or suspicious without being judged wrong.
        score, probability: how suspicious.
        trust: the value is evidence about its neighbours.
        rows: ``[n]``, the whole row was judged to be another node's.
        recovered: ``[n, encoded columns]``, what the cells should hold; counts for the listed ones only.
    """

    flagged: Mask
    listed: Mask
    score: FloatArray
    probability: FloatArray
    trust: Mask
    rows: Mask
    recovered: NDArray[Any]


def list_cells(
    table: Table, encoded: Encoded, findings: Findings, adjacency: sp.csr_matrix, fix: str, max_share: float
) -> pd.DataFrame:
    """One line for each listed cell, the most probable first and the filled ones last.

    The columns are those of ``suspicious_cells.csv``. ``action`` says what ``fix`` did: ``corrected``, ``filled``
    (there was no value) or ``kept``; ``row`` counts the rows from 0.
    """
    parts = [
        _of_field(k, f, table, encoded, findings, adjacency, fix)
        for k, f in enumerate(encoded.fields)
        if findings.listed[:, k].any()
    ]
    if not parts:
        return pd.DataFrame({name: pd.Series(dtype=object) for name in COLUMNS})
    cells = pd.concat(parts, ignore_index=True)
    order = np.lexsort((cells["row"], -cells["score"].fillna(-np.inf), -cells["probability"].fillna(-1.0)))
    cells = cells.iloc[order].reset_index(drop=True)
    return _capped(cells, max_share, findings.flagged.size)


def _of_field(
    k: int, f: Field, table: Table, encoded: Encoded, findings: Findings, adjacency: sp.csr_matrix, fix: str
) -> pd.DataFrame:
    rows = np.flatnonzero(findings.listed[:, k])
    column = encoded.columns[k]
    given = table.column(f.name).iloc[rows]
    observed = [plain(value) for value in cells(given)]
    estimates = _suggestions(
        f, findings.recovered[rows, column.start : column.stop], encoded, column.start, column.stop
    )
    suggested = [_typed(table, f, estimate) for estimate in estimates]
    impossible = np.array([value is None for value in suggested], dtype=bool)
    suggested = [a if none else b for a, b, none in zip(observed, suggested, impossible, strict=True)]
    missing, unreadable = encoded.missing[rows, k], encoded.unreadable[rows, k]
    flagged = findings.flagged[rows, k] | unreadable
    same = np.array([_same(a, b) for a, b in zip(observed, suggested, strict=True)], dtype=bool)
    wanted = (
        np.ones(rows.size, dtype=bool) if fix == "all" else flagged if fix == "confident" else np.zeros(rows.size, bool)
    )
    filled = missing & ~impossible & (fix != "none")
    action = np.where(filled, "filled", np.where(wanted & ~same & ~missing & ~impossible, "corrected", "kept"))
    probability = np.where(unreadable, 1.0, findings.probability[rows, k])
    around = Neighbours.of(f, k, encoded, findings.trust[:, k], adjacency)
    if table.links.kind == "nearest":  # these neighbours were chosen by the value itself
        said = [f"the rest of the row suggests {_short(value)}" for value in suggested]
    else:
        said = [_said(f, around, row) for row in rows.tolist()]
    reasons = [
        _reason(f, around, words, value, gone, bad, whole)
        for words, value, gone, bad, whole in zip(
            said, observed, missing, unreadable, findings.rows[rows].tolist(), strict=True
        )
    ]
    return pd.DataFrame(
        {
            "node": table.ids.iloc[rows].tolist(),
            "column": f.name,
            "observed": pd.Series(observed, dtype=object),
            "suggested": pd.Series(suggested, dtype=object),
            "action": action,
            "score": np.where(missing, np.nan, findings.score[rows, k]),
            "probability": np.where(missing, np.nan, probability),
            "reason": reasons,
            "row": rows,
        }
    )


def _suggestions(f: Field, x: NDArray[Any], encoded: Encoded, start: int, stop: int) -> list[Any]:
    if f.kind == "categorical":
        # where no neighbour says anything, recovery gives the median, which for categories is all zeros
        common = np.nanmean(encoded.x[:, start:stop].numpy(), axis=0)
        x = np.where(x.sum(axis=1, keepdims=True) < 0.5, common, x)
    return f.decode(x)


def _typed(table: Table, f: Field, estimate: Any) -> Any:
    """An estimate in the column's own type, None where the type cannot hold it."""
    try:
        return table.parse_cell(f.name, cell_text(estimate))
    except ValueError:
        return None


def _same(observed: Any, suggested: Any) -> bool:
    return cell_text(observed).strip() == cell_text(suggested) and not is_null(observed)


def _capped(cells: pd.DataFrame, max_share: float, total: int) -> pd.DataFrame:
    """At most that share of all cells corrected: of more, the least probable are kept."""
    corrected = np.flatnonzero(cells["action"] == "corrected")
    cells.loc[corrected[int(max_share * total) :], "action"] = "kept"
    return cells


def changes_of(cells: pd.DataFrame) -> dict[str, Change]:
    """The cells to write, by column."""
    done = cells[cells["action"] != "kept"]
    return {
        str(name): (group["row"].to_numpy(dtype=np.int64), group["suggested"].tolist())
        for name, group in done.groupby("column", sort=False)
    }


@dataclass(frozen=True, eq=False)
class Neighbours:
    """What the trusted neighbours of each node hold in one column.

    Args:
        count: ``[n]`` neighbours with a value that is believed.
        average: ``[n]`` their average in user units; for a binary column the share that holds the second value.
        votes: ``[n, categories]`` how many hold each category.
        low, high: the range that holds the middle 98 % of the column.
    """

    count: FloatArray
    average: FloatArray
    votes: FloatArray | None
    low: float
    high: float

    @classmethod
    def of(cls, f: Field, k: int, encoded: Encoded, trust: Mask, adjacency: sp.csr_matrix) -> Neighbours:
        column = encoded.columns[k]
        x = encoded.x[:, column.start : column.stop].numpy().astype(np.float64)
        linked = sp.csr_matrix((np.ones(adjacency.nnz), adjacency.indices, adjacency.indptr), shape=adjacency.shape)
        seen = trust & ~np.isnan(x[:, 0])
        count = linked @ seen.astype(np.float64)
        if f.kind == "categorical":
            votes = linked @ np.where(seen[:, None], np.nan_to_num(x), 0.0)
            return cls(count, np.zeros(len(count)), votes, np.nan, np.nan)
        value = x[:, 0] if f.kind == "binary" else f.quantity(x[:, 0])
        average = (linked @ np.where(seen, np.nan_to_num(value), 0.0)) / np.maximum(count, 1)
        low, high = np.quantile(value[seen], [0.01, 0.99]) if seen.any() else (np.nan, np.nan)
        return cls(count, average, None, float(low), float(high))


def _reason(
    f: Field, around: Neighbours, said: str, observed: Any, missing: bool, unreadable: bool, whole: bool
) -> str:
    if missing:
        return f"no value; {said}" if said else "no value, and no neighbours that have one"
    if unreadable:
        return f"{_short(observed)} {_unreadable(f, observed)}" + (f"; {said}" if said else "")
    row_words = "the whole row looks like another node's; " if whole else ""
    this = f"this says {_short(observed)}"
    if said:
        return f"{row_words}{said}, {this}"
    if np.isfinite(around.low):
        usual = f"most values lie between {say(around.low)} and {say(around.high)}"
        return f"{row_words}no neighbours to compare with; {usual}, {this}"
    return f"{row_words}no neighbours to compare with, {this}"


def _unreadable(f: Field, observed: Any) -> str:
    if f.kind == "binary":
        return f"is neither {_short(f.values[0])} nor {_short(f.values[1])}"
    number = numbers(pd.Series([observed]), f.comma, f.group)[0]
    return "is below 0, as next to nothing in this column is" if np.isfinite(number) else "is not a number"


def _said(f: Field, around: Neighbours, row: int) -> str:
    """What the neighbours say, in words; nothing where there are none."""
    count = int(around.count[row])
    if count == 0:
        return ""
    people = "its only neighbour" if count == 1 else f"{count} neighbours"
    if f.kind == "categorical":
        assert around.votes is not None
        best = int(around.votes[row].argmax())
        agree = int(around.votes[row, best])
        return (
            f"{agree} of {people} say {_short(f.values[best])}"
            if count > 1
            else f"{people} says {_short(f.values[best])}"
        )
    if f.kind == "binary":
        agree = round(float(around.average[row]) * count)
        value = f.values[1] if 2 * agree >= count else f.values[0]
        agree = max(agree, count - agree)
        return f"{agree} of {people} say {_short(value)}" if count > 1 else f"{people} says {_short(value)}"
    average = say(float(around.average[row]))
    return f"neighbours average {average}" if count > 1 else f"{people} says {average}"


def _short(value: Any, most: int = 40) -> str:
    if isinstance(value, float | np.floating):
        return say(float(value))
    text = str(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def say(value: float) -> str:
    """A number for a sentence.

    Example:
        >>> say(4100.0), say(41.237), say(0.00012), say(2.5e9)
        ('4100', '41.24', '0.00012', '2.5e+09')
    """
    if 1000 <= abs(value) < 1e7:
        return f"{value:.0f}"
    return f"{value:.4g}"
