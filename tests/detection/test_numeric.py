"""Densities of right and wrong numbers."""

import math

import pytest
import torch
from torch_geometric.data import Data

from magnet import datasets, detection
from magnet.detection.numeric import log_cauchy, log_wrong, spread_by_level

RNG = torch.Generator().manual_seed(0)


def test_spread_follows_the_level_of_the_prediction() -> None:
    level = torch.rand(8000, 1, generator=RNG)
    noise = torch.randn(8000, 1, generator=RNG)
    u = noise * torch.where(level < 0.25, 3.0, 1.0)
    spread = spread_by_level(u, level)
    wide, narrow = spread[level < 0.24].mean(), spread[level > 0.26].mean()
    assert float(wide / narrow) == pytest.approx(3.0, rel=0.1)
    assert spread_by_level(noise, level).numpy() == pytest.approx(1.0, abs=0.1)


def test_where_wrong_values_lie_is_learned_from_those_that_are_known() -> None:
    z = torch.randn(2000, 2, generator=RNG).clamp(-3.9, 3.9)
    doubt = torch.zeros_like(z)
    z[:40, 0], doubt[:40, 0] = 4.1, 1.0
    z[40, 0] = 4.2  # not found, but where 40 wrong ones are
    learned = log_wrong(z, doubt)
    torch.testing.assert_close(log_wrong(z), log_cauchy(z))
    torch.testing.assert_close(learned[:, 1], log_cauchy(z)[:, 1])
    assert float(learned[40, 0] - log_cauchy(z)[40, 0]) > 2
    grid = torch.linspace(-40, 40, 16001)[:, None]
    known = torch.cat([torch.full((40, 1), 4.1), grid])
    density = log_wrong(known, torch.cat([torch.ones(40, 1), torch.zeros_like(grid)]))[40:].exp()
    assert float(density.sum() * (80 / 16000)) == pytest.approx(
        1 - 0.2 * (1 - 2 / math.pi * math.atan(40 / 3)), abs=0.02
    )


def test_a_cell_does_not_speak_for_its_own_wrongness() -> None:
    z, doubt = torch.zeros(100, 1), torch.zeros(100, 1)
    z[0], doubt[0] = 4.1, 1.0
    torch.testing.assert_close(log_wrong(z, doubt)[0], log_cauchy(z)[0])


def test_heavy_columns_are_left_alone_when_right_and_show_what_is_far_out() -> None:
    """Columns like a Cauchy distribution: no value is impossible by itself, but one a million spreads away is."""
    graph = datasets.synthetic(2000, 16, 4, 8.0, 0.9, seed=0)
    torch.manual_seed(0)
    x = 0.3 * graph.y[:, None] + torch.distributions.StudentT(1.0).sample((2000, 20))
    clean = detection.make("cell").fit(Data(x=x, edge_index=graph.edge_index))
    assert bool(clean._numbers._heavy.all())
    assert clean.flagged_.float().mean() < 1e-3
    x[:40, 3] = 1e6
    found = detection.make("cell").fit(Data(x=x, edge_index=graph.edge_index))
    assert found.scores_[:40, 3].min() > found.scores_[40:].quantile(0.99)
    expected, unusual = found._numbers.expected(torch.arange(40), torch.full((40,), 3))
    assert expected.abs().max() < 10  # in the units of x
    assert unusual.min() > 5
