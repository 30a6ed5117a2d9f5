"""Robust column scales: the common scale on which numbers of different columns can be compared."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from magnet.detection.options import DATA
from magnet.scales import asinh_unit


@dataclass(frozen=True)
class Scales:
    """Center and spread ``[d]`` of each feature, robust against wrong values.

    The center is the median and the spread 1.4826 times the median absolute deviation; where more than half of the
    values are equal, mean and standard deviation of the middle 98 % (or of all values where those are constant). 0/1
    columns keep their mean and its binomial deviation. Skewed columns are scaled after ``asinh(x / unit)``, see
    :func:`magnet.scales.asinh_unit`; a unit of 0 stands for a linear scale.
    """

    center: Tensor
    spread: Tensor
    unit: Tensor

    def standardize(self, block: Tensor, first: int = 0) -> Tensor:
        """Columns ``first ..`` on the common scale; constant columns become 0, missing values stay NaN."""
        return self.standardize_cells(block, slice(first, first + block.shape[1]))

    def standardize_cells(self, values: Tensor, features: Tensor | slice) -> Tensor:
        """The same for single cells and their feature numbers (or a range of columns)."""
        unit, spread = self.unit[features], self.spread[features]
        if bool((unit > 0).any()):
            values = _asinh_scale(values, unit)
        return torch.where(spread > 0, (values - self.center[features]) / spread.clamp_min(1e-30), values * 0)

    def restore(self, z: Tensor, features: Tensor) -> Tensor:
        """Back from the common scale to the units of ``x``: values ``z`` of the given feature numbers."""
        value = z * self.spread[features] + self.center[features]
        unit = self.unit[features]
        return torch.where(unit > 0, value.sinh() * unit, value)


def _asinh_scale(values: Tensor, unit: Tensor) -> Tensor:
    return torch.where(unit > 0, (values / unit.clamp_min(1e-30)).asinh(), values)


def asinh_units(block: Tensor) -> Tensor:
    """The unit ``[c]`` of each numeric column, 0 for a linear scale; from at most 100 000 of its values."""
    step = max(1, block.shape[0] // DATA.quantile_sample)
    columns = block[::step].double().cpu().numpy().T
    return torch.tensor([asinh_unit(column) for column in columns], dtype=torch.float32, device=block.device)


def robust_scales(block: Tensor, unit: Tensor, indicator: bool) -> tuple[Tensor, Tensor]:
    """Center and spread ``[c]`` of some columns ``[n, c]`` (NaN = missing)."""
    if indicator:
        mean = block.nanmean(dim=0).nan_to_num()
        return mean, (mean * (1 - mean)).clamp_min(0).sqrt()
    values = _asinh_scale(block, unit)
    center = values.nanmedian(dim=0).values
    spread = 1.4826 * (values - center).abs().nanmedian(dim=0).values
    for j in torch.nonzero(~(spread > 0)).flatten().tolist():
        column = values[:, j]
        column = column[~column.isnan()].sort().values
        trimmed = int(column.numel() * DATA.trimmed_share)
        middle = column[trimmed : column.numel() - trimmed]
        chosen = middle if middle.numel() and bool(middle[0] != middle[-1]) else column
        if chosen.numel():
            center[j], spread[j] = chosen.mean(), chosen.std(correction=0)
    return center.nan_to_num(), spread.nan_to_num()
