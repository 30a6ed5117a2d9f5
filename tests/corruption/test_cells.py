from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from magnet.corruption import corrupt_cells
from magnet.datasets import load, synthetic


def graph(kind: str = "binary") -> Data:
    return synthetic(nodes=200, features=50, kind=kind)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["flip", "outlier", "swap", "gaussian"])
def test_sparse_and_dense_agree_and_the_input_stays(kind: str) -> None:
    data = graph()
    before = data.x.clone()
    dense = corrupt_cells(data, 0.1, kind, node_share=0.5)  # type: ignore[arg-type]
    assert torch.equal(data.x, before)
    assert torch.equal(dense.cells, dense.data.x != before)
    sparse_data = Data(x=data.x.to_sparse_csr(), edge_index=data.edge_index)
    sparse = corrupt_cells(sparse_data, 0.1, kind, node_share=0.5)  # type: ignore[arg-type]
    assert sparse.data.x.layout == torch.sparse_csr
    assert torch.equal(sparse.cells, dense.cells)
    assert sparse.info["checksum"] == dense.info["checksum"]


def test_flips_hit_exactly_the_shares_asked_for() -> None:
    bad = corrupt_cells(graph(), 0.04, "flip", node_share=0.3)
    assert torch.bincount(bad.cells.sum(1)).tolist() == [140, 0, 60]
    assert bad.info["node_share"] == 0.3
    assert bad.data.x.unique().tolist() == [0.0, 1.0]


@pytest.mark.data
def test_the_benchmark_case_on_cora(raw_data: Path) -> None:
    bad = corrupt_cells(load("cora"), 0.02, "flip", node_share=0.3)
    assert int(bad.nodes.sum()) == 812
    assert int(bad.cells.sum()) == 812 * 29


def test_outliers_are_far_out_and_noise_has_the_right_size() -> None:
    data = graph("continuous")
    spread = data.x.std(0, correction=0)
    out = corrupt_cells(data, 0.2, "outlier", scale=4)
    moved = ((out.data.x - data.x).abs() / spread)[out.cells]
    assert float(moved.min()) >= 4 - 1e-4
    assert float(moved.max()) <= 8 + 1e-4
    noise = corrupt_cells(data, 0.5, "gaussian", scale=0.5)
    sizes = ((noise.data.x - data.x) / spread)[noise.cells]
    assert float(sizes.std()) == pytest.approx(0.5, rel=0.05)
    assert abs(float(sizes.mean())) < 0.03


def test_a_constant_column_gets_outliers_too() -> None:
    data = Data(x=torch.full((50, 4), 0.1), edge_index=torch.zeros(2, 0).long())
    data.x[:, 0] = torch.arange(50.0)
    bad = corrupt_cells(data, 1.0, "outlier")
    assert bad.cells.all()
    assert float((bad.data.x - data.x).abs().min()) > 1


def test_swap_keeps_the_values_of_every_column() -> None:
    data = graph("continuous")
    bad = corrupt_cells(data, 0.3, "swap")
    assert np.array_equal(np.sort(bad.data.x.numpy(), axis=0), np.sort(data.x.numpy(), axis=0))
    assert bad.info["cell_share"] == pytest.approx(0.3, abs=0.01)


def test_seed() -> None:
    data = graph()
    one, same, other = (corrupt_cells(data, seed=s).info["checksum"] for s in (0, 0, 1))
    assert one == same != other


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratio": 0}, "ratio is 0"),
        ({"node_share": 2.0}, "node_share is 2.0"),
        ({"kind": "melt"}, "kind is 'melt'"),
        ({"kind": "outlier", "scale": float("inf")}, "scale is inf"),
    ],
)
def test_bad_options_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        corrupt_cells(graph(), **options)  # type: ignore[arg-type]


def test_only_binary_features_flip() -> None:
    with pytest.raises(ValueError, match="'flip' needs features that are all 0 or 1"):
        corrupt_cells(graph("continuous"), kind="flip")
