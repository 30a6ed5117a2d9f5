"""Suggestions from neighbors and from the rest of the row."""

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
def test_the_error_is_that_of_the_column_which_says_the_same(noise: float) -> None:
    x, columns = table(noise)
    trust = torch.ones_like(x)
    hidden = RNG.choice(ROWS, 150, replace=False)
    trust[hidden, 1] = 0
    found = suggest(torch.where(trust > 0, x, torch.full_like(x, torch.nan)), trust, ring(), columns)
    made = 1.4826 * np.median(np.abs((found - x)[hidden, 1].numpy()))
    assert made == pytest.approx(noise, rel=0.25)
    assert torch.equal(found[trust > 0], x[trust > 0])


def test_a_column_with_too_few_trusted_cells_takes_what_the_neighbors_say() -> None:
    x, columns = table(0.1)
    trust = torch.ones_like(x)
    trust[20:, 1] = 0
    found = suggest(x, trust, ring(), columns)
    assert bool(found.isfinite().all())
    assert float(found[:, 1].max()) <= float(x[:20, 1].max()) + 1e-5


def test_squares_of_other_columns_are_used() -> None:
    rng = np.random.default_rng(0)
    one = rng.normal(size=500)
    x = torch.from_numpy(np.stack([one, one**2 - 1], axis=1)).float()
    trust = torch.ones(500, 2)
    trust[:20, 1] = 0
    graph = Graph.from_edges(np.zeros((2, 0), dtype=np.int64), 500)
    columns = [Column("a", "continuous", 0, 1), Column("b", "continuous", 1, 2)]
    found = suggest(x, trust, graph, columns)
    assert float((found[:20, 1] - x[:20, 1]).abs().median()) < 0.1
