"""Categories that contradict the rows they are linked with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from magnet.arrays import Floats
from magnet.tables.channels.outlier import link_matrix
from magnet.tables.coded import CodedColumn, CodedTable, Codes, distinct
from magnet.tables.findings import Finding
from magnet.tables.numbers import judge_category
from magnet.tables.numbers.context import CUT
from magnet.tables.options import FEW_NUMBERS, LIST_FROM, MAX_LEVELS


def audit(table: CodedTable) -> Iterator[tuple[int, Finding]]:
    """Cells of categorical columns that disagree with the linked rows and the rest of the row; see
    :func:`~magnet.tables.numbers.categories.judge_category`. Only for tables with links."""
    links = link_matrix(table)
    if links is None:
        return
    features = [_features(table, column) for column in table.columns]
    for j, column in enumerate(table.columns):
        codes = _levels(column)
        if codes is None or column.name in table.skip:
            continue
        rest = [f for k, f in enumerate(features) if k != j and f is not None]
        row = np.column_stack(rest) if rest else np.zeros((table.num_rows, 0))
        found = judge_category(codes, links, row)
        if found is None:
            continue
        for i in np.flatnonzero(found.wrong >= LIST_FROM).tolist():
            observed, likely = column.values[column.read[i]], column.values[found.suggestion[i]]
            why = f"expected {likely!r} from linked rows and the rest of the row, observed {observed!r}: disagreement"
            yield j, Finding(i, likely, float(found.wrong[i]), float(found.confidence[i]), "disagreement", why)


def _levels(column: CodedColumn) -> Codes | None:
    """Codes of a categorical column, -1 where it is blank; None for other columns."""
    filled = column.texts().codes
    most = FEW_NUMBERS if column.role.name == "quantity" else MAX_LEVELS
    if column.role.name not in ("category", "quantity", "code", "text") or not 2 <= len(filled) <= most:
        return None
    return np.where(np.isin(column.current, filled), column.current, -1)


def _features(table: CodedTable, column: CodedColumn) -> Floats | None:
    """Predictors from a column: numbers on their scale after the outlier audit, or
    indicators of its levels."""
    codes = _levels(column)
    if codes is not None:
        short, count = distinct(codes)
        return np.asarray(short[:, None] == np.arange(count)[None], dtype=np.float64)
    numbers = table.shared.get(column.name)
    return None if numbers is None else np.asarray(np.clip(numbers, -CUT, CUT)[:, None])
