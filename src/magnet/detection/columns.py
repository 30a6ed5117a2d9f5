"""What the columns of a feature matrix are, and how each is brought to a common scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from magnet.arrays import is_sparse, to_scipy

Kind = Literal["binary", "count", "continuous", "categorical"]


@dataclass(frozen=True)
class Column:
    """One column of a table and its place in the feature matrix.

    Args:
        name: what the user calls it.
        kind: ``"binary"`` (0/1), ``"count"`` (whole numbers from 0), ``"continuous"``, or ``"categorical"``, which is a
            group of 0/1 columns, one per category, exactly one of them 1.
        start, stop: it is ``x[:, start:stop]``; only a categorical column is wider than 1.
    """

    name: str
    kind: Kind
    start: int
    stop: int


def infer_columns(x: Any) -> list[Column]:
    """One column for each feature: binary where all values are 0 or 1, a count where they are whole numbers from 0
    with at least three different ones, else continuous. Missing values (NaN) do not matter.

    Example:
        >>> x = torch.tensor([[0.0, 0.0, 0.5], [1.0, 3.0, -1.0], [float("nan"), 1.0, 2.0]])
        >>> [c.kind for c in infer_columns(x)]
        ['binary', 'count', 'continuous']
    """
    features = int(x.shape[1])
    if is_sparse(x):
        matrix = to_scipy(x).tocsc()
        values, place = matrix.data, np.repeat(np.arange(features), np.diff(matrix.indptr))
        binary, whole = np.ones(features, bool), np.ones(features, bool)
        binary[place[values != 1]] = False
        whole[place[(values < 0) | (values % 1 != 0)]] = False
    else:
        binary, whole = np.empty(features, bool), np.empty(features, bool)
        for start in range(0, features, 64):
            block = x[:, start : start + 64]
            missing = block.isnan()
            binary[start : start + 64] = ((block == 0) | (block == 1) | missing).all(dim=0).cpu().numpy()
            whole[start : start + 64] = (((block >= 0) & (block == block.round())) | missing).all(dim=0).cpu().numpy()
    kinds: list[Kind] = ["binary" if b else "count" if w else "continuous" for b, w in zip(binary, whole, strict=True)]
    return [Column(str(j), kind, j, j + 1) for j, kind in enumerate(kinds)]


def check_columns(columns: Sequence[Column], features: int) -> list[Column]:
    """The columns in order, or an error that says what is wrong with them."""
    ordered = sorted(columns, key=lambda c: c.start)
    at = 0
    for c in ordered:
        if c.kind not in get_args(Kind):
            raise ValueError(f"column {c.name!r} is of kind {c.kind!r}; it must be one of {', '.join(get_args(Kind))}")
        if c.start != at or c.stop <= c.start:
            raise ValueError(
                f"column {c.name!r} is x[:, {c.start}:{c.stop}]; columns must follow one another, here from {at}"
            )
        if c.kind != "categorical" and c.stop != c.start + 1:
            raise ValueError(
                f"column {c.name!r} ({c.kind}) takes {c.stop - c.start} features; only a category takes more than 1"
            )
        at = c.stop
    if at != features:
        raise ValueError(f"the columns describe {at} features; x has {features}")
    return ordered


@dataclass(frozen=True)
class Scales:
    """Centre and spread ``[d]`` of each feature, robust against wrong values.

    The centre is the median and the spread 1.4826 times the median absolute deviation; where more than half of the
    values are one and the same, mean and standard deviation of the middle 98 % (or of all values where they are
    constant there). 0/1 columns keep their mean and its binomial deviation. Counts, and positive columns that are
    skewed, are scaled after ``log(1 + x / unit)``; the unit is 1 for counts and the 10 % point for the others, and 0
    says that there is no logarithm.
    """

    centre: Tensor
    spread: Tensor
    unit: Tensor

    def standardise(self, block: Tensor, first: int = 0) -> Tensor:
        """Columns ``first ..`` on the common scale; constant columns become 0, missing values stay NaN."""
        return self.standardise_cells(block, slice(first, first + block.shape[1]))

    def standardise_cells(self, values: Tensor, features: Tensor | slice) -> Tensor:
        """The same for single cells and their feature numbers (or a range of columns)."""
        unit, spread = self.unit[features], self.spread[features]
        if bool((unit > 0).any()):
            values = torch.where(unit > 0, (values.clamp_min(0) / unit.clamp_min(1e-30)).log1p(), values)
        return torch.where(spread > 0, (values - self.centre[features]) / spread.clamp_min(1e-30), values * 0)

    def natural(self, z: Tensor, features: Tensor) -> Tensor:
        """Back from the common scale: values ``z`` of the given feature numbers."""
        value = z * self.spread[features] + self.centre[features]
        unit = self.unit[features]
        return torch.where(unit > 0, value.expm1().clamp_min(0) * unit, value)


def logarithm_unit(block: Tensor) -> Tensor:
    """The unit ``[c]`` for columns that are positive and far less skewed on a logarithmic scale, else 0."""
    out = torch.zeros(block.shape[1], device=block.device)
    for j in torch.nonzero((block > 0).logical_or(block.isnan()).all(dim=0)).flatten().tolist():
        column = block[:, j]
        column = column[~column.isnan()]
        if column.numel() < 20:
            continue
        points = torch.tensor([0.1, 0.5, 0.9], device=block.device)
        low, middle, high = sample_quantiles(column, points)
        if not high > low:
            continue
        skew, log_skew = skewness(low, middle, high), skewness(low.log(), middle.log(), high.log())
        if skew > 0.3 and abs(log_skew) < 0.7 * skew:
            out[j] = low
    return out


def sample_quantiles(column: Tensor, points: Tensor) -> Tensor:
    """Quantiles of at most 100 000 of the values, evenly taken."""
    return torch.quantile(column[:: max(1, column.numel() // 100_000)], points)


def skewness(low: Tensor, middle: Tensor, high: Tensor) -> float:
    return float((high + low - 2 * middle) / (high - low).clamp_min(1e-30))


def robust_scales(block: Tensor, unit: Tensor, indicator: bool) -> tuple[Tensor, Tensor]:
    """Centre and spread ``[c]`` of some columns ``[n, c]`` (NaN = missing)."""
    if indicator:
        mean = block.nanmean(dim=0).nan_to_num()
        return mean, (mean * (1 - mean)).clamp_min(0).sqrt()
    values = torch.where(unit > 0, (block.clamp_min(0) / unit.clamp_min(1e-30)).log1p(), block)
    centre = values.nanmedian(dim=0).values
    spread = 1.4826 * (values - centre).abs().nanmedian(dim=0).values
    for j in torch.nonzero(~(spread > 0)).flatten().tolist():
        column = values[:, j]
        column = column[~column.isnan()].sort().values
        cut = column.numel() // 100
        middle = column[cut : column.numel() - cut]
        chosen = middle if middle.numel() and bool(middle[0] != middle[-1]) else column
        if chosen.numel():
            centre[j], spread[j] = chosen.mean(), chosen.std(correction=0)
    return centre.nan_to_num(), spread.nan_to_num()
