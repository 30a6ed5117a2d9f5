from types import SimpleNamespace

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

import magnet
from magnet.graph import Graph


def test_path_of_three_nodes_by_hand():
    g = Graph.from_edges([[0, 1], [1, 2]], num_nodes=3)
    r = 1 / np.sqrt(2)
    assert np.allclose(g.normalized.toarray(), [[0, r, 0], [r, 0, r], [0, r, 0]])
    assert np.allclose(g.laplacian.toarray(), np.eye(3) - g.normalized.toarray())
    # with lambda_max = 2 the shifted operator is -A_hat and stores no diagonal
    assert np.allclose(g.shifted.toarray(), -g.normalized.toarray())
    assert g.shifted.nnz == 4


def test_directed_duplicate_and_loop_edges_are_merged():
    g = Graph.from_edges([[0, 1, 0, 2, 2], [1, 0, 1, 2, 1]], num_nodes=3, edge_weight=[1.0, 5.0, 2.0, 9.0, 3.0])
    assert g.adjacency.toarray().tolist() == [[0, 5, 0], [5, 0, 3], [0, 3, 0]]
    assert g.num_edges == 2


def test_isolated_node_has_zero_laplacian_and_weight_one():
    g = Graph.from_edges([[0], [1]], num_nodes=3, edge_weight=[4.0])
    assert g.laplacian.toarray()[2].tolist() == [0, 0, 0]
    assert g.degree_weights.tolist() == [4, 4, 1]
    assert g.components.tolist() == [0, 0, 1]


def test_an_edge_of_weight_zero_is_no_edge():
    g = Graph.from_edges([[0, 1], [1, 2]], num_nodes=3, edge_weight=[1.0, 0.0])
    assert g.isolated.tolist() == [False, False, True]


def test_homophily_is_compared_with_chance():
    rng = np.random.default_rng(0)
    edges, y = rng.integers(0, 2000, (2, 20000)), rng.choice(3, 2000, p=[0.7, 0.2, 0.1])
    graph = Graph.from_edges(edges, 2000)
    assert graph.adjusted_homophily(y) == pytest.approx(0.0, abs=0.03)  # 54 % of the edges join the same class
    assert Graph.from_edges(edges[:, y[edges[0]] == y[edges[1]]], 2000).adjusted_homophily(y) == pytest.approx(1.0)
    known = np.where(np.arange(2000) < 1000, y, -1)
    inside = Graph.from_edges(edges[:, (edges < 1000).all(axis=0)], 2000)
    assert graph.adjusted_homophily(known) == pytest.approx(inside.adjusted_homophily(y))
    assert graph.adjusted_homophily(np.full(2000, -1)) == 0.0


def test_lanczos_bounds_the_spectrum_from_above_and_closely():
    rng = np.random.default_rng(1)
    g = Graph.from_edges(rng.integers(0, 200, (2, 900)), num_nodes=200)
    largest = np.linalg.eigvalsh(g.laplacian.toarray())[-1]
    assert largest <= g.estimate_lambda_max() <= 1.03 * largest
    assert Graph.from_edges([[0], [1]], 2, lambda_max="lanczos").lambda_max == 2.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"edge_index": SimpleNamespace(edge_index=[[0], [1]])}, "SimpleNamespace; give its edge_index"),
        ({"edge_index": [[0, 1]], "num_nodes": 2}, r"edge_index has shape \(1, 2\)"),
        ({"edge_index": [[0.5], [1.0]], "num_nodes": 2}, "edge_index has dtype float64"),
        ({"edge_index": [[0], [3]], "num_nodes": 3}, "edge_index holds node 3; nodes are 0 to 2"),
        ({"edge_index": [[-1], [0]], "num_nodes": 3}, "edge_index holds node -1"),
        ({"edge_index": np.zeros((2, 0), int)}, "num_nodes is 0: the graph is empty"),
        ({"edge_index": [[0], [1]], "edge_weight": [-1.0]}, "edge_weight holds -1.0"),
        ({"edge_index": [[0], [1]], "edge_weight": [np.nan]}, "edge_weight holds nan"),
        ({"edge_index": [[0], [1]], "edge_weight": [1.0, 2.0]}, r"edge_weight has shape \(2,\)"),
        ({"edge_index": [[0], [1]], "lambda_max": -1.0}, "lambda_max is -1.0"),
    ],
)
def test_bad_edges_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Graph.from_edges(**arguments)


def test_graphs_of_networkx_and_scipy_are_taken_wherever_ours_are():
    ours = Graph.from_edges([[0, 1, 2], [1, 2, 3]], num_nodes=5, edge_weight=[1.0, 2.0, 3.0])
    theirs = networkx.Graph()
    theirs.add_nodes_from("abcde")
    theirs.add_weighted_edges_from([("a", "b", 1.0), ("b", "c", 2.0), ("c", "d", 3.0)])
    matrix = networkx.to_scipy_sparse_array(theirs)
    x = torch.arange(10.0).reshape(5, 2)
    for graph in (theirs, networkx.DiGraph(theirs), matrix, sp.coo_matrix(matrix), ours):
        assert (Graph.of(graph).adjacency != ours.adjacency).nnz == 0
        assert (Graph.from_edges(graph).adjacency != ours.adjacency).nnz == 0
        transform = magnet.FrameletTransform(graph)
        assert torch.equal(transform.analysis(x), magnet.FrameletTransform(ours).analysis(x))
        assert torch.equal(magnet.propagate(x, None, graph).x, magnet.propagate(x, None, ours).x)


def test_data_may_hold_a_networkx_or_scipy_graph():
    data = magnet.datasets.synthetic(nodes=120, features=12, classes=2, seed=0)
    ones = np.ones(data.num_edges)
    matrix = sp.csr_matrix((ones, data.edge_index.numpy()), shape=(120, 120))
    graph = networkx.from_scipy_sparse_array(matrix)
    wanted = magnet.MAGnet().fit(data).x_
    judged = magnet.detection.make("auto", seed=0).fit(data).node_scores_
    classified = magnet.MAGnetClassifier("gcn", epochs=5, device="cpu").fit(data).predict()
    for given in (matrix, graph):
        other = data.clone()
        other.edge_index = given
        assert torch.equal(magnet.MAGnet().fit(other).x_, wanted)
        assert torch.equal(magnet.detection.make("auto", seed=0).fit(other).node_scores_, judged)
        found = magnet.MAGnetClassifier("gcn", epochs=5, device="cpu").fit(other)
        assert np.array_equal(found.predict(other), classified)


def test_what_is_no_graph_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="graph is a list; it must be a Graph"):
        Graph.of([[0], [1]])
    with pytest.raises(ValueError, match=r"graph is a matrix of shape \[2, 3\]"):
        Graph.of(sp.csr_matrix((2, 3)))
    with pytest.raises(ValueError, match="edge_weight belongs to the csr_matrix"):
        Graph.from_edges(sp.csr_matrix((2, 2)), edge_weight=[1.0])
    with pytest.raises(ValueError, match="num_nodes is 3; the given graph has 2 nodes"):
        Graph.from_edges(sp.csr_matrix((2, 2)), num_nodes=3)
