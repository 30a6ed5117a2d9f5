"""Rows that are far too long."""

from __future__ import annotations

import pytest
import torch

from magnet import datasets, detection
from magnet.detection.cells.bursts import BurstModel, repeated_maxima
from magnet.detection.metrics import areas


@pytest.fixture
def attacked():
    """A bag of words in which five rows got sixty words each, as a gradient attack adds them."""
    data = datasets.synthetic(800, 400, 4, 6.0, 0.85, signal=0.6, words=20.0, seed=0)
    generator = torch.Generator().manual_seed(0)
    cells = torch.zeros(800, 400, dtype=torch.bool)
    for row in torch.randperm(800, generator=generator)[:5].tolist():
        empty = (data.x[row] == 0).nonzero().flatten()
        cells[row, empty[torch.randperm(empty.numel(), generator=generator)[:60]]] = True
    return with_features(data, torch.where(cells, 1.0, data.x)), cells


def with_features(data, x):
    out = data.clone()
    out.x = x
    return out


def judge(data):
    prepared = detection.read_data(data)
    model = BurstModel(prepared)
    return model, torch.cat([model.probability(*r) for r in prepared.ranges()], dim=1)


def test_added_words_are_found_and_the_words_that_were_there_are_not(attacked):
    data, cells = attacked
    model, probability = judge(data)
    assert bool((model.row_probability[cells.any(dim=1)] > 0.9).all())
    assert float(model.row_probability[~cells.any(dim=1)].max()) < 0.5
    flagged = probability > 0.5
    assert float(cells[flagged].float().mean()) > 0.75
    assert float(flagged[cells].float().mean()) > 0.8
    assert areas(cells.flatten(), judge(data)[1].flatten())[1] > 0.8


def test_auto_says_so_too(attacked):
    data, cells = attacked
    found = detection.make("auto").fit(data)
    assert float(cells[found.flagged_].float().mean()) > 0.7
    assert areas(cells.flatten(), found.scores_.flatten())[1] > 0.7
    assert bool(found.flagged_nodes_[cells.any(dim=1)].all())


@pytest.mark.parametrize("kind", ["binary", "counts", "continuous"])
@pytest.mark.parametrize("seed", [0, 1])
def test_rows_of_different_length_are_no_bursts(kind, seed):
    data = datasets.synthetic(600, 200, 4, 6.0, 0.8, kind, seed=seed)
    model, probability = judge(data)
    assert float(model.row_probability.max()) < 0.5
    assert not bool((probability > 0.5).any())


def test_normalized_rows_have_no_length():
    data = datasets.synthetic(600, 200, 4, 6.0, 0.8, "counts", seed=0)
    data.x = data.x / data.x.norm(dim=1, keepdim=True).clamp_min(1e-12)
    assert float(judge(data)[0].row_probability.max()) < 0.5


def test_trusted_cells_are_not_suspected(attacked):
    data, cells = attacked
    row = int(cells.any(dim=1).nonzero()[0])
    trusted = torch.zeros(800, dtype=torch.bool)
    trusted[row] = True
    prepared = detection.read_data(data, trusted=trusted)
    model = BurstModel(prepared)
    assert all(float(model.probability(*r)[row].max()) == 0 for r in prepared.ranges())


def test_short_rows_of_a_normalized_bag_are_no_bursts():
    data = datasets.synthetic(600, 200, 4, 6.0, 0.8, "counts", words=8.0, seed=0)
    weighted = data.x * torch.rand(200, generator=torch.Generator().manual_seed(0))
    weighted = weighted / weighted.sum(dim=1, keepdim=True).clamp_min(1e-12)
    weighted[:12] *= 0.9  # a few rows are not normalized
    assert not bool((judge(with_features(data, weighted))[1] > 0.5).any())


def test_weights_moved_to_the_end_of_their_column_are_known_by_each_other():
    data = datasets.synthetic(600, 80, 4, 6.0, 0.85, signal=0.6, words=12.0, seed=1)
    generator = torch.Generator().manual_seed(0)
    x = data.x * (0.2 + torch.rand(data.x.shape, generator=generator))
    assert repeated_maxima(detection.read_data(with_features(data, x)), torch.full((600,), 0.3)) is None
    cells = torch.zeros(600, 80, dtype=torch.bool)
    for row in torch.randperm(600, generator=generator)[:15].tolist():
        cells[row, torch.randperm(80, generator=generator)[:5]] = True
    _, scores = judge(with_features(data, torch.where(cells, x.amax(dim=0), x)))
    assert areas(cells.flatten(), scores.flatten())[1] > 0.75
    # where values are rounded, the second largest are repeated as often
    rounded = with_features(data, (4 * x).round() / 4)
    assert repeated_maxima(detection.read_data(rounded), torch.full((600,), 0.3)) is None


def test_the_end_of_a_scale_is_no_attack():
    data = datasets.load("digits")
    data.x = torch.where(data.x > 0.25, data.x, torch.zeros_like(data.x))  # mostly 0, as large pictures are
    prepared = detection.read_data(data)
    assert prepared.is_bag
    bursts = BurstModel(prepared)
    assert float(bursts.row_probability.max()) < 0.5
    assert bursts.share == 0
    found = detection.make("auto").fit(data)
    assert float((found.node_probability_ > 0.5).float().mean()) < 0.05
