from __future__ import annotations

import torch

from magnet.datasets import synthetic
from magnet.graph import Graph
from magnet.recovery import propagate, recover
from magnet.recovery.candidates import framelets, repair_candidates


def test_candidates_are_lazy_in_order_and_keep_what_is_trusted() -> None:
    data = synthetic(nodes=60, features=12, seed=0)
    graph = Graph.from_edges(data.edge_index, data.num_nodes)
    trust = torch.ones_like(data.x)
    trust[::4] = 0
    found = {each.name: each for each in repair_candidates(data.x, graph, trust, trust, lambdas=(1.0, 10.0))}
    assert list(found) == ["as it is", "feature propagation", "propagation 1", "propagation 10", "framelet 1"]
    assert found["as it is"].make() is data.x
    filled = found["feature propagation"].make()
    assert torch.equal(filled[trust == 1], data.x[trust == 1])
    assert not torch.equal(filled[trust == 0], data.x[trust == 0])
    changes = [float((found[f"propagation {lam}"].make() - data.x).norm()) for lam in (1, 10)]
    assert changes[0] < changes[1]
    assert found["framelet 1"].make().shape == data.x.shape
    assert framelets(graph) is framelets(graph)


def test_repairs_in_ranges_of_columns_are_those_of_all_columns_at_once() -> None:
    data = synthetic(nodes=90, features=300, seed=0)
    graph = Graph.from_edges(data.edge_index, data.num_nodes)
    trust = torch.rand(data.x.shape, generator=torch.Generator().manual_seed(0)) > 0.2
    soft = 0.1 + 0.9 * trust.float()
    found = {each.name: each for each in repair_candidates(data.x, graph, trust, soft, lambdas=(10.0,))}
    assert torch.equal(found["feature propagation"].make(), propagate(data.x, trust.float(), graph, lam=0.0).x)
    assert torch.equal(found["propagation 10"].make(), propagate(data.x, soft.square(), graph, lam=10.0).x)
    options = {"max_iter": 20, "start": "propagated", "degree_weights": False, "tol": 0.0, "history": False}
    assert torch.equal(found["framelet 1"].make(), recover(data.x, soft, framelets(graph), strength=1.0, **options).x)
