"""ElasticGNN: its limits and the minimum of its objective."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from magnet import nn
from magnet.graph import Graph
from magnet.nn.sparse import incidence

EDGES = torch.tensor([[0, 1, 2], [1, 2, 3]])

BOTH = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])

WEIGHT = torch.tensor([2.0, 2.0, 0.5, 0.5, 1.0, 1.0])


def test_elastic_without_l1_is_appnp() -> None:
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    smooth = nn.APPNP(5, 3, alpha=1 / 4, steps=9).eval()(x, BOTH, WEIGHT)
    assert torch.allclose(
        nn.ElasticGNN(5, 3, lambda1=0.0, lambda2=3.0, steps=9).eval()(x, BOTH, WEIGHT), smooth, atol=1e-6
    )
    # the general step with lambda1 > 0 for one model and 0 for the other
    both = nn.ElasticGNN(5, 3, lambda1=[0.0, 2.0], lambda2=3.0, steps=9, seeds=[0, 0]).eval()(x, BOTH, WEIGHT)
    assert torch.allclose(both[0], smooth, atol=1e-6)
    assert not torch.allclose(both[1], smooth, atol=1e-2)


@pytest.mark.parametrize("norm", ["l1", "l21"])
def test_elastic_steps_reach_the_minimum_of_their_objective(path: Graph, norm: str, set_identity: Any) -> None:
    h = torch.tensor([[1.0, -2.0], [0.5, 0.0], [3.0, 1.0], [-1.0, 2.0]])
    model = nn.ElasticGNN(2, 2, layers=1, lambda1=0.4, lambda2=0.7, steps=3000, norm=norm).eval()
    set_identity(model)
    delta, smoothness = incidence(path).toarray(), np.eye(4) - path.self_looped.toarray()

    def objective(flat: np.ndarray) -> float:
        f = flat.reshape(4, 2)
        edges = delta @ f
        l1 = np.abs(edges).sum() if norm == "l1" else np.sqrt((edges**2).sum(axis=1)).sum()
        return 0.4 * l1 + 0.35 * np.trace(f.T @ smoothness @ f) + 0.5 * ((f - h.numpy()) ** 2).sum()

    found = model(h, EDGES).detach().double().numpy().ravel()
    best = minimize(objective, found, method="Nelder-Mead", options={"maxiter": 8000, "xatol": 1e-7, "fatol": 1e-10})
    assert objective(found) <= best.fun + 1e-4


def test_elastic_gradient_is_finite_where_nothing_differs() -> None:
    model = nn.ElasticGNN(3, 2, hidden=4, dropout=0.0)
    square = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    model(torch.ones(4, 3), square).sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())
