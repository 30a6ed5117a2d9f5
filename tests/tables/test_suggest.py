"""Suggestions from neighbours and from the rest of the row."""

import numpy as np
import pytest
import torch

from magnet.detection import Column
from magnet.graph import Graph
from magnet.tables.suggest import suggest

RNG = np.random.default_rng(0)
ROWS = 600


def ring() -> Graph:
    at = torch.arange(ROWS)
    return Graph.from_edges(torch.stack([at, (at + 1) % ROWS]), ROWS)


def table(noise: float) -> tuple[torch.Tensor, list[Column]]:
    """Two columns that say the same up to noise, and one that has nothing to do with them."""
    first = RNG.normal(size=ROWS)
    x = np.stack([first, first + noise * RNG.normal(size=ROWS), RNG.normal(size=ROWS)], axis=1)
    return torch.from_numpy(x).float(), [Column(name, "continuous", k, k + 1) for k, name in enumerate("abc")]


@pytest.mark.parametrize("noise", [0.05, 0.3])
def test_the_error_that_is_promised_is_the_error_that_is_made(noise: float) -> None:
    x, columns = table(noise)
    trust = torch.ones_like(x)
    hidden = RNG.choice(ROWS, 150, replace=False)
    trust[hidden, 1] = 0
    found = suggest(torch.where(trust > 0, x, torch.full_like(x, torch.nan)), trust, ring(), columns)
    made = 1.4826 * np.median(np.abs((found.x - x)[hidden, 1].numpy()))
    assert made == pytest.approx(noise, rel=0.25)
    assert found.error[1] == pytest.approx(noise, rel=0.15)
    assert np.isnan(found.error[[0, 2]]).all()  # nothing was asked there
    assert torch.equal(found.x[trust > 0], x[trust > 0])


def test_a_column_with_too_few_trusted_cells_takes_what_the_neighbours_say() -> None:
    x, columns = table(0.1)
    trust = torch.ones_like(x)
    trust[20:, 1] = 0
    found = suggest(x, trust, ring(), columns)
    assert np.isnan(found.error[1])
    assert bool(found.x.isfinite().all())
    assert float(found.x[:, 1].max()) <= float(x[:20, 1].max()) + 1e-5
