"""Densities of right and wrong numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
import torch
from torch_geometric.data import Data

from magnet import datasets, detection
from magnet.detection.cells.context_model import ContextModel
from magnet.detection.cells.numeric import (
    NumericModel,
    _row_scale,
    log_cauchy_density,
    log_wrong_density,
    spiked_log_ratio,
    spread_by_prediction,
)
from magnet.detection.cells.tails import fit_t_dof, log_t_density
from magnet.detection.data import scratch
from magnet.detection.data.read import read_data


def test_densities_are_those_of_scipy():
    u = torch.linspace(-6, 6, 25)
    np.testing.assert_allclose(log_t_density(u, torch.tensor(4.0)), scipy.stats.t.logpdf(u.numpy(), 4), atol=1e-5)
    np.testing.assert_allclose(log_cauchy_density(u), scipy.stats.cauchy.logpdf(u.numpy(), scale=3), atol=1e-5)


@pytest.mark.parametrize("nu", [1.5, 3.0, 30.0])
def test_heavy_tails_are_recognized(nu):
    u = torch.from_numpy(scipy.stats.t.rvs(nu, size=(20_000, 2), random_state=0)).float()
    assert (fit_t_dof(u) - nu).abs().max() <= {1.5: 0.5, 3.0: 1.0, 30.0: 20.0}[nu]


def test_ratio_of_spiked_columns():
    away = torch.zeros(400, 1)
    away[:40, 0] = torch.exp(torch.randn(40, generator=torch.Generator().manual_seed(0)) * 0.4)
    away[40, 0] = -1.0  # the only one below the spike
    chance = torch.full((400, 1), 0.1)
    chance[0] = 0.001
    ratio = spiked_log_ratio(away, chance)[:, 0]
    assert ratio[0] > ratio[1:40].max() - 3  # where no event is expected
    assert ratio[40] > ratio[1:40].median() + 2  # on the side where nothing else lies
    assert (ratio[41:] < 0).all()


def test_spread_follows_the_level_of_the_prediction() -> None:
    generator = torch.Generator().manual_seed(0)
    level = torch.rand(8000, 1, generator=generator)
    noise = torch.randn(8000, 1, generator=generator)
    u = noise * torch.where(level < 0.25, 3.0, 1.0)
    spread = spread_by_prediction(u, level)
    wide, narrow = spread[level < 0.24].mean(), spread[level > 0.26].mean()
    assert float(wide / narrow) == pytest.approx(3.0, rel=0.1)
    assert spread_by_prediction(noise, level).numpy() == pytest.approx(1.0, abs=0.1)


def test_where_wrong_values_lie_is_learned_from_those_that_are_known(monkeypatch) -> None:
    z = torch.randn(2000, 2, generator=torch.Generator().manual_seed(0)).clamp(-3.9, 3.9)
    doubt = torch.zeros_like(z)
    z[:40, 0], doubt[:40, 0] = 4.1, 1.0
    z[40, 0] = 4.2  # not found, but where 40 wrong ones are
    learned = log_wrong_density(z, doubt)
    monkeypatch.setattr(scratch, "CACHED_CELLS", 7)  # a few rows at a time
    torch.testing.assert_close(log_wrong_density(z, doubt), learned)
    torch.testing.assert_close(log_wrong_density(z), log_cauchy_density(z))
    torch.testing.assert_close(learned[:, 1], log_cauchy_density(z)[:, 1])
    assert float(learned[40, 0] - log_cauchy_density(z)[40, 0]) > 2
    grid = torch.linspace(-40, 40, 16001)[:, None]
    known = torch.cat([torch.full((40, 1), 4.1), grid])
    density = log_wrong_density(known, torch.cat([torch.ones(40, 1), torch.zeros_like(grid)]))[40:].exp()
    assert float(density.sum() * (80 / 16000)) == pytest.approx(
        1 - 0.2 * (1 - 2 / math.pi * math.atan(40 / 3)), abs=0.02
    )


def test_a_cell_does_not_speak_for_its_own_wrongness() -> None:
    z, doubt = torch.zeros(100, 1), torch.zeros(100, 1)
    z[0], doubt[0] = 4.1, 1.0
    torch.testing.assert_close(log_wrong_density(z, doubt)[0], log_cauchy_density(z)[0])


def test_heavy_columns_are_left_alone_when_right_and_show_what_is_far_out() -> None:
    """Columns like a Cauchy distribution: no value is impossible by itself, but one a million spreads away is."""
    graph = datasets.synthetic(2000, 16, 4, 8.0, 0.9, seed=0)
    noise = np.random.default_rng(0).standard_t(1.0, size=(2000, 20))
    x = 0.3 * graph.y[:, None] + torch.from_numpy(noise).float()
    clean = detection.make("cell").fit(Data(x=x, edge_index=graph.edge_index))
    assert clean.flagged_.float().mean() < 1e-3
    x[:40, 3] = 1e6
    data = read_data(Data(x=x, edge_index=graph.edge_index))
    found = detection.make("cell").fit(data)
    assert found.scores_[:40, 3].min() > found.scores_[40:].quantile(0.99)
    model = NumericModel(ContextModel(data, torch.ones(2000)))
    assert bool(model.is_heavy.all())
    expected, unusual = model.expected(torch.arange(40), torch.full((40,), 3))
    assert expected.abs().max() < 10  # in the units of x
    assert unusual.min() > 5


def test_rows_are_narrow_only_if_their_far_values_are_too():
    generator = torch.Generator().manual_seed(0)
    rows = torch.where(torch.arange(2000) < 700, 0.3, 1.0)[:, None]
    u = torch.randn(2000, 64, generator=generator) * rows
    far = torch.rand(2000, 64, generator=generator) < 0.03
    # errors are as far in narrow rows as in others, and are found there first
    for given in (u, torch.where(far, u.sign() * 3, u)):
        scale = _row_scale(given)[:, 0]
        assert float(scale[:700].median()) < 0.7 * float(scale[700:].median())
    # long tails of narrow rows only
    assert float(_row_scale(torch.where(far & (rows < 1), u.sign() * 3, u)).min()) == 1.0
