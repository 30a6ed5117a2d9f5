"""Stuck values on a grid whose neighbors are alike, and recurring values that are genuine."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from magnet import detection

SIDE = 30


def grid(columns: int = 5, noise: float = 0.3, seed: int = 0) -> Data:
    """A grid of smooth numbers plus noise."""
    rng = torch.Generator().manual_seed(seed)
    x = torch.randn(columns, 1, SIDE + 12, SIDE + 12, generator=rng)
    for _ in range(3):
        x = torch.nn.functional.avg_pool2d(x, 5, stride=1)
    x = x.reshape(columns, -1).T
    x = x / x.std(dim=0) + noise * torch.randn(x.shape, generator=rng)
    index = torch.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    right = torch.stack([index[:, :-1].flatten(), index[:, 1:].flatten()])
    down = torch.stack([index[:-1].flatten(), index[1:].flatten()])
    edges = torch.cat([right, down], dim=1)
    return Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], dim=1))


def some_rows(share: float, seed: int = 1) -> Tensor:
    return torch.rand(SIDE * SIDE, generator=torch.Generator().manual_seed(seed)) < share


@pytest.mark.parametrize("share", [0.15, 0.3])
def test_a_stuck_value_is_found_in_every_row_that_holds_it(share):
    data, rows = grid(), some_rows(share)
    wrong = torch.zeros(data.x.shape, dtype=torch.bool)
    wrong[rows, 2] = True
    data.x[rows, 2] = 1.1
    found = detection.make("auto").fit(data)
    assert bool(found.flagged_[wrong].all())
    # of these rows a few fit so badly that they are called swapped
    assert not bool(found.flagged_[~rows].any())
    assert float((found.flagged_ & ~wrong).any(dim=1)[rows].float().mean()) < 0.05
    assert torch.equal(found.flagged_nodes_, rows)
    assert bool((found.scores_[wrong] > found.scores_[~wrong].max()).all())


def _leave(x: Tensor) -> None:
    """Nothing recurs."""


def _plateau(x: Tensor) -> None:
    x[(x[:, 2] - 1.1).abs() < 0.3, 2] = 1.1  # a genuine value: where the neighbors hold similar ones


def _absent(x: Tensor) -> None:
    x[some_rows(0.2), 2] = 0.0


def _cut_off(x: Tensor) -> None:
    x[some_rows(0.2), 2] = x[:, 2].max()


def _filled_in(x: Tensor) -> None:
    rows = some_rows(0.2)
    x[rows, 2] = x[~rows, 2].mean()


def _rounded(x: Tensor) -> None:
    x[:, 2] = (x[:, 2] * 5).round() / 5  # many numbers recur


def _copied_rows(x: Tensor) -> None:
    x[some_rows(0.05)] = x[17].clone()


@pytest.mark.parametrize("change", [_leave, _plateau, _absent, _cut_off, _filled_in, _rounded, _copied_rows])
def test_recurring_values_that_may_be_genuine_are_kept(change: Callable[[Tensor], None]):
    data = grid()
    change(data.x)
    found = detection.make("auto").fit(data)
    verdict = found.verdict_
    assert not verdict.models[-1].found
    if change is not _copied_rows:  # which are swapped rows
        assert not bool(found.flagged_.any())


def test_neighbors_that_say_nothing_are_no_evidence():
    data = grid()
    order = torch.randperm(SIDE * SIDE, generator=torch.Generator().manual_seed(3))
    data.x = data.x[order]
    data.x[some_rows(0.2), 2] = 1.1
    assert not bool(detection.make("auto").fit(data).flagged_.any())


def test_trusted_cells_are_kept():
    data, rows = grid(), some_rows(0.3)
    data.x[rows, 2] = 1.1
    trusted = torch.zeros(data.x.shape, dtype=torch.bool)
    trusted[:100, 2] = True
    found = detection.make("auto").fit(data, trusted=trusted)
    assert not bool(found.flagged_[:100, 2].any())
    assert torch.equal(found.flagged_[100:, 2], rows[100:])
