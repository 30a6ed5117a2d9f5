from __future__ import annotations

import time

import numpy as np
import pytest
import torch

from magnet.datasets import homophily, synthetic


@pytest.mark.parametrize("degree", ["uniform", "power"])
@pytest.mark.parametrize("wanted", [0.2, 0.5, 0.9])
def test_homophily_and_edges_are_as_asked(degree: str, wanted: float) -> None:
    data = synthetic(5000, 8, classes=4, average_degree=8, homophily=wanted, degree=degree)  # type: ignore[arg-type]
    assert homophily(data) == pytest.approx(wanted, abs=0.015)
    assert data.edge_index.shape[1] == 40000
    assert data.is_undirected()
    assert data.is_coalesced()
    assert not data.has_self_loops()


def test_power_law_degrees_have_hubs() -> None:
    uniform, power = (synthetic(20000, 4, degree=d) for d in ("uniform", "power"))  # type: ignore[arg-type]
    largest = [int(torch.bincount(data.edge_index[0]).max()) for data in (uniform, power)]
    assert largest[0] < 40
    assert largest[1] > 200


def test_kinds_of_features() -> None:
    binary, counts, continuous = (
        synthetic(800, 60, kind=k).x  # type: ignore[arg-type]
        for k in ("binary", "counts", "continuous")
    )
    assert sorted(binary.unique().tolist()) == [0.0, 1.0]
    assert torch.equal(counts, counts.round())
    assert float(counts.max()) > 1
    assert counts.sum(1).mean() == pytest.approx(20, abs=0.5)
    assert continuous.min() < -1
    mixed = synthetic(800, 60, kind="mixed").x
    assert sorted(mixed[:, :20].unique().tolist()) == [0.0, 1.0]
    assert torch.equal(mixed[:, 20:40], mixed[:, 20:40].round())
    assert not torch.equal(mixed[:, 40:], mixed[:, 40:].round())


@pytest.mark.parametrize("kind", ["binary", "continuous"])
def test_signal_decides_what_features_say_about_the_class(kind: str) -> None:
    def between(signal: float) -> float:
        data = synthetic(2000, 40, kind=kind, signal=signal)  # type: ignore[arg-type]
        means = np.stack([data.x[data.y == c].numpy().mean(0) for c in range(5)])
        return float(means.var(0).sum() / data.x.numpy().var(0).sum())

    assert between(0.0) < 0.01
    assert between(0.8) > 0.1


def test_seed_decides_everything() -> None:
    one, same, other = (synthetic(300, 10, seed=s) for s in (3, 3, 4))
    for key in ("x", "edge_index", "y", "train_mask"):
        assert torch.equal(one[key], same[key])
    assert not torch.equal(one.edge_index, other.edge_index)


def test_sparse_features_are_the_same() -> None:
    sparse, dense = synthetic(200, 50, dense=False), synthetic(200, 50)
    assert sparse.x.layout == torch.sparse_csr
    assert torch.equal(sparse.x.to_dense(), dense.x)


@pytest.mark.slow
def test_a_million_nodes_in_under_a_minute() -> None:
    start = time.perf_counter()
    data = synthetic(1_000_000, 32, classes=10, average_degree=4)
    assert time.perf_counter() - start < 60
    assert data.edge_index.shape[1] == 4_000_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nodes": 1}, "at least 2, 1 and 1 are needed"),
        ({"homophily": 1.2}, "homophily is 1.2"),
        ({"average_degree": 900}, "average_degree is 900"),
        ({"kind": "words"}, "kind is 'words'"),
        ({"degree": "heavy"}, "degree is 'heavy'"),
        ({"signal": -1}, "signal is -1"),
        ({"nodes": 12, "classes": 6, "homophily": 1.0, "average_degree": 2}, "12 edges do not fit"),
    ],
)
def test_bad_options_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        synthetic(**options)  # type: ignore[arg-type]
