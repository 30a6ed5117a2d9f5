"""What every detector promises: shapes, ranges, reproducibility, scikit-learn manners."""

from __future__ import annotations

import pickle

import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from torch_geometric.data import Data

from magnet import corruption, datasets, detection
from magnet.detection.rows.context import Context


@pytest.mark.parametrize("name", detection.names())
def test_results_have_their_shapes_and_ranges(name, replaced, fitted):
    det = fitted(name, replaced.data)
    n, d = replaced.data.x.shape
    for cell in (det.scores_, det.probability_, det.trust_, det.soft_trust_, det.flagged_):
        assert cell.shape == (n, d)
        assert bool(torch.isfinite(cell.float()).all())
    for node in (det.node_scores_, det.node_probability_, det.flagged_nodes_):
        assert node.shape == (n,)
    for p in (det.probability_, det.node_probability_, det.soft_trust_):
        assert float(p.min()) >= 0
        assert float(p.max()) <= 1
    assert set(det.trust_.unique().tolist()) <= {0.0, 1.0}
    assert 0 <= det.share_ <= 1


@pytest.mark.parametrize("name", detection.names())
def test_twice_gives_the_same(name, replaced, fitted):
    first, second = fitted(name, replaced.data, seed=3), fitted(name, replaced.data, seed=3)
    assert torch.equal(first.node_scores_, second.node_scores_)
    assert torch.equal(first.scores_, second.scores_)


@pytest.mark.parametrize("name", detection.names())
@pytest.mark.parametrize("nodes", [1, 3])
def test_tiny_graphs(name, nodes, fitted):
    edges = torch.tensor([[0, 1], [1, 2]]) if nodes == 3 else torch.zeros(2, 0, dtype=torch.long)
    det = fitted(name, Data(x=torch.arange(2.0 * nodes).reshape(nodes, 2), edge_index=edges))
    assert det.scores_.shape == (nodes, 2)
    assert bool(torch.isfinite(det.probability_).all())


