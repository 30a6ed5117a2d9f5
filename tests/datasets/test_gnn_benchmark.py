"""Amazon-Computers and Coauthor-CS against PyG's loaders."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from torch_geometric.datasets import Amazon, Coauthor

from magnet.datasets import load


@pytest.mark.data
def test_amazon_equals_the_pyg_loader(raw_data: Path, tmp_path: Path) -> None:
    shutil.copytree(raw_data / "Amazon/Computers", tmp_path / "Computers")
    theirs, ours = Amazon(str(tmp_path), "Computers")[0], load("amazon-computers")
    assert torch.equal(ours.x, theirs.x)
    assert torch.equal(ours.y, theirs.y)
    assert torch.equal(ours.edge_index, theirs.edge_index)


@pytest.mark.data
@pytest.mark.slow
def test_coauthor_equals_the_pyg_loader(raw_data: Path, tmp_path: Path) -> None:
    shutil.copytree(raw_data / "Coauthor/CS", tmp_path / "CS")
    theirs, ours = Coauthor(str(tmp_path), "CS")[0], load("coauthor-cs")
    assert ours.x.layout == torch.sparse_csr
    assert torch.equal(ours.x.to_dense(), theirs.x)
    assert torch.equal(ours.edge_index, theirs.edge_index)
    assert torch.equal(ours.y, theirs.y)
    assert torch.bincount(ours.y[ours.train_mask]).tolist() == [20] * 15
