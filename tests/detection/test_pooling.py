"""Opinions about what a cell holds, made one."""

import numpy as np
import pytest
import torch

from magnet.detection.pooling import Pool, fit_pools


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
    pool = Pool(torch.tensor([1.0, 1.0, -30.0]), torch.tensor([0.5, 0.5]))
    chance = pool.chance(torch.tensor([[[0.9, 0.9], [0.1, 0.1]]]))
    assert chance[0].tolist() == pytest.approx([0.81 / 0.82, 0.01 / 0.82])
    noisy = Pool(torch.tensor([1.0, 1.0, 0.0]), torch.tensor([0.2, 0.8]))
    assert noisy.chance(torch.tensor([[[0.9, 0.9], [0.1, 0.1]]]))[0, 1] == pytest.approx(0.5 * 0.01 / 0.82 + 0.4)


def test_fitted_chances_are_those_that_occur() -> None:
    opinions, values = opinions_and_values(noise=0.1)
    chance = fit_pools([opinions], [values], wrong=0.0)[0].chance(opinions)
    assert chance.sum(dim=1).numpy() == pytest.approx(1.0, abs=1e-5)
    both = (opinions[:, :, 1] > 0.5) & (opinions[:, :, 2] > 0.5)  # both predictors say this value
    expected, happened = chance[both].mean(), (torch.nn.functional.one_hot(values, 3)[both] > 0).float().mean()
    assert float(expected) == pytest.approx(float(happened), abs=0.01)


def test_what_is_known_to_be_wrong_is_not_held_to_be_noise() -> None:
    opinions, values = opinions_and_values(noise=0.03)
    for wrong, low, high in ((0.0, 0.02, 0.05), (0.02, 0.003, 0.02), (0.04, 0.0, 0.005)):
        pool = fit_pools([opinions], [values], wrong)[0]
        assert low < float(torch.sigmoid(pool.weights[-1])) < high
