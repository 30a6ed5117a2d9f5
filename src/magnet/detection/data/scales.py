"""Robust column scales: the common scale on which numbers of different columns can be compared.

:mod:`magnet.scales` decides which columns are skewed; here they are scaled, on any device. (Tables are scaled by
likelihood, see :mod:`magnet.tables.numbers.scales`.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.detection.data.scratch import row_ranges
from magnet.detection.options import DATA, TINY
from magnet.scales import NORMAL_MAD, asinh_unit
from magnet.threads import CELLS_PER_THREAD, map_threads

MAX_SPREADS = 1e9  # values further away count as that far, so that sums of their squares fit into float32


@dataclass(frozen=True)
class Scales:
    """Center and spread ``[d]`` of each feature, robust against wrong values.

    The center is the median and the spread 1.4826 times the median absolute deviation; where more than half of the
    values are equal, mean and standard deviation of the middle 98 % (or of all values where those are constant). 0/1
    columns keep their mean and its binomial deviation. Skewed columns are scaled after ``asinh(x / unit)``, see
    :func:`magnet.scales.asinh_unit`; a unit of 0 means a linear scale.
    """

    center: Tensor
    spread: Tensor
    unit: Tensor

    def standardize(self, block: Tensor, first: int = 0) -> Tensor:
        """Columns ``first ..`` on the common scale; constant columns become 0, missing values stay NaN."""
        return self.standardize_cells(block, slice(first, first + block.shape[1]))

    def standardize_cells(self, values: Tensor, features: Tensor | slice) -> Tensor:
        """The same for single cells and their feature numbers (or a range of columns)."""
        spread = self.spread[features]
        values = _asinh_scale(values, self.unit[features])
        z = torch.where(spread > 0, (values - self.center[features]) / spread.clamp_min(TINY), values * 0)
        return z.clamp_(-MAX_SPREADS, MAX_SPREADS)

    def restore(self, z: Tensor, features: Tensor) -> Tensor:
        """Back from the common scale to the units of ``x``: values ``z`` of the given feature numbers."""
        value = z * self.spread[features] + self.center[features]
        unit = self.unit[features]
        return torch.where(unit > 0, value.sinh() * unit, value)


def _asinh_scale(values: Tensor, unit: Tensor) -> Tensor:
    if not bool((unit > 0).any()):
        return values
    return torch.where(unit > 0, (values / unit.clamp_min(TINY)).asinh(), values)


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
    center = nan_median(values)
    spread = NORMAL_MAD * nan_median((values - center).abs())
    for j in torch.nonzero(~(spread > 0)).flatten().tolist():
        column = values[:, j]
        column = column[~column.isnan()].sort().values
        trimmed = int(column.numel() * DATA.trimmed_share)
        middle = column[trimmed : column.numel() - trimmed]
        chosen = middle if middle.numel() and bool(middle[0] != middle[-1]) else column
        if chosen.numel():
            center[j], spread[j] = chosen.mean(), chosen.std(correction=0)
    return center.nan_to_num(), spread.nan_to_num()


def order_statistics(values: Tensor, ranks: Tensor) -> Tensor:
    """The numbers of rank ``ranks`` ``[k, c]`` (0 is the smallest; NaN comes last) in the columns of ``[n, c]``: a
    partial sort of each column, ten times as fast as sorting all of them.

    Example:
        >>> order_statistics(torch.tensor([[3.0], [float("nan")], [1.0], [2.0]]), torch.tensor([[0], [2]])).tolist()
        [[1.0], [3.0]]
    """
    if values.device.type != "cpu":
        return values.sort(dim=0).values.gather(0, ranks)
    columns, wanted = values.T.clone(memory_format=torch.contiguous_format).numpy(), ranks.T.tolist()

    def pick(j: int) -> NDArray[np.float32]:
        columns[j].partition(sorted(set(wanted[j])))
        found: NDArray[np.float32] = columns[j][wanted[j]]
        return found

    picked = map_threads(pick, range(len(columns)), _threads(values))
    return torch.from_numpy(np.stack(picked, axis=1)) if picked else values.new_empty(ranks.shape)


def nan_median(values: Tensor) -> Tensor:
    """The median ``[c]`` of the columns of ``[n, c]`` (or of ``[n]``) without missing values (NaN), the lower one of
    two.

    Example:
        >>> nan_median(torch.tensor([[1.0, 5.0], [float("nan"), 4.0], [3.0, 3.0]])).tolist()
        [1.0, 4.0]
    """
    if values.dim() == 1:
        return nan_median(values[:, None])[0]
    if values.device.type != "cpu":
        return values.nanmedian(dim=0).values
    columns = values.T.contiguous().numpy()

    def median(j: int) -> float:
        return lower_median(columns[j][columns[j] == columns[j]])

    return torch.tensor(map_threads(median, range(len(columns)), _threads(values)), dtype=values.dtype)


def group_medians(values: Tensor, group: Tensor, groups: int) -> tuple[Tensor, Tensor]:
    """The medians ``[groups, c]`` of the numbers of each group in the columns of ``[n, c]``, as :func:`nan_median`, and
    how many cells the groups have, missing ones included.

    Example:
        >>> median, count = group_medians(torch.tensor([[1.0], [5.0], [7.0]]), torch.tensor([[0], [1], [1]]), 2)
        >>> median.tolist(), count.tolist()
        ([[1.0], [5.0]], [[1], [2]])
    """
    if values.device.type != "cpu":
        medians = [nan_median(values.masked_fill(group != k, float("nan"))) for k in range(groups)]
        return torch.stack(medians), torch.stack([(group == k).sum(dim=0) for k in range(groups)])
    columns, members = values.T.contiguous().numpy(), group.T.contiguous().numpy()

    def of_column(j: int) -> tuple[list[float], list[int]]:
        known = columns[j] == columns[j]
        numbers, member = columns[j][known], members[j][known]
        medians = [lower_median(numbers[member == k]) for k in range(groups)]
        return medians, np.bincount(members[j], minlength=groups).tolist()

    found = map_threads(of_column, range(len(columns)), _threads(values))
    return torch.tensor([m for m, _ in found], dtype=values.dtype).T, torch.tensor([count for _, count in found]).T


def lower_median(numbers: NDArray[np.float32]) -> float:
    """Of numbers that are put into another order by this; NaN without any."""
    if not numbers.size:
        return float("nan")
    middle = (numbers.size - 1) // 2
    numbers.partition(middle)
    return float(numbers[middle])


def _threads(values: Tensor) -> int:
    return max(1, min(torch.get_num_threads(), values.numel() // CELLS_PER_THREAD))


def median_size(values: Tensor) -> Tensor:
    """The median ``[n]`` of the absolute values of each row of ``[n, c]``, a block of rows at a time."""
    if values.device.type != "cpu":
        return values.abs().nanmedian(dim=1).values
    parts = []
    for rows in row_ranges(*values.shape):
        size = values[rows].abs()
        rank = ((~size.isnan()).sum(dim=1) - 1).clamp_min(0) // 2
        parts.append(torch.from_numpy(np.sort(size.numpy(), axis=1)).gather(1, rank[:, None])[:, 0])
    return torch.cat(parts)
