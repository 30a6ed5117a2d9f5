"""Rows replaced by rows of other nodes."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from magnet.corruption import inject_attributes, injection
from magnet.datasets import load


def graph(nodes: int = 60, columns: int = 12, seed: int = 0) -> Data:
    x = torch.rand(nodes, columns, generator=torch.Generator().manual_seed(seed))
    return Data(x=x, edge_index=torch.tensor([[0, 1], [1, 0]]))


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "ratio", "share"),
    [
        ("cora", 0.05, 0.115),
        ("cora", 0.1, 0.233),
        ("cora", 0.3, 0.628),
        ("cora", 0.5, 0.936),
        ("cora", 0.75, 1.25),
        ("citeseer", 0.5, 0.64),
    ],
)
def test_shares_of_wrong_cells_are_the_papers(name: str, ratio: float, share: float, raw_data: Path) -> None:
    data = load(name)
    shares = [100 * inject_attributes(data, ratio, select="random", seed=s).info["cell_share"] for s in range(4)]
    assert np.mean(shares) == pytest.approx(share, rel=0.04)


def test_the_farthest_candidate_is_copied() -> None:
    data = graph()
    bad = inject_attributes(data, ratio=0.4, candidates=59, replace=False)
    distance = torch.cdist(data.x, data.x)
    touched = bad.nodes.nonzero().ravel()
    assert touched.numel() == 24
    for i in touched:
        assert torch.equal(bad.data.x[i], data.x[distance[i].argmax()])


@pytest.mark.parametrize("binary", [False, True])
def test_sparse_and_dense_paths_choose_alike(binary: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    data = graph(200, 40)
    if binary:
        data.x = (data.x < 0.3).float()
    dense = inject_attributes(data, candidates=20)
    monkeypatch.setattr(injection, "SPARSE_BELOW", 2.0)
    monkeypatch.setattr(injection, "CELLS_PER_BLOCK", 500)
    assert inject_attributes(data, candidates=20).info["checksum"] == dense.info["checksum"]
    sparse = inject_attributes(Data(x=data.x.to_sparse_csr(), edge_index=data.edge_index), candidates=20)
    assert sparse.data.x.layout == torch.sparse_csr
    assert sparse.info["checksum"] == dense.info["checksum"]
    assert torch.equal(sparse.cells, dense.cells)


@pytest.mark.parametrize("select", ["farthest", "random"])
def test_truth_is_exact_and_the_input_untouched(select: str) -> None:
    data = graph()
    before = data.x.clone()
    bad = inject_attributes(data, select=select)  # type: ignore[arg-type]
    assert torch.equal(data.x, before)
    assert torch.equal(bad.cells, bad.data.x != before)
    assert torch.equal(bad.nodes, (bad.data.x != before).any(1))
    assert torch.equal(bad.data.x[~bad.nodes], before[~bad.nodes])
    rows = {tuple(row) for row in before.tolist()}
    assert all(tuple(row) in rows for row in bad.data.x.tolist())


def test_equal_values_in_a_replaced_row_are_not_wrong() -> None:
    data = Data(x=torch.tensor([[1.0, 0.0, 5.0], [1.0, 1.0, 5.0]]), edge_index=torch.zeros(2, 0).long())
    bad = inject_attributes(data, ratio=1.0, replace=False)
    assert bad.cells.tolist() == [[False, True, False], [False, True, False]]


def test_tolerance_decides_what_counts() -> None:
    data = graph()
    strict, loose = inject_attributes(data), inject_attributes(data, tolerance=0.5)
    assert strict.info["checksum"] == loose.info["checksum"]
    assert torch.equal(loose.cells, (loose.data.x - data.x).abs() > 0.5)
    data.name = "pubmed"
    assert inject_attributes(data).info["tolerance"] == 0.005


def test_seed_and_replacement() -> None:
    data = graph(2000, 3)
    one, same, other = (inject_attributes(data, select="random", seed=s) for s in (1, 1, 2))
    assert one.info["checksum"] == same.info["checksum"] != other.info["checksum"]
    assert one.info["node_share"] == pytest.approx(1 - np.exp(-0.5), abs=0.02)
    without = inject_attributes(data, select="random", replace=False)
    assert without.info["node_share"] == 0.5
    assert torch.equal(one.nodes, inject_attributes(data, seed=1).nodes)


def test_every_donor_is_equally_likely() -> None:
    data = Data(x=torch.arange(5.0)[:, None], edge_index=torch.zeros(2, 0).long())
    donors = [int(inject_attributes(data, 1.0, select="random", replace=False, seed=s).data.x[2]) for s in range(800)]
    counts = np.bincount(donors, minlength=5)
    assert counts[2] == 0
    assert counts[[0, 1, 3, 4]].min() > 150


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratio": 0.0}, "ratio is 0.0"),
        ({"ratio": 1.5}, "ratio is 1.5"),
        ({"ratio": float("nan")}, "ratio is nan"),
        ({"candidates": 0}, "at least 1"),
        ({"select": "near"}, "one of 'farthest', 'random'"),
        ({"tolerance": -1.0}, "tolerance is -1.0"),
    ],
)
def test_bad_options_are_named(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        inject_attributes(graph(), **options)  # type: ignore[arg-type]


def test_missing_values_are_refused() -> None:
    data = graph()
    data.x[3, 1] = float("nan")
    with pytest.raises(ValueError, match="missing or infinite"):
        inject_attributes(data)


@pytest.mark.data
@pytest.mark.slow
def test_all_of_coauthor_cs_in_seconds_and_sparse(raw_data: Path) -> None:
    data = load("coauthor-cs")
    start = time.perf_counter()
    bad = inject_attributes(data, candidates=500)
    assert time.perf_counter() - start < 60
    assert bad.data.x.layout == torch.sparse_csr
    clean = data.x.to_dense()
    corrupted = bad.data.x.to_dense()
    assert torch.equal(bad.cells, corrupted != clean)
    moved = bad.nodes.nonzero().ravel()[:200]
    # The farthest of 500 rows is farther away than nearly all rows are.
    gap = (corrupted[moved] - clean[moved]).square().sum(1)
    typical = (
        (clean[torch.randperm(18333, generator=torch.Generator().manual_seed(0))[:200]] - clean[moved]).square().sum(1)
    )
    assert float((gap > typical).float().mean()) > 0.97


@pytest.mark.parametrize("sparse", [False, True])
def test_broken_copies_have_no_twin(sparse: bool) -> None:
    data = graph()
    data.x = torch.where(data.x > 0.5, data.x, torch.zeros(()))
    whole = inject_attributes(data, ratio=0.3, select="random", replace=False)
    if sparse:
        data.x = data.x.to_sparse_csr()
    broken = inject_attributes(data, ratio=0.3, select="random", replace=False, broken=0.2)
    x = broken.data.x.to_dense()
    rows = whole.nodes
    copied, left = whole.data.x[rows], x[rows]
    assert bool(((left == copied) | (left == 0)).all())
    filled, gone = (copied != 0).sum(dim=1), ((copied != 0) & (left == 0)).sum(dim=1)
    assert torch.equal(gone, (0.2 * filled).round().clamp_min(1).long())
    assert torch.equal(x[~rows], whole.data.x[~rows])
