import numpy as np
import pytest
import torch
from torch_geometric.transforms import FeaturePropagation

from magnet import Graph, propagate


def dense_solution(graph, x, w, lam):
    """(w + lam L) U = w X column by column."""
    L = graph.laplacian.toarray()
    columns = [np.linalg.solve(np.diag(w[:, j]) + lam * L, w[:, j] * x[:, j]) for j in range(x.shape[1])]
    return torch.tensor(np.stack(columns, axis=1))


@pytest.fixture(scope="module")
def graph():
    edges = np.array([[0, 1, 2, 3, 4, 0, 6], [1, 2, 3, 4, 5, 3, 7]])
    return Graph.from_edges(edges, 9, [1.0, 2.0, 1.0, 0.5, 1.0, 1.0, 1.0])


@pytest.fixture
def data(graph):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(9, 4, generator=generator, dtype=torch.float64)
    return x, 0.1 + 0.9 * torch.rand(9, 4, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("lam", [0.1, 1.0, 30.0])
def test_minimises_the_dirichlet_energy(graph, data, lam):
    x, w = data
    r = propagate(x, w, graph, lam=lam, tol=1e-12)
    assert torch.allclose(r.x, dense_solution(graph, x, w, lam), atol=1e-9)
    assert r.converged.all()


def test_the_fixed_point_iteration_goes_to_the_same_point(graph, data):
    x, w = data
    iterated = propagate(x, w, graph, lam=2.0, solver="iterate", max_iter=3000).x
    assert torch.allclose(iterated, propagate(x, w, graph, lam=2.0, tol=1e-12).x, atol=1e-8)


def test_is_feature_propagation_of_pyg():
    rng = np.random.default_rng(0)
    edges = torch.as_tensor(rng.integers(0, 50, (2, 120)))
    edges = torch.cat([edges, edges.flip(0)], dim=1).unique(dim=1)
    edges = edges[:, edges[0] != edges[1]]
    graph = Graph.from_edges(edges, 50)
    x = torch.randn(50, 6)
    missing = torch.rand(50, 6) < 0.5
    # isolated nodes and components without a known cell differ on purpose: PyG makes them 0
    missing[torch.as_tensor(graph.isolated)] = False
    from torch_geometric.data import Data

    data = Data(x=x.masked_fill(missing, torch.nan), edge_index=edges)
    expected = FeaturePropagation(missing_mask=missing)(data).x
    ours = propagate(data.x, (~missing).float(), graph, lam=0.0, solver="iterate").x
    assert torch.allclose(ours, expected, atol=1e-5)
    exact = propagate(data.x, (~missing).float(), graph, lam=0.0, tol=1e-7).x
    longer = FeaturePropagation(missing_mask=missing, num_iterations=5000)(data).x
    assert torch.allclose(exact, longer, atol=1e-3)


def test_feature_propagation_is_the_limit(graph, data):
    x, _ = data
    known = torch.ones_like(x)
    known[[1, 4], 0] = 0
    known[[2, 3], 1] = 0
    limit = propagate(x, known, graph, lam=0.0, tol=1e-12).x
    small = propagate(x, known, graph, lam=1e-7, tol=1e-14, max_iter=5000).x
    assert torch.equal(limit[known > 0], x[known > 0])
    assert torch.allclose(small, limit, atol=1e-5)


def test_isolated_nodes_stay_and_hopeless_components_take_the_median(graph):
    x = torch.tensor([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [90.0], [91.0], [7.0]])
    w = torch.ones(9, 1)
    w[6:] = 0
    for lam in (0.0, 1.0):
        r = propagate(x, w, graph, lam=lam).x
        assert r[6:8].flatten().tolist() == [3.0, 3.0]  # torch's median of 1..6 is the lower middle one
        assert r[8].item() == 7.0


def test_degree_coordinates_average_and_keep_constants(graph):
    x = torch.full((9, 1), 5.0)
    x[2] = float("nan")
    w = torch.ones(9, 1)
    w[2] = 0
    assert torch.allclose(propagate(x, w, graph, lam=0.0, coordinates="degree").x, torch.full((9, 1), 5.0))
    path = Graph.from_edges([[0, 1], [1, 2]], 3)
    middle = propagate(torch.tensor([[1.0], [0.0], [4.0]]), torch.tensor([1.0, 0.0, 1.0]), path, lam=0.0)
    assert middle.x[1].item() == pytest.approx(5 / np.sqrt(2), rel=1e-5)  # plain: sum / sqrt(d_i d_j)


def test_propagation_is_differentiable(graph, data):
    x, w = data

    def smooth(x, w):
        return propagate(x, w, graph, lam=1.0, max_iter=30, tol=0.0).x

    assert torch.autograd.gradcheck(smooth, (x.requires_grad_(), w.requires_grad_()), atol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lam": -1.0}, "lam is -1.0"),
        ({"graph": 3}, "graph is a int"),
        ({"solver": "lu"}, "solver is 'lu'"),
        ({"coordinates": "x"}, "coordinates is 'x'"),
        ({"x": torch.zeros(8, 4)}, "x has 8 rows; the graph has 9 nodes"),
        ({"trust": torch.full((9, 4), 2.0)}, "trust holds 2"),
    ],
)
def test_bad_input_is_named(graph, data, change, message):
    arguments = {"x": data[0], "trust": data[1], "graph": graph} | change
    with pytest.raises(ValueError, match=message):
        propagate(**arguments)
