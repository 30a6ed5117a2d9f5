"""Column frequency: how often the other rows hold a value."""

from __future__ import annotations

import numpy as np

from magnet.tables.coded import CodedColumn, Codes, Floats


class Frequency:
    r"""Leave-one-out column frequency.

    .. math:: F_{-i}(v) = \frac{n_v - [w_i = v]}{n - 1}

    where :math:`w_i` is the current value of row i.
    """

    name = "frequency"
    strict = False

    def __init__(self, column: CodedColumn) -> None:
        self._current, self._counts, self._values = column.current, column.counts(), column.values
        self._others = max(len(column.current) - 1, 1)

    def own(self) -> Floats:
        return (self._counts[self._current] - 1) / self._others

    def probability(self, rows: Codes, codes: Codes) -> Floats:
        known = codes < len(self._counts)
        held = np.where(known, self._counts[np.where(known, codes, 0)], 0)
        return (held - (self._current[rows] == codes)) / self._others

    def proposals(self) -> Codes:
        return np.empty((len(self._current), 0), dtype=np.int64)

    def evidence(self, row: int, code: int) -> str:
        count = int(self._counts[code]) if code < len(self._counts) else 0
        return f"{count} rows have {self._values[code]!r}" if count else f"{self._values[code]!r} fits the column"
