"""What the columns of a feature matrix are, and how each is brought to a common scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from magnet.datasets.features import is_sparse, to_scipy

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
    constant there). 0/1 columns keep their mean and its binomial deviation. Counts are scaled after ``log(1 + x)``.
    """

    centre: Tensor
    spread: Tensor
    log: Tensor

    def standardise(self, block: Tensor, first: int = 0) -> Tensor:
        """Columns ``first ..`` on the common scale; constant columns become 0, missing values stay NaN."""
        stop = first + block.shape[1]
        log = self.log[first:stop]
        if bool(log.any()):
            block = torch.where(log, block.clamp_min(0).log1p(), block)
        spread = self.spread[first:stop]
        return torch.where(spread > 0, (block - self.centre[first:stop]) / spread.clamp_min(1e-30), block * 0)

    def standardise_cells(self, values: Tensor, features: Tensor) -> Tensor:
        """The same for single cells and their feature numbers."""
        values = torch.where(self.log[features], values.clamp_min(0).log1p(), values)
        return (values - self.centre[features]) / self.spread[features].clamp_min(1e-30)

    def natural(self, z: Tensor, features: Tensor) -> Tensor:
        """Back from the common scale: values ``z`` of the given feature numbers."""
        value = z * self.spread[features] + self.centre[features]
        return torch.where(self.log[features], value.expm1().clamp_min(0), value)


def robust_scales(block: Tensor, log: bool, indicator: bool) -> tuple[Tensor, Tensor]:
    """Centre and spread ``[c]`` of some columns ``[n, c]`` (NaN = missing)."""
    values = block.clamp_min(0).log1p() if log else block
    if indicator:
        mean = values.nanmean(dim=0).nan_to_num()
        return mean, (mean * (1 - mean)).clamp_min(0).sqrt()
    centre = values.nanmedian(dim=0).values
    away = (values - centre).abs()
    spread = 1.4826 * away.nanmedian(dim=0).values
    for j in torch.nonzero(~(spread > 0)).flatten().tolist():
        column = values[:, j]
        column = column[~column.isnan()].sort().values
        cut = column.numel() // 100
        middle = column[cut : column.numel() - cut]
        chosen = middle if middle.numel() and bool(middle[0] != middle[-1]) else column
        if chosen.numel():
            centre[j], spread[j] = chosen.mean(), chosen.std(correction=0)
    return centre.nan_to_num(), spread.nan_to_num()
