"""An expert that names one value per row."""

from __future__ import annotations

import numpy as np

from magnet.tables.coded import CodedColumn, Codes, Floats


class Point:
    r"""All probability on one predicted value: :math:`P(v \mid i) = [v = t_i]`.

    Args:
        name: what predicts.
        column: the column.
        predicted: code of the predicted value per row, -1 for none.
        says: the evidence, with ``{value}`` for the predicted text.
        doubtful: the prediction is made of other cells of the row, which may be wrong themselves.
    """

    strict = False

    def __init__(self, name: str, column: CodedColumn, predicted: Codes, says: str, doubtful: bool = False) -> None:
        self.name, self.predicted, self.doubtful = name, predicted, doubtful
        self._column, self._current, self._says = column, column.current, says

    def own(self) -> Floats:
        return (self.predicted == self._current).astype(np.float64)

    def probability(self, rows: Codes, codes: Codes) -> Floats:
        return (self.predicted[rows] == codes).astype(np.float64)

    def proposals(self) -> Codes:
        return self.predicted[:, None]

    def evidence(self, row: int, code: int) -> str:
        return self._says.replace("{value}", repr(self._column.values[code]))
