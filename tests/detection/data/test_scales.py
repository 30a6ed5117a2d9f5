"""Robust column scales."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from magnet import detection
from magnet.datasets import synthetic
from magnet.detection.data.read import read_data
from magnet.detection.data.scales import group_medians, nan_median, robust_scales


def test_scales_are_robust_and_know_skewed_columns():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1000, 3, generator=generator) * torch.tensor([1.0, 5.0, 0.0]) + 2
    x[:20] = 1e6
    center, spread = robust_scales(x, torch.zeros(3), indicator=False)
    assert abs(float(spread[0]) - 1) < 0.15
    assert abs(float(spread[1]) - 5) < 0.6
    assert abs(float(center[0]) - 2) < 0.15
    income = torch.cat(
        [
            torch.exp(torch.randn(500, 1, generator=generator) + 10),
            torch.randn(500, 1, generator=generator),
            torch.full((500, 1), 3.5),
        ],
        dim=1,
    )
    data = read_data(Data(x=income, edge_index=torch.zeros(2, 0, dtype=torch.long)))
    assert (data.scales.unit > 0).tolist() == [True, False, False]
    z = data.scales.standardize(income)
    assert float(z[:, 2].abs().max()) == 0
    features = torch.tensor([0, 1])
    torch.testing.assert_close(data.scales.restore(z[7, :2], features), income[7, :2], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("value", [1e19, -1e30, 3e38])
def test_a_value_whose_square_no_float32_holds_is_found_and_hides_no_other(value):
    data = synthetic(nodes=150, features=20, kind="continuous", seed=0)
    data.x[3, 4], data.x[7, 1] = value, 50.0
    found = detection.make("auto").fit(data)
    assert bool(found.probability_.isfinite().all())
    assert bool(found.node_probability_.isfinite().all())
    assert found.flagged_.nonzero().tolist() == [[3, 4], [7, 1]]


def test_medians_of_groups_are_those_of_their_numbers():
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(500, 3, generator=generator)
    values[::7, 1] = float("nan")
    group = torch.randint(4, (500, 3), generator=generator, dtype=torch.uint8)
    group[:, 2].clamp_(max=2)  # the last group is empty
    found, count = group_medians(values, group, 4)
    assert count.T.tolist() == [torch.bincount(column, minlength=4).tolist() for column in group.T]
    for k in range(4):
        expected = nan_median(values.masked_fill(group != k, float("nan")))
        torch.testing.assert_close(found[k], expected, rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(found[0], values.masked_fill(group != 0, float("nan")).nanmedian(dim=0).values)
