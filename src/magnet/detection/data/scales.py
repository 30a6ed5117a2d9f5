"""Robust column scales: the common scale on which numbers of different columns can be compared."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from magnet.detection.options import DATA


@dataclass(frozen=True)
class Scales:
    """Centre and spread ``[d]`` of each feature, robust against wrong values.

    The centre is the median and the spread 1.4826 times the median absolute deviation; where more than half of the
    values are equal, mean and standard deviation of the middle 98 % (or of all values where those are constant). 0/1
    columns keep their mean and its binomial deviation. Counts, and positive columns that are skewed, are scaled after
    ``log(1 + x / unit)``; the unit is 1 for counts and the 10 % point for the others; 0 stands for no logarithm.
    """

    centre: Tensor
    spread: Tensor
    unit: Tensor

    def standardize(self, block: Tensor, first: int = 0) -> Tensor:
        """Columns ``first ..`` on the common scale; constant columns become 0, missing values stay NaN."""
        return self.standardize_cells(block, slice(first, first + block.shape[1]))

    def standardize_cells(self, values: Tensor, features: Tensor | slice) -> Tensor:
        """The same for single cells and their feature numbers (or a range of columns)."""
        unit, spread = self.unit[features], self.spread[features]
        if bool((unit > 0).any()):
            values = _log_scale(values, unit)
        return torch.where(spread > 0, (values - self.centre[features]) / spread.clamp_min(1e-30), values * 0)

    def restore(self, z: Tensor, features: Tensor) -> Tensor:
        """Back from the common scale to the units of ``x``: values ``z`` of the given feature numbers."""
        value = z * self.spread[features] + self.centre[features]
        unit = self.unit[features]
        return torch.where(unit > 0, value.expm1().clamp_min(0) * unit, value)


def _log_scale(values: Tensor, unit: Tensor) -> Tensor:
    return torch.where(unit > 0, (values.clamp_min(0) / unit.clamp_min(1e-30)).log1p(), values)


def log_unit(block: Tensor) -> Tensor:
    """The unit ``[c]`` for columns that are positive and far less skewed on a log scale, else 0."""
    out = torch.zeros(block.shape[1], device=block.device)
    for j in torch.nonzero((block > 0).logical_or(block.isnan()).all(dim=0)).flatten().tolist():
        column = block[:, j]
        column = column[~column.isnan()]
        if column.numel() < DATA.min_log_values:
            continue
        sample = column[:: max(1, column.numel() // DATA.quantile_sample)]
        points = torch.quantile(sample, torch.tensor([0.1, 0.5, 0.9], device=block.device))
        if not points[2] > points[0]:
            continue
        skewness = _quantile_skewness(points)
        if skewness > DATA.min_skewness and abs(_quantile_skewness(points.log())) < DATA.max_skewness_left * skewness:
            out[j] = points[0]
    return out


def _quantile_skewness(points: Tensor) -> float:
    """Bowley's skewness from the 10, 50 and 90 % points."""
    low, middle, high = points
    return float((high + low - 2 * middle) / (high - low).clamp_min(1e-30))


def robust_scales(block: Tensor, unit: Tensor, indicator: bool) -> tuple[Tensor, Tensor]:
    """Centre and spread ``[c]`` of some columns ``[n, c]`` (NaN = missing)."""
    if indicator:
        mean = block.nanmean(dim=0).nan_to_num()
        return mean, (mean * (1 - mean)).clamp_min(0).sqrt()
    values = _log_scale(block, unit)
    centre = values.nanmedian(dim=0).values
    spread = 1.4826 * (values - centre).abs().nanmedian(dim=0).values
    for j in torch.nonzero(~(spread > 0)).flatten().tolist():
        column = values[:, j]
        column = column[~column.isnan()].sort().values
        trimmed = int(column.numel() * DATA.trimmed_share)
        middle = column[trimmed : column.numel() - trimmed]
        chosen = middle if middle.numel() and bool(middle[0] != middle[-1]) else column
        if chosen.numel():
            centre[j], spread[j] = chosen.mean(), chosen.std(correction=0)
    return centre.nan_to_num(), spread.nan_to_num()
