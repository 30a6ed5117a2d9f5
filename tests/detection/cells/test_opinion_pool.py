"""Logarithmic opinion pools."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from magnet.detection.cells.opinion_pool import LogOpinionPool, _fit_weights, fit_pools
from magnet.detection.options import DATA, POOL


def predictive_and_values(noise: float, cells: int = 4000) -> tuple[torch.Tensor, torch.Tensor]:
    """Three values; two predictors that say 0.8 for the right one independently; a share of the values is random."""
    rng = np.random.default_rng(0)
    right = rng.integers(3, size=cells)
    said = np.stack([np.where(rng.random(cells) < 0.8, right, rng.integers(3, size=cells)) for _ in range(2)], axis=1)
    predictive = 0.1 + 0.7 * np.eye(3)[said].transpose(0, 2, 1)
    values = np.where(rng.random(cells) < noise, rng.integers(3, size=cells), right)
    base = np.full((cells, 3, 1), 1 / 3)
    return torch.from_numpy(np.concatenate([base, predictive], axis=2)).float(), torch.from_numpy(values)


def test_pool_multiplies_predictive_distributions_and_adds_noise() -> None:
    predictive, value = torch.tensor([[[0.9, 0.9], [0.1, 0.1]]]), torch.tensor([-1])
    pool = LogOpinionPool(torch.ones(2), torch.tensor([0.5, 0.5]), unexpected=0.0, cells=9)
    assert pool.probability(predictive, value)[0].tolist() == pytest.approx([0.81 / 0.82, 0.01 / 0.82], abs=1e-4)
    pool = LogOpinionPool(torch.ones(2), torch.tensor([0.2, 0.8]), unexpected=0.2, cells=9)
    noise = 0.2**3 / (0.2**2 + DATA.max_exceptions**2)
    assert pool.probability(predictive, value)[0, 1] == pytest.approx((1 - noise) * 0.01 / 0.82 + noise * 0.8)


def test_fitted_probabilities_are_the_observed_frequencies() -> None:
    predictive, values = predictive_and_values(noise=0.0)
    probability = fit_pools([predictive], [values])[0].probability(predictive, values)
    assert probability.sum(dim=1).numpy() == pytest.approx(1.0, abs=1e-5)
    both = (predictive[:, :, 1] > 0.5) & (predictive[:, :, 2] > 0.5)  # both predictors say this value
    expected, happened = probability[both].mean(), (torch.nn.functional.one_hot(values, 3)[both] > 0).float().mean()
    assert float(expected) == pytest.approx(float(happened), abs=0.01)


def test_no_predictor_has_a_negative_weight() -> None:
    predictive, values = predictive_and_values(noise=0.0)
    predictive[:, :, 2] = predictive[:, :, 2].flip(1)  # misleading
    weights = fit_pools([predictive], [values])[0].weights
    assert float(weights.min()) >= 0
    assert float(weights[1]) > 0.5


def test_rare_disagreements_are_errors_and_frequent_ones_are_variation() -> None:
    said = torch.full((500, 2, 2), 0.01)
    said[:, 0] = 0.99
    values = torch.zeros(500, dtype=torch.long)
    values[0] = 1
    lonely = fit_pools([said], [values])[0].probability(said, values)[0, 1]
    values[:50] = 1  # a tenth of the column is genuine variation
    common = fit_pools([said], [values])[0].probability(said, values)[0, 1]
    assert lonely < 1e-3 < 0.01 < common


def test_wrong_cells_do_not_make_predictors_vague() -> None:
    predictive, values = predictive_and_values(noise=0.0)
    before = fit_pools([predictive], [values])[0].weights
    sure = (predictive[:, :, 1:].amin(dim=2) > 0.5).any(dim=1).nonzero().flatten()[:60]  # 1.5 % of the column
    values[sure] = (values[sure] + 1) % 3
    pool = fit_pools([predictive], [values])[0]
    assert float(pool.weights[1:].sum()) > 0.7 * float(before[1:].sum())


@pytest.mark.parametrize("strength", [1.0, 20.0])
def test_weights_are_those_of_automatic_differentiation(strength: float) -> None:
    columns = [predictive_and_values(noise=0.0, cells=300), predictive_and_values(noise=0.1, cells=200)]
    predictive, values = [p for p, _ in columns], [v for _, v in columns]
    rates, prior = [torch.tensor([0.2, 0.3, 0.5])] * 2, torch.tensor([0.0, 1.0, 0.0]).double()
    root = prior.clamp_min(0.01).sqrt().requires_grad_(True)
    search = torch.optim.LBFGS([root], max_iter=60, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        search.zero_grad()
        total = 0.5 * strength * (root.square() - prior).square().sum()
        for p, v, b in zip(predictive, values, rates, strict=True):
            pooled = torch.softmax(p.double().log() @ root.square(), dim=1).gather(1, v[:, None])[:, 0]
            total = total - ((1 - POOL.unexplained) * pooled + POOL.unexplained * b.double()[v]).log().sum()
        total.backward()
        return total

    search.step(loss)
    found = _fit_weights(predictive, values, rates, prior.float(), strength)
    torch.testing.assert_close(found, root.detach().square().float(), rtol=1e-6, atol=1e-7)
