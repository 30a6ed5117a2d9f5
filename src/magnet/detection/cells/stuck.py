"""Stuck values: one number of a continuous column in many rows, whatever their neighbors hold."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import norm, rankdata
from torch import Tensor

from magnet.detection.cells.numeric import NumericModel
from magnet.detection.options import CELLS, DATA, GATE

FloatArray = NDArray[np.float32]

MIN_REPEATS = 3  # cells that hold a number before it may be stuck: two may be chance (not swept)
MAX_NEAR = 10  # at most one in so many other rows holds one of the nearest numbers (not swept)


@dataclass(frozen=True)
class StuckValue:
    """A number that does not follow its context: its column, and the probability that a cell that holds it is wrong."""

    column: int
    value: float
    probability: float


class StuckModel:
    r"""Probabilities that cells hold a number at which a sensor was stuck.

    A number :math:`v` that many rows of a continuous column share is genuine where these rows are those of which the
    context expects such a number. With the predictions :math:`\hat z_i` of
    :class:`~magnet.detection.cells.numeric.NumericModel`,

    .. math::
        A(S) = P\bigl(|v - \hat z_i| < |v - \hat z_k|\bigr), \qquad i \in S, \; k \text{ any other row},

    is 1/2 for the rows ``S`` with :math:`v` if they are any rows, and as large as for the rows :math:`R` with the
    nearest other numbers if :math:`v` is genuine. So the share

    .. math::
        1 - \frac{A(S) - 1/2}{A(R) - 1/2}

    of these cells is wrong. It counts where it is significantly above 1/2 (level ``GATE.level``, divided by the
    columns). Zero, the ends of the column, its mean and its median are not judged: that something is absent, cut off or
    filled in need not depend on the neighbors. Neither are columns in which other numbers recur as well. Rows that
    occur several times do not count, as all their numbers recur.

    Args:
        numeric: the model of the numeric columns.
        duplicates: how often each row occurs ``[n]``.
        context: whether the context carries information; else there are no stuck values. (default: ``True``)

    ``found``: the stuck values; ``row_probability`` ``[n]``: that a row holds one.
    """

    def __init__(self, numeric: NumericModel, duplicates: Tensor, context: bool = True) -> None:
        self.data = numeric.data
        self.found: list[StuckValue] = []
        self.row_probability = torch.zeros(self.data.num_nodes, device=self.data.device)
        if context and self.data.x is not None and not self.data.is_bag and numeric.smooth.numel():
            self.found = _stuck_values(numeric, duplicates == 1)
        for stuck in self.found:
            p = self.probability(stuck.column, stuck.column + 1)[:, 0]
            self.row_probability = 1 - (1 - self.row_probability) * (1 - p)

    def probability(self, first: int, last: int) -> Tensor:
        """Of a range of features ``[n, c]``."""
        out = torch.zeros(self.data.num_nodes, last - first, device=self.data.device)
        for stuck in self.found:
            if first <= stuck.column < last:
                cells = self.data.block(stuck.column, stuck.column + 1)[:, 0]
                out[:, stuck.column - first] = stuck.probability * (cells == stuck.value)
        exempt = self.data.exempt(first, last)
        return out if exempt is None else out.masked_fill(exempt, 0.0)

    def free_memory(self) -> None:
        """Nothing is kept between calls."""


def _stuck_values(numeric: NumericModel, single: Tensor) -> list[StuckValue]:
    data = numeric.data
    assert data.x is not None
    found = []
    rows = single.nonzero().flatten()
    some = rows[:: max(1, rows.numel() // CELLS.stuck_sample)]
    level = GATE.level / numeric.smooth.numel()
    for place, column in enumerate(numeric.smooth.tolist()):
        if _recurring(data.x[some, column].cpu().numpy()) is None:
            continue
        x = data.x[rows, column].cpu().numpy()
        value = _recurring(x)
        if value is None or _is_usual(x, value):
            continue
        z, prediction = (each[rows].cpu().numpy() for each in numeric.beside_prediction(place))
        p = stuck_probability(x == value, z, prediction, level)
        if p > 0.5:
            found.append(StuckValue(column, value, p))
    return found


def _recurring(x: FloatArray) -> float | None:
    """The number of a column ``[n]`` that recurs, if hardly any other does."""
    values, counts = np.unique(x[~np.isnan(x)], return_counts=True)
    if values.size < 2:
        return None
    top = int(counts.argmax())
    others = counts.sum() - counts[top]
    recurring = others - (values.size - 1)  # cells that repeat another one
    if counts[top] < MIN_REPEATS or counts[top] > others or recurring > DATA.max_exceptions * others:
        return None
    return float(values[top])


def _is_usual(x: FloatArray, value: float) -> bool:
    """Whether a number may stand for something absent, cut off or filled in."""
    x = x[~np.isnan(x)].astype(np.float64)
    others = x[x != value]
    near = CELLS.stuck_tolerance * float(others.std())
    filled_in = min(abs(value - center) for center in (0.0, x.mean(), others.mean(), float(np.median(others)))) <= near
    return filled_in or value < others.min() or value > others.max()


def stuck_probability(stuck: NDArray[np.bool_], z: FloatArray, prediction: FloatArray, level: float) -> float:
    """The share of the cells that hold one number which do not follow their context; 0 where that is not certain.

    Args:
        stuck: which cells hold it ``[n]``.
        z, prediction: values and predictions ``[n]``.
        level: of the test.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> prediction = rng.normal(size=2000)
        >>> z = prediction + 0.3 * rng.normal(size=2000)
        >>> anywhere, here = np.arange(2000) < 200, np.abs(z - 1) < 0.2
        >>> bool(stuck_probability(anywhere, np.where(anywhere, 1, z), prediction, 1e-4) > 0.8)
        True
        >>> stuck_probability(here, np.where(here, 1, z), prediction, 1e-4)
        0.0
    """
    value, distance = z[stuck][0], np.abs(z[stuck][0] - prediction)
    others = np.flatnonzero(~stuck & ~np.isnan(z))
    count = int(stuck.sum())
    near = others[np.argsort(np.abs(z[others] - value), kind="stable")[: min(count, others.size // MAX_NEAR)]]
    rest = np.setdiff1d(others, near)
    if near.size == 0 or rest.size == 0:
        return 0.0

    def area(members: NDArray[np.intp]) -> float:
        ranks = rankdata(np.concatenate([distance[members], distance[rest]]))[: members.size]
        return 1 - float(ranks.sum() - members.size * (members.size + 1) / 2) / (members.size * rest.size)

    own, reference = area(np.flatnonzero(stuck)) - 0.5, area(near) - 0.5
    error = math.sqrt((1 / count + 1 / (4 * near.size)) / 12)  # of own - reference / 2
    if own + float(norm.isf(level)) * error >= reference / 2:
        return 0.0
    return 1.0 - max(0.0, own / reference)
