"""Single wrong cells."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch_geometric.data import Data

from magnet import corruption, datasets, detection
from magnet.detection.cells.cell import Cell, CellModel
from magnet.detection.cells.rates import fit_rates
from magnet.detection.data.read import read_data
from magnet.detection.options import CELLS


def test_rows_share_their_rate_of_wrong_cells():
    """Two rows with the same doubtful cell: beside other doubtful cells it is more suspicious."""
    likelihood = torch.zeros(1000, 3, 1)
    likelihood[:, 1:] = -2.0
    likelihood[:50, 1:] = 8.0
    joint, odds, share = fit_rates(likelihood)
    assert abs(share - 0.05) < 0.02
    assert float(odds[0]) > 5
    assert float(odds[-1]) < -3
    assert abs(float(joint.sum(dim=(1, 2)).mean()) - 1) < 1e-5


def test_flipped_cells_are_found_and_clean_ones_left_alone():
    data = datasets.synthetic(1500, 300, 5, 8.0, 0.9, signal=0.6, words=25, seed=1)
    bad = corruption.corrupt_cells(data, 0.04, "flip", node_share=0.2, seed=0)
    result = detection.metrics(Cell().fit(bad.data), bad.cells)
    assert result["node_auroc"] > 0.95
    assert result["cell_auprc"] > 0.4
    assert result["cell_precision"] > 0.6
    assert 0.15 < result["share"] < 0.4
    clean = Cell().fit(data)
    assert float(clean.flagged_.float().mean()) < 0.001
    assert float(clean.flagged_nodes_.float().mean()) < 0.02


def test_outliers_are_found_better_than_by_the_column():
    data = datasets.synthetic(1500, 30, 5, 8.0, 0.9, "continuous", signal=1.5, seed=1)
    bad = corruption.corrupt_cells(data, 0.05, "outlier", node_share=0.3, seed=0)
    ours = detection.metrics(Cell().fit(bad.data), bad.cells)
    column = detection.metrics(detection.make("zscore").fit(bad.data), bad.cells)
    assert ours["cell_auprc"] > column["cell_auprc"] + 0.05
    assert ours["cell_precision"] > 0.9


def test_an_event_that_says_nothing_is_wrong_at_the_rate_of_its_row():
    """Also in rows that are shorter or longer than expected: a rare word of a short row is no evidence against it."""
    bad = corruption.corrupt(
        datasets.synthetic(600, 200, 4, 8.0, 0.8, seed=0), "cells-flip", node_share=0.2, ratio=0.02
    )
    x = bad.data.x.clone()
    x[:, :5] = 0
    for column in range(5):
        x[100 * column : 100 * column + 3, column] = 1
    data = read_data(Data(x=x, edge_index=bad.data.edge_index))
    model = CellModel(data)
    row, column = x[:, :5].nonzero(as_tuple=True)
    assert model.has_lengths
    assert row.numel() == 15
    probability = Cell().fit(data).probability_[row, column]
    expected = model._posterior.sum(dim=2) @ torch.tensor(model._rates)  # the rate of wrong cells in each row
    torch.testing.assert_close(probability, expected[row], rtol=1e-4, atol=1e-8)


def test_rounds_of_a_narrow_table_are_the_same_where_nothing_is_kept_between_passes(monkeypatch):
    """Where ratios are kept, the regression and the densities of a round are freed before the next one."""
    data = datasets.synthetic(600, 12, kind="continuous", seed=0)
    data.x[::20, 3] += 8
    data.x[5, 5] = float("nan")
    for x in (data.x.nan_to_num(), data.x):
        prepared = read_data(Data(x=x, edge_index=data.edge_index))
        assert prepared.is_narrow
        kept = CellModel(prepared)
        with monkeypatch.context() as patch:
            patch.setattr("magnet.detection.cells.cell.CELLS", replace(CELLS, cached_cells=0))
            again = CellModel(prepared)
            expected = again.probability(0, 12)
        assert torch.equal(kept.probability(0, 12), expected)
        assert kept.share == again.share > 0


def test_multiplied_ratings_do_not_convict_the_right_ones():
    generator = torch.Generator().manual_seed(0)
    n = 1000
    ratings = (3 + 1.2 * torch.randn(n, generator=generator)).round().clamp(1, 5)
    x = torch.cat([ratings[:, None], torch.randn(n, 4, generator=generator)], dim=1)
    wrong = torch.zeros(n, dtype=torch.bool)
    wrong[torch.randperm(n, generator=generator)[:20]] = True
    x[wrong, 0] *= 100
    edges = torch.randint(0, n, (2, 4 * n), generator=generator)
    flagged = Cell().fit(Data(x=x, edge_index=edges)).flagged_
    assert torch.equal(flagged[:, 0], wrong)


def test_words_counted_a_hundred_times_too_often_are_found():
    data = datasets.synthetic(1000, 200, 4, 8.0, 0.9, signal=0.6, words=25, seed=0)
    x = data.x.to_dense().clone()
    ones = x.nonzero()
    row, column = ones[torch.randperm(len(ones), generator=torch.Generator().manual_seed(0))[:50]].unbind(1)
    x[row, column] *= 100
    data.x = x
    flagged = Cell().fit(data).flagged_
    assert float(flagged[row, column].float().mean()) > 0.9
    assert float(flagged.float().mean()) < 0.002


def test_a_row_without_values_beside_many_numbers():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(500, 20, generator=generator) * torch.exp(0.15 * torch.randn(500, 1, generator=generator))
    x[0] = float("nan")
    found = Cell().fit(Data(x=x, edge_index=torch.randint(0, 500, (2, 2000), generator=generator)))
    assert not bool(found.flagged_[0].any())
    assert float(found.flagged_nodes_.float().mean()) < 0.02


def test_a_handful_of_rows_has_no_distribution():
    for n in (3, 4, 6, 8):
        x = torch.randn(n, 5, generator=torch.Generator().manual_seed(n))
        edges = torch.tensor([list(range(n)), [*range(1, n), 0]])
        assert not bool(Cell().fit(Data(x=x, edge_index=edges)).flagged_.any())
