"""What every detector promises: shapes, ranges, reproducibility, and that odd graphs do not stop it."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from magnet import corruption, datasets, detection

QUICK = {"gae": {"epochs": 5}}


def fitted(name: str, data: Data, columns=None, trusted=None, **options):
    return detection.make(name, **QUICK.get(name, {}), **options).fit(data, columns, trusted)


@pytest.fixture(scope="module")
def replaced():
    data = datasets.synthetic(800, 120, 4, 8.0, 0.85, signal=0.7, seed=2)
    return corruption.inject_attributes(data, ratio=0.3, candidates=1, select="random", seed=0)


@pytest.mark.parametrize("name", detection.names())
def test_results_have_their_shapes_and_ranges(name, replaced):
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
def test_twice_gives_the_same(name, replaced):
    first, second = fitted(name, replaced.data, seed=3), fitted(name, replaced.data, seed=3)
    assert torch.equal(first.node_scores_, second.node_scores_)
    assert torch.equal(first.scores_, second.scores_)


@pytest.mark.parametrize("name", detection.names())
@pytest.mark.parametrize("nodes", [1, 3])
def test_tiny_graphs(name, nodes):
    edges = torch.tensor([[0, 1], [1, 2]]) if nodes == 3 else torch.zeros(2, 0, dtype=torch.long)
    det = fitted(name, Data(x=torch.arange(2.0 * nodes).reshape(nodes, 2), edge_index=edges))
    assert det.scores_.shape == (nodes, 2)
    assert bool(torch.isfinite(det.probability_).all())


@pytest.mark.parametrize("name", detection.names())
def test_isolated_nodes_constant_columns_weights_and_direction(name):
    torch.manual_seed(0)
    x = torch.randn(60, 5)
    x[:, 2] = 7.0
    edge_index = torch.randint(0, 50, (2, 150))
    data = Data(x=x, edge_index=edge_index, edge_weight=torch.rand(150))
    det = fitted(name, data)
    assert bool(torch.isfinite(det.probability_).all())
    assert not bool(det.flagged_[:, 2].any()) or name in ("gae", "rowsum", "row-residual", "cosine", "cosine-centred")


@pytest.mark.parametrize("name", ["auto", "context", "cell", "zscore", "fp-residual"])
def test_missing_cells_carry_no_evidence(name):
    data = datasets.synthetic(300, 12, 3, 8.0, 0.9, "continuous", signal=2.0, seed=1)
    hole = torch.rand(data.x.shape, generator=torch.Generator().manual_seed(0)) < 0.1
    data.x = data.x.masked_fill(hole, float("nan"))
    det = fitted(name, data)
    assert bool(torch.isfinite(det.probability_).all())
    assert not bool(det.flagged_[hole].any())
    assert float(det.trust_[hole].max()) == 0.0


@pytest.mark.parametrize("name", ["auto", "context", "cell", "zscore", "gae"])
def test_trusted_cells_are_never_flagged(name, replaced):
    trusted = torch.zeros(replaced.data.x.shape, dtype=torch.bool)
    trusted[:, ::3] = True
    trusted[:100] = True
    det = fitted(name, replaced.data, trusted=trusted)
    assert not bool(det.flagged_[trusted].any())
    assert float(det.probability_[trusted].max()) == 0.0
    assert float(det.trust_[trusted].min()) == 1.0
    rows = fitted(name, replaced.data, trusted=torch.arange(800) < 100)
    assert not bool(rows.flagged_[:100].any())


def test_trusted_rows_count_as_evidence(replaced):
    """Knowing the right rows must not make the others harder to find."""
    plain = fitted("context", replaced.data)
    told = fitted("context", replaced.data, trusted=~replaced.nodes & (torch.arange(800) % 2 == 0))
    hidden = replaced.nodes | (torch.arange(800) % 2 == 1)
    area = lambda det: detection.areas(replaced.nodes[hidden], det.node_scores_[hidden])[0]  # noqa: E731
    assert area(told) > area(plain) - 0.005


@pytest.mark.parametrize("name", ["auto", "context", "cell", "zscore", "cosine-centred", "rowsum", "duplicates"])
def test_sparse_input_gives_the_dense_answer_and_stays_sparse(name, replaced):
    sparse = replaced.data.clone()
    sparse.x = replaced.data.x.to_sparse_csr()
    options = {"rounds": 1} if name == "cell" else {}
    dense_det, sparse_det = fitted(name, replaced.data, **options), fitted(name, sparse, **options)
    assert sparse_det.scores_.layout == torch.sparse_csr
    if name != "auto":  # the second round of the cells needs a dense table
        torch.testing.assert_close(sparse_det.node_probability_, dense_det.node_probability_, atol=2e-3, rtol=0)
        stored = replaced.data.x != 0
        got = sparse_det.probability_.to_dense()[stored]
        torch.testing.assert_close(got, dense_det.probability_[stored], atol=2e-3, rtol=0)


def test_thresholds(replaced):
    rows = {c: fitted("context", replaced.data, contamination=c).flagged_rows().float().mean() for c in (0.05, 0.2)}
    assert abs(float(rows[0.05]) - 0.05) < 0.02
    assert abs(float(rows[0.2]) - 0.2) < 0.05
    strict, loose = (fitted("context", replaced.data, fdr=q).flagged_rows() for q in (0.02, 0.3))
    assert bool((loose | ~strict).all())
    assert int(strict.sum()) < int(loose.sum())
    wrong = float((~replaced.nodes[loose]).float().mean())
    assert wrong < 0.45
    cells = fitted("zscore", datasets.synthetic(200, 10, kind="continuous"), contamination=0.01)
    assert int(cells.flagged_.sum()) <= 25


def test_like_uses_the_fitted_scales_and_threshold():
    data = datasets.synthetic(300, 6, 3, 8.0, 0.9, "continuous", signal=2.0, seed=1)
    other = data.clone()
    other.x = data.x * 10 + 3
    first = fitted("zscore", data, contamination=0.02)
    again = detection.make("zscore").fit(other, like=first)
    assert again.threshold_ == first.threshold_
    assert torch.equal(again.scales_.centre, first.scales_.centre)
    assert float(again.scores_.median()) > 3 * float(first.scores_.median())
    with pytest.raises(ValueError, match="knows 6 features"):
        detection.make("zscore").fit(datasets.synthetic(100, 7, kind="continuous"), like=first)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": None}, "data.x is missing"),
        ({"x": torch.zeros(3)}, "shape"),
        ({"x": torch.tensor([[float("inf")], [0.0]])}, "inf at node 0, feature 0"),
        ({"edge_index": None}, "no edge_index"),
    ],
)
def test_bad_data_is_named(change, message):
    parts = {"x": torch.zeros(2, 1), "edge_index": torch.tensor([[0], [1]])} | change
    with pytest.raises(ValueError, match=message):
        detection.make("zscore").fit(Data(**parts))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("nothing", {}, "there is no detector 'nothing'"),
        ("context", {"depth": 3}, "depth"),
        ("auto", {"fdr": 2.0}, "fdr is 2.0"),
        ("auto", {"fdr": 0.1, "contamination": 0.1}, "give one of them"),
        ("gae", {"loss": "huber"}, "loss is 'huber'"),
    ],
)
def test_bad_options_are_named(name, options, message):
    with pytest.raises(ValueError, match=message):
        detection.make(name, **options)


@pytest.mark.parametrize(("shape", "message"), [((5,), "trusted has shape"), ((4, 9), "trusted has shape")])
def test_bad_trusted(shape, message):
    data = datasets.synthetic(100, 4)
    with pytest.raises(ValueError, match=message):
        detection.make("zscore").fit(data, trusted=torch.zeros(shape, dtype=torch.bool))


def test_repr_shows_what_was_changed():
    assert repr(detection.make("context", rounds=2)) == "Context(rounds=2)"
    assert repr(detection.make("auto")) == "Auto()"


def test_progress_bar_is_shown_on_request(replaced, capsys):
    fitted("context", replaced.data, progress=True, rounds=1)
    assert "comparing rows" in capsys.readouterr().out


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", detection.names())
def test_cuda_gives_the_same_answers(name, replaced):
    host, device = fitted(name, replaced.data), fitted(name, replaced.data, device="cuda")
    assert device.node_scores_.device.type == "cpu"
    if name == "gae":  # other random numbers for dropout
        return
    torch.testing.assert_close(host.node_probability_, device.node_probability_, atol=5e-3, rtol=0)
    torch.testing.assert_close(host.probability_, device.probability_, atol=5e-3, rtol=0)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("data", ["table", "sparse"])
@pytest.mark.parametrize("name", ["auto", "cell", "context"])
def test_cuda_gives_the_same_answers_for_tables_and_sparse_features(name, data):
    if data == "table":
        bad = corruption.corrupt(datasets.load("digits"), "cells-outlier", node_share=0.2, ratio=0.05).data
    else:
        graph = datasets.synthetic(600, 200, 4, 8.0, 0.8, seed=0)
        bad = corruption.corrupt(graph, "cells-flip", node_share=0.2, ratio=0.02).data
        bad.x = bad.x.to_sparse_csr()
    host, device = fitted(name, bad), fitted(name, bad, device="cuda")
    torch.testing.assert_close(host.node_probability_, device.node_probability_, atol=5e-3, rtol=0)
    assert (host.flagged_ != device.flagged_).float().mean() < 1e-3
