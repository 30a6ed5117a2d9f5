"""Leave-one-out ridge against refitting."""

from __future__ import annotations

from dataclasses import replace

import torch

from magnet.detection.cells.ridge import leave_one_out_ridge
from magnet.detection.data.columns import Column
from magnet.detection.options import CONTEXT


def test_regression_is_ridge_on_everything_else_in_all_other_rows():
    generator = torch.Generator().manual_seed(0)
    z, one, two = (torch.randn(80, 5, generator=generator) for _ in range(3))
    z[:, 1] += 0.8 * z[:, 0]
    columns = [Column("a", "continuous", 0, 1), Column("b", "categorical", 1, 3)] + [
        Column(str(j), "continuous", j, j + 1) for j in (3, 4)
    ]
    found, widening = leave_one_out_ridge(torch.cat([z, one, two], dim=1), columns, ridge=0.05)
    F = torch.cat([z - z.mean(0), one - one.mean(0), two - two.mean(0)], dim=1).double()
    for c in columns:
        rest = [k for k in range(15) if not c.start <= k < c.stop]
        X, y = F[:, rest], F[:, c.start : c.stop]
        for row in (0, 17, 79):
            others = torch.arange(80) != row
            A = X[others]
            inverse = torch.linalg.inv(A.T @ A / 80 + 0.05 * torch.eye(len(rest)))
            b = inverse @ A.T @ y[others] / 80
            expected = X[row] @ b + z.mean(0)[c.start : c.stop]
            torch.testing.assert_close(found[row, c.start : c.stop], expected.float(), atol=1e-4, rtol=1e-4)
            h = X[row] @ torch.linalg.inv(X.T @ X / 80 + 0.05 * torch.eye(len(rest))) @ X[row] / 80
            torch.testing.assert_close(widening[row, c.start], (1 - h).rsqrt().float(), atol=1e-5, rtol=1e-4)


def test_regression_in_blocks_of_rows_is_the_same(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    z, one, two = (torch.randn(80, 5, generator=generator) for _ in range(3))
    columns = [Column("a", "categorical", 0, 3), Column("b", "continuous", 3, 4), Column("c", "continuous", 4, 5)]
    at_once = leave_one_out_ridge(torch.cat([z, one, two], dim=1), columns)
    monkeypatch.setattr("magnet.detection.cells.ridge.CONTEXT", replace(CONTEXT, ridge_block_rows=32))
    torch.testing.assert_close(leave_one_out_ridge(torch.cat([z, one, two], dim=1), columns), at_once)


def test_extreme_rows_are_predicted_from_unclipped_values_and_wild_cells_are_not():
    generator = torch.Generator().manual_seed(1)
    unclipped = torch.randn(300, 1, generator=generator) + 0.05 * torch.randn(300, 3, generator=generator)
    unclipped[0] = 6.0  # extreme throughout
    unclipped[1] = torch.tensor([0.5, 0.5, 500.0])
    columns = [Column(str(j), "continuous", j, j + 1) for j in range(3)]
    z, nothing = unclipped.clamp(-3, 3), torch.zeros(300, 3)
    cut, _ = leave_one_out_ridge(torch.cat([z, nothing, nothing], dim=1), columns)
    found, _ = leave_one_out_ridge(torch.cat([z, nothing, nothing], dim=1), columns, unclipped=unclipped.__getitem__)
    assert (cut[0] - 6).abs().min() > 2
    assert (found[0] - 6).abs().max() < 0.2
    torch.testing.assert_close(found[1], cut[1], atol=0.01, rtol=0)
    usual = (unclipped == z).all(dim=1)
    torch.testing.assert_close(found[usual], cut[usual])


def test_missing_cells_are_integrated_out():
    generator = torch.Generator().manual_seed(2)
    z, nothing = torch.randn(2000, 3, generator=generator), torch.zeros(2000, 3)
    z[:, 1] = z[:, 0] + 0.1 * torch.randn(2000, generator=generator)
    missing = torch.rand(2000, 3, generator=generator) < 0.1
    columns = [Column(str(j), "continuous", j, j + 1) for j in range(3)]
    given = torch.cat([z.masked_fill(missing, 0.0), nothing, nothing], dim=1)
    found, widening = leave_one_out_ridge(given, columns, missing=missing)
    alone = missing[:, 1] & ~missing[:, 0]  # the first column is then predicted from the third, which says nothing
    both = ~missing[:, 1] & ~missing[:, 0]
    assert found[alone, 0].std() < 0.2
    residual = (z[:, 0] - found[:, 0]) / widening[:, 0]
    assert 0.7 < residual[alone].std() / residual[both].std() < 1.4  # (taken for 0 as before, it was 10)
    assert (found[alone, 1] - z[alone, 1]).abs().median() < 0.15  # what is missing is expected from its twin
