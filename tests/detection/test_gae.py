"""The paper's autoencoder."""

from __future__ import annotations

import pytest
import torch

from magnet import datasets
from magnet.detection.data.read import read_data
from magnet.detection.gae import GAE, Autoencoder, reconstruction_loss


@pytest.fixture(scope="module")
def data():
    return datasets.synthetic(150, 40, 3, 6.0, 0.9, signal=0.8, seed=0)


@pytest.mark.parametrize("loss", ["mse", "mae"])
def test_training_reconstructs_and_tau_decides(data, loss):
    short, long = (GAE(loss=loss, epochs=epochs, learning_rate=0.01).fit(data) for epochs in (2, 150))
    assert long.loss_ < 0.8 * short.loss_
    error = (data.x - long.reconstruction_).abs()
    torch.testing.assert_close(long.scores_, error)
    assert torch.equal(long.trust_, (error <= 0.1).float())
    strict = GAE(loss=loss, epochs=2, tau=1e-6).fit(data)
    assert float(strict.trust_.mean()) < 0.05


def test_flags_need_a_row_that_stands_out_unless_tau_is_given(data):
    bad = data.clone()
    bad.x = data.x.clone()
    bad.x[:3] += 2
    paper, ours = (GAE(epochs=60, learning_rate=0.01, tau=tau).fit(bad) for tau in (0.1, None))
    assert torch.equal(paper.trust_, ours.trust_)
    assert torch.equal(paper.flagged_, paper.trust_ == 0)
    assert float(paper.flagged_nodes_.float().mean()) == 1
    assert float(ours.flagged_nodes_.float().mean()) < 0.1
    assert bool(ours.flagged_nodes_[:3].all())


def test_loss_over_ranges_of_columns_is_the_loss(data):
    prepared = read_data(data)
    torch.manual_seed(0)
    network = Autoencoder(40, 8, 0.0)
    code = torch.randn(150, 8, requires_grad=True)
    whole = reconstruction_loss(network, code, prepared, [(0, 40, data.x)], "mse")
    (gradient,) = torch.autograd.grad(whole, code)
    pieces = reconstruction_loss(
        network, code, prepared, [(0, 15, data.x[:, :15]), (15, 16, None), (16, 40, None)], "mse"
    )
    torch.testing.assert_close(pieces, whole)
    torch.testing.assert_close(torch.autograd.grad(pieces, code)[0], gradient)
    expected = (network.reconstruct(code, 0, 40) - data.x).norm(dim=1).mean()
    torch.testing.assert_close(whole, expected)


def test_sparse_features_train_like_dense_ones(data):
    sparse = data.clone()
    sparse.x = data.x.to_sparse_csr()
    a, b = GAE(epochs=5).fit(data), GAE(epochs=5).fit(sparse)
    torch.testing.assert_close(a.node_scores_, b.node_scores_, atol=1e-3, rtol=1e-3)


def test_large_graphs_train_ten_times_as_long(data, monkeypatch):
    counted = []
    monkeypatch.setattr("magnet.detection.gae.track", lambda items, *_: counted.append(len(items)) or items[:1])
    GAE().fit(data)
    monkeypatch.setattr("magnet.detection.gae.LARGE_NODES", 100)
    with pytest.warns(UserWarning, match="10000 epochs on graphs of 100 nodes"):
        GAE().fit(data)
    assert counted == [1000, 10_000]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_replayed_steps_train_like_plain_ones(data, monkeypatch):
    replayed = GAE(epochs=40, dropout=0.0, device="cuda").fit(data)
    monkeypatch.setattr("magnet.detection.gae.recorded", lambda step: step)
    plain = GAE(epochs=40, dropout=0.0, device="cuda").fit(data)
    assert replayed.loss_ == pytest.approx(plain.loss_, rel=1e-4)
    torch.testing.assert_close(replayed.node_scores_, plain.node_scores_, rtol=1e-3, atol=1e-3)
