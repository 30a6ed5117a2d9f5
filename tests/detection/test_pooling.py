"""Opinions about what a cell holds, made one."""

import numpy as np
import pytest
import torch

from magnet.detection.pooling import MISTAKES, Pool, fit_pools


def opinions_and_values(noise: float, cells: int = 4000) -> tuple[torch.Tensor, torch.Tensor]:
    """Three values; two predictors that say 0.8 for the right one independently; a share comes out of the blue."""
    rng = np.random.default_rng(0)
    right = rng.integers(3, size=cells)
    said = np.stack([np.where(rng.random(cells) < 0.8, right, rng.integers(3, size=cells)) for _ in range(2)], axis=1)
    opinions = 0.1 + 0.7 * np.eye(3)[said].transpose(0, 2, 1)
    values = np.where(rng.random(cells) < noise, rng.integers(3, size=cells), right)
    base = np.full((cells, 3, 1), 1 / 3)
    return torch.from_numpy(np.concatenate([base, opinions], axis=2)).float(), torch.from_numpy(values)


def test_pool_multiplies_opinions_and_leaves_the_noise() -> None:
    opinions, value = torch.tensor([[[0.9, 0.9], [0.1, 0.1]]]), torch.tensor([-1])
    chance = Pool(torch.ones(2), torch.tensor([0.5, 0.5]), surprises=0.0, cells=9).chance(opinions, value)
    assert chance[0].tolist() == pytest.approx([0.81 / 0.82, 0.01 / 0.82], abs=1e-4)
    noisy = Pool(torch.ones(2), torch.tensor([0.2, 0.8]), surprises=0.2, cells=9).chance(opinions, value)
    noise = 0.2**3 / (0.2**2 + MISTAKES**2)
    assert noisy[0, 1] == pytest.approx((1 - noise) * 0.01 / 0.82 + noise * 0.8)


def test_fitted_chances_are_those_that_occur() -> None:
    opinions, values = opinions_and_values(noise=0.0)
    chance = fit_pools([opinions], [values])[0].chance(opinions, values)
    assert chance.sum(dim=1).numpy() == pytest.approx(1.0, abs=1e-5)
    both = (opinions[:, :, 1] > 0.5) & (opinions[:, :, 2] > 0.5)  # both predictors say this value
    expected, happened = chance[both].mean(), (torch.nn.functional.one_hot(values, 3)[both] > 0).float().mean()
    assert float(expected) == pytest.approx(float(happened), abs=0.01)


def test_no_opinion_counts_the_wrong_way_round() -> None:
    opinions, values = opinions_and_values(noise=0.0)
    opinions[:, :, 2] = opinions[:, :, 2].flip(1)  # misleading
    weights = fit_pools([opinions], [values])[0].weights
    assert float(weights.min()) >= 0
    assert float(weights[1]) > 0.5


def test_noise_of_a_column_is_what_surprises_the_others() -> None:
    said = torch.full((500, 2, 2), 0.01)
    said[:, 0] = 0.99
    values = torch.zeros(500, dtype=torch.long)
    values[0] = 1
    lonely = fit_pools([said], [values])[0].chance(said, values)[0, 1]
    values[:50] = 1  # a tenth of the column: that is how it is
    common = fit_pools([said], [values])[0].chance(said, values)[0, 1]
    assert lonely < 1e-3 < 0.01 < common


def test_wrong_cells_do_not_make_opinions_vague() -> None:
    opinions, values = opinions_and_values(noise=0.0)
    before = fit_pools([opinions], [values])[0].weights
    sure = (opinions[:, :, 1:].amin(dim=2) > 0.5).any(dim=1).nonzero().flatten()[:60]  # 1.5 % of the column
    values[sure] = (values[sure] + 1) % 3
    pool = fit_pools([opinions], [values])[0]
    assert float(pool.weights[1:].sum()) > 0.7 * float(before[1:].sum())
