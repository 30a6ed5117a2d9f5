from __future__ import annotations

import pytest
import torch
import torch_geometric.transforms as T
from torch_geometric.data import Batch, HeteroData

from magnet.corruption import corrupt_cells
from magnet.datasets import synthetic
from magnet.detection import make
from magnet.transforms import Clean


def test_it_cleans_inside_a_pipeline_and_leaves_the_input_alone() -> None:
    data = synthetic(nodes=200, features=20, kind="continuous", seed=0)
    corruption = corrupt_cells(data, ratio=0.05, kind="outlier", scale=8, seed=0)
    bad = corruption.data
    observed = bad.x.clone()
    clean = T.Compose([Clean(keep_trust=True)])(bad)
    assert torch.equal(bad.x, observed)
    before, after = ((x - data.x)[corruption.cells].abs() for x in (observed, clean.x))
    assert float((after < 0.5 * before).float().mean()) > 0.9
    assert torch.equal(clean.x[clean.trust > 0.5], bad.x[clean.trust > 0.5])


def test_detectors_that_are_trained_work_in_it() -> None:
    """A transform computes no gradients, which the paper's detector needs."""
    data = synthetic(nodes=60, features=8, average_degree=4, seed=0)
    cleaned = Clean(detector=make("gae", epochs=2))(data)
    assert cleaned.x.shape == data.x.shape
    assert torch.is_grad_enabled()


def test_a_batch_stays_a_batch() -> None:
    graphs = [synthetic(nodes=100, features=10, kind="continuous", seed=seed) for seed in range(3)]
    graphs[1].x[4, 2] = 1000.0
    batch = Clean()(Batch.from_data_list(graphs))
    members = batch.to_data_list()
    assert [member.num_nodes for member in members] == [100, 100, 100]
    assert abs(float(members[1].x[4, 2])) < 100
    assert float((members[0].x != graphs[0].x).float().mean()) < 0.02


def test_what_cannot_be_cleaned_is_refused() -> None:
    with pytest.raises(ValueError, match="one node type of a HeteroData"):
        Clean()(HeteroData())
    with pytest.raises(TypeError, match="detektor"):
        Clean(detektor="auto")
    with pytest.raises(ValueError, match="unknown detector 'contxt'"):
        Clean(detector="contxt")
    with pytest.raises(ValueError, match="fix is 'none', which is for tables"):
        Clean(fix="none")
    with pytest.raises(ValueError, match="recovery_options: recover got an unexpected keyword argument 'lam'"):
        Clean(recovery="framelet", recovery_options={"lam": 1.0})
    with pytest.raises(ValueError, match="use ToSparseTensor afterwards"):
        Clean()(T.ToSparseTensor()(synthetic(nodes=40, features=4, average_degree=4)))
    assert repr(Clean(recovery="framelet")) == "Clean(recovery='framelet')"
    assert repr(Clean(keep_trust=True, seed=1)) == "Clean(keep_trust=True, seed=1)"