@pytest.fixture(scope="module")
def odd_graph():
    """Isolated nodes, a constant column, weights, edges in one direction, and one wild cell."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(60, 5, generator=generator)
    x[:, 2] = 7.0
    x[3, 0] = 90.0
    edge_index = torch.randint(0, 50, (2, 150), generator=generator)
    return Data(x=x, edge_index=edge_index, edge_weight=torch.rand(150, generator=generator))


@pytest.mark.parametrize("name", ["auto", "cell", "zscore", "fp-residual"])
def test_detectors_of_cells_flag_the_wild_cell_and_not_the_constant_column(name, odd_graph, fitted):
    det = fitted(name, odd_graph)
    assert bool(torch.isfinite(det.probability_).all())
    assert bool(det.flagged_[3, 0])
    assert not bool(det.flagged_[:, 2].any())


@pytest.mark.parametrize("name", ["context", "cosine", "cosine-centered", "rowsum", "row-residual", "duplicates"])
def test_detectors_of_rows_distrust_whole_rows(name, odd_graph, fitted):
    det = fitted(name, odd_graph, contamination=0.1)
    flagged = det.swapped_rows_
    assert int(flagged.sum()) == (0 if name == "duplicates" else 6)  # no row occurs twice
    assert torch.equal(det.trust_ == 0, flagged[:, None].expand(60, 5))
    isolated = torch.ones(60, dtype=torch.bool)
    isolated[odd_graph.edge_index.flatten()] = False
    if name not in ("rowsum", "duplicates"):  # these do not look at the graph
        assert not bool(flagged[isolated].any())


def test_the_autoencoder_scores_odd_graphs(odd_graph, fitted):
    det = fitted("gae", odd_graph)
    assert int(det.node_scores_.argmax()) == 3
    assert bool(torch.isfinite(det.probability_).all())


def test_reference_gives_the_scales_and_the_threshold(fitted):
    data = datasets.synthetic(300, 6, 3, 8.0, 0.9, "continuous", signal=2.0, seed=1)
    other = data.clone()
    other.x = data.x * 10 + 3
    first = fitted("zscore", data, contamination=0.02)
    again = detection.make("zscore").fit(other, reference=first)
    assert again.threshold_ == first.threshold_
    assert torch.equal(again.scales_.center, first.scales_.center)
    assert float(again.scores_.median()) > 3 * float(first.scores_.median())
    with pytest.raises(ValueError, match="fitted on 6 features"):
        detection.make("zscore").fit(datasets.synthetic(100, 7, kind="continuous"), reference=first)


def test_repr_shows_what_was_changed():
    assert repr(detection.make("context", rounds=2)) == "Context(rounds=2)"
    assert repr(detection.make("auto")) == "Auto()"


def test_progress_bar_is_shown_on_request(replaced, fitted, capsys):
    fitted("context", replaced.data, progress=True, rounds=1)
    assert "comparing rows" in capsys.readouterr().err


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", detection.names())
def test_cuda_gives_the_same_answers(name, replaced, fitted):
    options = {"dropout": 0.0} if name == "gae" else {}  # a GPU has other random numbers
    host, device = fitted(name, replaced.data, **options), fitted(name, replaced.data, device="cuda", **options)
    assert device.node_scores_.device.type == "cpu"
    torch.testing.assert_close(host.node_probability_, device.node_probability_, atol=5e-3, rtol=0)
    torch.testing.assert_close(host.probability_, device.probability_, atol=5e-3, rtol=0)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("data", ["table", "sparse"])
@pytest.mark.parametrize("name", ["auto", "cell", "context"])
def test_cuda_gives_the_same_answers_for_tables_and_sparse_features(name, data, fitted):
    if data == "table":
        bad = corruption.corrupt(datasets.load("digits"), "cells-outlier", node_share=0.2, ratio=0.05).data
    else:
        graph = datasets.synthetic(600, 200, 4, 8.0, 0.8, seed=0)
        bad = corruption.corrupt(graph, "cells-flip", node_share=0.2, ratio=0.02).data
        bad.x = bad.x.to_sparse_csr()
    host, device = fitted(name, bad), fitted(name, bad, device="cuda")
    torch.testing.assert_close(host.node_probability_, device.node_probability_, atol=5e-3, rtol=0)
    assert (host.flagged_ != device.flagged_).float().mean() < 1e-3


@pytest.mark.parametrize("name", detection.names())
def test_detectors_are_scikit_learn_estimators(name, replaced, fitted):
    detector = detection.make(name, seed=4)
    copy = clone(detector)
    assert type(copy) is type(detector)
    assert copy.get_params() == detector.get_params()
    assert copy.set_params(contamination=0.25).contamination == 0.25
    assert detector.contamination is None
    for attribute in ("scores_", "probability_", "flagged_", "trust_", "node_scores_", "share_", "gate_", "threshold_"):
        with pytest.raises(NotFittedError, match="not fitted"):
            getattr(detector, attribute)
    with pytest.raises(NotFittedError):
        detector.predict(replaced.data)


@pytest.mark.parametrize("name", ["context", "cell", "zscore", "gae"])
def test_fitted_detectors_can_be_stored(name, replaced, fitted):
    det = fitted(name, replaced.data)
    again = pickle.loads(pickle.dumps(det))
    assert torch.equal(again.flagged_, det.flagged_)


def test_the_constructor_only_stores(replaced):
    detector = Context(fdr=7.0)
    assert detector.fdr == 7.0
    with pytest.raises(ValueError, match=r"fdr is 7\.0"):
        detector.fit(replaced.data)


def test_decision_function_and_predict_judge_other_data_by_the_fitted_scales():
    data = datasets.synthetic(300, 6, 3, 8.0, 0.9, "continuous", signal=2.0, seed=1)
    data.x[17, 2] = 60.0
    detector = detection.make("zscore").fit(data)
    assert torch.equal(detector.decision_function(data), detector.node_scores_)
    assert torch.equal(detector.predict(data), detector.flagged_nodes_)
    assert detector.predict(data).nonzero().flatten().tolist() == [17]
    wider = data.clone()
    wider.x = data.x * 100
    assert bool(detector.decision_function(wider).median() > 50 * detector.node_scores_.median())  # fitted scales
    own = detection.make("zscore").fit(wider).node_scores_
    torch.testing.assert_close(own, detector.node_scores_, rtol=1e-3, atol=1e-3)
    assert torch.equal(detector.predict(data), detector.flagged_nodes_)  # the fitted detector is unchanged


@pytest.mark.parametrize("name", ["auto", "context", "cell", "zscore"])
def test_fitted_detectors_can_be_pickled(name, fitted):
    det = fitted(name, datasets.synthetic(200, 30, seed=0))
    again = pickle.loads(pickle.dumps(det))
    assert torch.equal(again.flagged_nodes_, det.flagged_nodes_)
    assert torch.equal(again.probability_, det.probability_)
