"""Each model against numbers worked out by hand, PyG's layers and its analytic limits."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch_geometric.nn import APPNP as PygAPPNP
from torch_geometric.nn import GCNConv

from magnet import nn
from magnet.graph import Graph
from magnet.nn.features import Features
from magnet.nn.sparse import Sparse, incidence, self_looped

EDGES = torch.tensor([[0, 1, 2], [1, 2, 3]])
BOTH = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
WEIGHT = torch.tensor([2.0, 2.0, 0.5, 0.5, 1.0, 1.0])


def set_identity(model: Any) -> None:
    """Every layer multiplies by the identity and adds nothing."""
    with torch.no_grad():
        for layer in model.layers:
            layer.weight.zero_()
            layer.weight[:, 0] = torch.eye(*layer.weight[:, 0].shape)
            layer.bias.zero_()


def test_self_looped_operator_is_the_one_written_out(path: Graph, path_matrix: torch.Tensor) -> None:
    assert np.allclose(self_looped(path).toarray(), path_matrix.numpy(), atol=1e-7)


def test_incidence_squares_to_the_laplacian_with_weights() -> None:
    graph = Graph.from_edges(BOTH, 4, WEIGHT)
    delta = incidence(graph).toarray()
    assert delta.shape == (3, 4)
    assert np.allclose(delta.T @ delta, np.eye(4) - self_looped(graph).toarray())


def test_sparse_product_carries_gradients() -> None:
    dense = torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    import scipy.sparse as sp

    matrix = Sparse.of(sp.csr_matrix(dense.numpy()), torch.zeros(0))
    h = torch.randn(3, 2, 4, requires_grad=True)
    (matrix @ h).square().sum().backward()
    expected = 2 * torch.einsum("ij,ik,ksc->jsc", dense, dense, h.detach())
    assert torch.allclose(h.grad, expected, atol=1e-5)


def test_one_gcn_layer_is_the_operator(path_matrix: torch.Tensor) -> None:
    model = nn.GCN(4, 4, layers=1).eval()
    set_identity(model)
    assert torch.allclose(model(torch.eye(4), EDGES), path_matrix, atol=1e-6)


def test_gcn_equals_two_pyg_layers_on_a_weighted_graph() -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 5)
    model = nn.GCN(5, 3, hidden=6, seeds=7).eval()
    one, two = GCNConv(5, 6), GCNConv(6, 3)
    with torch.no_grad():
        for conv, layer in zip((one, two), model.layers, strict=True):
            conv.lin.weight.copy_(layer.weight[:, 0].T)
            layer.bias.copy_(torch.randn(layer.bias.shape))
            conv.bias.copy_(layer.bias[0, 0])
    expected = two(one(x, BOTH, WEIGHT).relu(), BOTH, WEIGHT)
    assert torch.allclose(model(x, BOTH, WEIGHT), expected, atol=1e-5)


def test_a_tensor_that_changed_is_read_again_and_gradients_reach_the_features(small: Any) -> None:
    data, _ = small
    model = nn.GCN(40, 3, hidden=8).eval()
    x = data.x.clone()
    before = model(x, data.edge_index)
    assert torch.equal(model(x, data.edge_index), before)
    x[:, 0] += 1
    after = model(x, data.edge_index)
    assert not torch.allclose(after, before, atol=1e-3)
    x.requires_grad_()
    model(x, data.edge_index).square().sum().backward()
    assert float(x.grad.abs().sum()) > 0
    assert torch.allclose(model(x, data.edge_index), after, atol=1e-5)


def test_a_trained_model_can_be_copied(small: Any) -> None:
    data, _ = small
    model = nn.GCN(40, 3, hidden=8)
    model(data.x, data.edge_index)
    again = copy.deepcopy(model)
    assert torch.equal(again.eval()(data.x, data.edge_index), model.eval()(data.x, data.edge_index))
    with torch.no_grad():
        again.layers[0].weight.zero_()
    assert not torch.equal(again(data.x, data.edge_index), model(data.x, data.edge_index))


def test_gcn_computes_only_what_is_asked_for(small: Any) -> None:
    data, graph = small
    model = nn.GCN(40, 3, seeds=[0, 1]).eval()
    features = nn.Features.of(data.x, model.like)
    nodes = np.array([3, 77, 140])
    some = model.prepare(features, graph, nodes)
    assert some.features.nodes < 150
    assert torch.allclose(model.compute(some), model.compute(model.prepare(features, graph))[nodes], atol=1e-5)


def test_batch_norm_is_that_of_torch(path: Graph) -> None:
    torch.manual_seed(0)
    h = torch.randn(9, 2, 3)
    ours, theirs = nn.BatchNorm(2, 3), torch.nn.BatchNorm1d(3)
    out = ours(h)
    assert torch.allclose(out[:, 1], theirs(h[:, 1]), atol=1e-5)
    assert torch.allclose(ours.mean[0, 1], theirs.running_mean, atol=1e-6)
    assert torch.allclose(ours.variance[0, 1], theirs.running_var, atol=1e-6)
    ours.eval(), theirs.eval()
    assert torch.allclose(ours(h)[:, 1], theirs(h[:, 1]), atol=1e-5)


def test_three_layer_gcn_with_batch_norm_learns(small: Any) -> None:
    data, graph = small
    model = nn.GCN(40, 3, layers=3, batch_norm=True, hidden=16, seeds=[0, 1])
    fitted = nn.fit(model, data.x, graph, data.y, data.train_mask, data.val_mask, epochs=60)
    assert (fitted.val_accuracy > 0.7).all()


def test_mlp_does_not_look_at_the_graph() -> None:
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    model = nn.MLP(5, 3, hidden=6).eval()
    one, two = model.layers
    expected = (x @ one.weight[:, 0] + one.bias[0]).relu() @ two.weight[:, 0] + two.bias[0]
    assert torch.allclose(model(x, EDGES), expected, atol=1e-6)
    assert torch.equal(model(x, EDGES), model(x, torch.zeros(2, 0, dtype=torch.long)))


def test_appnp_with_alpha_one_is_the_mlp() -> None:
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(nn.APPNP(5, 3, alpha=1.0).eval()(x, EDGES), nn.MLP(5, 3).eval()(x, EDGES), atol=1e-6)


def test_appnp_equals_pyg_and_its_closed_form(path_matrix: torch.Tensor) -> None:
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    h = nn.MLP(5, 3).eval()(x, EDGES)
    model = nn.APPNP(5, 3, alpha=0.2, steps=7).eval()
    assert torch.allclose(model(x, BOTH, WEIGHT), PygAPPNP(7, 0.2)(h, BOTH, WEIGHT), atol=1e-5)
    limit = 0.2 * torch.linalg.inv(torch.eye(4) - 0.8 * path_matrix) @ h
    assert torch.allclose(nn.APPNP(5, 3, alpha=0.2, steps=200).eval()(x, EDGES), limit, atol=1e-5)


@pytest.mark.parametrize("kind", [nn.APPNP, nn.ElasticGNN, nn.AirGNN])
def test_blocks_without_steps_are_an_mlp(kind: Any) -> None:
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    expected = nn.MLP(5, 3, layers=3).eval()(x, EDGES)
    assert torch.allclose(kind(5, 3, blocks=3, steps=0).eval()(x, EDGES), expected, atol=1e-6)
    assert not torch.allclose(kind(5, 3, blocks=3, steps=2).eval()(x, EDGES), expected, atol=1e-2)


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
def test_elastic_steps_reach_the_minimum_of_their_objective(path: Graph, norm: str) -> None:
    h = torch.tensor([[1.0, -2.0], [0.5, 0.0], [3.0, 1.0], [-1.0, 2.0]])
    model = nn.ElasticGNN(2, 2, layers=1, lambda1=0.4, lambda2=0.7, steps=3000, norm=norm).eval()
    set_identity(model)
    delta, smoothness = incidence(path).toarray(), np.eye(4) - self_looped(path).toarray()

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


@pytest.mark.parametrize("kind", [nn.GCN, nn.APPNP, nn.GNNGuard, nn.ElasticGNN, nn.AirGNN])
def test_without_edges_every_model_is_an_mlp(kind: Any) -> None:
    x = torch.rand(5, 4, generator=torch.Generator().manual_seed(0))
    model, perceptron = kind(4, 3, hidden=6).eval(), nn.MLP(4, 3, hidden=6).eval()
    perceptron.load_state_dict(model.state_dict())
    none = torch.zeros(2, 0, dtype=torch.long)
    assert torch.allclose(model(x, none), perceptron(x, none), atol=1e-6)


def test_air_keeps_the_input_near_one_and_smooths_at_zero(path_matrix: torch.Tensor) -> None:
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    h = nn.MLP(5, 3).eval()(x, EDGES)
    assert torch.allclose(nn.AirGNN(5, 3, amplitude=0.999).eval()(x, EDGES), h, atol=1e-6)
    smooth = torch.linalg.matrix_power(path_matrix, 10) @ h
    assert torch.allclose(nn.AirGNN(5, 3, amplitude=0.0).eval()(x, EDGES), smooth, atol=1e-5)


def test_one_step_of_air_by_hand(path_matrix: torch.Tensor) -> None:
    h = torch.tensor([[4.0], [0.0], [0.0], [0.1]])
    model = nn.AirGNN(1, 1, layers=1, amplitude=0.5, steps=1).eval()
    set_identity(model)
    # gamma = 1, so a node moves by 0.5 less than the propagation would move it
    move = path_matrix @ h - h
    expected = h + torch.sign(move) * (move.abs() - 0.5).clamp(min=0)
    assert torch.allclose(model(h, EDGES), expected, atol=1e-6)
    assert expected[3] == h[3]
    assert expected[0] != h[0]


def test_guard_on_features_that_are_alike_is_the_mean_over_the_neighborhood() -> None:
    model = nn.GNNGuard(1, 1, layers=1).eval()
    set_identity(model)
    # alike in direction, so that the guard is the same everywhere while the values differ
    x = torch.tensor([[1.0], [2.0], [3.0], [10.0]])
    expected = torch.tensor([[1.5], [2.0], [5.0], [6.5]])
    assert torch.allclose(model(x, EDGES), expected, atol=1e-6)


def test_guard_by_hand_and_pruned_edges() -> None:
    model = nn.GNNGuard(2, 2, layers=1).eval()
    set_identity(model)
    x = torch.tensor([[1.0, 0.0], [3.0, 4.0], [0.0, 1.0], [-1.0, 0.0]])
    # similarities 0.6 (0-1), 0.8 (1-2), 0 (2-3): the last edge is cut
    expected = torch.stack(
        [
            x[0] / 2 + x[1] / 2,
            x[1] / 3 + (2 / 3) * (0.6 * x[0] + 0.8 * x[2]) / 1.4,
            x[2] / 2 + x[1] / 2,
            x[3],
        ]
    )
    assert torch.allclose(model(x, EDGES), expected, atol=1e-6)


def test_guard_with_full_memory_keeps_the_guard_of_the_first_layer(small: Any) -> None:
    data, graph = small
    model = nn.GNNGuard(40, 3, hidden=8, memory=1.0).eval()
    features = nn.Features.of(data.x, model.like)
    first = model.prepare(features, graph).extra.first
    one, two = model.layers
    expected = two.shifted(first @ two.product((one.shifted(first @ features.linear(one.weight))).relu()))
    assert torch.allclose(model(data.x, data.edge_index), expected[:, 0], atol=1e-5)


def test_guard_forms_no_square_matrix() -> None:
    nodes = 100_000  # a similarity matrix would take 40 GB
    ring = torch.stack([torch.arange(nodes), (torch.arange(nodes) + 1) % nodes])
    x = torch.rand(nodes, 4, generator=torch.Generator().manual_seed(0))
    assert torch.isfinite(nn.GNNGuard(4, 2, hidden=4).eval()(x, ring)).all()


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (nn.GCN, {"hidden": 0}, "hidden"),
        (nn.GCN, {"layers": 0}, "layers is 0"),
        (nn.GCN, {"dropout": [0.5, 0.5]}, "dropout holds 2 numbers; there are 1 models"),
        (nn.APPNP, {"alpha": 1.5}, "alpha is 1.5"),
        (nn.ElasticGNN, {"lambda1": -1.0}, "lambda1 is -1.0"),
        (nn.ElasticGNN, {"norm": "l2"}, "norm is 'l2'"),
        (nn.AirGNN, {"amplitude": 1.0}, "amplitude is 1.0"),
        (nn.GNNGuard, {"memory": 2.0}, "memory is 2.0"),
    ],
)
def test_wrong_arguments_are_named(kind: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(4, 2, **options)


@pytest.mark.parametrize("kind", [nn.AirGNN, nn.ElasticGNN])
def test_neighbors_that_hardly_differ_leave_a_finite_gradient(kind: Any) -> None:
    model = kind(2, 2, hidden=4, steps=2)
    edges = torch.tensor([[0, 1], [1, 0]])
    graph = Graph.from_edges(edges, 2)
    h = torch.tensor([[[1e-22, 0.0]], [[0.0, 1e-22]]], requires_grad=True)
    inputs = model.prepare(Features.of(torch.eye(2), model.like), graph)
    model.propagate(h, inputs).sum().backward()
    assert h.grad is not None
    assert torch.isfinite(h.grad).all()
