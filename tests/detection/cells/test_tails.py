"""Tails of residuals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import torch
from torch_geometric.data import Data

from magnet import detection
from magnet.detection.cells import tails
from magnet.detection.cells.numeric import log_cauchy_density
from magnet.detection.cells.tails import fit_tail


def test_a_tail_that_runs_out_evenly_is_heavy_and_lone_far_values_are_wrong():
    generator = torch.Generator().manual_seed(0)
    normal = torch.randn(1000, 2, generator=generator)
    even, lone = normal[:, 0].clone(), normal[:, 1].clone()
    even[:100] *= 4  # one row in ten is wilder, by no more than four times
    lone[:5] = torch.tensor([25.0, -30.0, 28.0, 35.0, -26.0])
    u = torch.stack([even, lone], dim=1)
    log_wrong = log_cauchy_density(u / 10) - math.log(10)  # the column is ten times as wide as the residuals
    right = fit_tail(u, log_wrong, torch.full((2,), 30.0)).log_density(u)
    ratio = log_wrong - right + math.log(0.01)
    assert (ratio[:, 0] > 0).sum() <= 2
    assert set(torch.nonzero(ratio[:, 1] > 0).flatten().tolist()) == set(range(5))


def test_the_tail_of_a_long_column_is_that_of_its_farthest_values_and_bins(monkeypatch):
    u = torch.randn(4000, 3, generator=torch.Generator().manual_seed(1))
    log_wrong = log_cauchy_density(u)
    max_dof = torch.full((3,), 30.0)
    short = fit_tail(u, log_wrong, max_dof)
    monkeypatch.setattr(tails, "NUMERIC", replace(tails.NUMERIC, tail_exact=4000))
    whole = fit_tail(u, log_wrong, max_dof)
    at = torch.linspace(-8, 8, 33)[:, None].expand(-1, 3)
    assert (short.log_density(at) - whole.log_density(at)).abs().max() < 0.05


def test_far_values_of_many_rows_are_no_evidence_where_the_rest_of_the_row_is_not_taken_out():
    rng = np.random.default_rng(0)
    x, edges = rng.standard_t(4, (300, 300)), rng.integers(0, 300, (2, 900))
    data = Data(x=torch.from_numpy(x).float(), edge_index=torch.from_numpy(edges))
    data.x[7, [3, 90, 200]] = 40.0
    flagged = detection.make("cell").fit(data).flagged_nodes_
    assert flagged[7]
    assert int(flagged.sum()) <= 9  # of 300; 30 and more where only the middle of a column says how far its values go


def test_numbers_are_sorted_from_the_largest_on_equal_ones_in_the_order_of_the_rows():
    values = torch.randint(-1, 40, (500, 3), generator=torch.Generator().manual_seed(0)).float() / 7
    values[values < 0] = -1.0  # missing
    at = torch.tensor([0, 1, 17, 300, 499])
    found = tails._descending(values, at)
    expected = values.sort(dim=0, descending=True, stable=True)
    assert torch.equal(found[0], expected.values[at])
    assert torch.equal(found[1], expected.indices[at])
