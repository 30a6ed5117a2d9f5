"""Wisconsin and Texas against PyG's loader."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from torch_geometric.datasets import WebKB
from torch_geometric.utils import remove_self_loops, to_undirected

from magnet.datasets import load


@pytest.mark.data
@pytest.mark.parametrize("name", ["wisconsin", "texas"])
def test_webkb_equals_the_pyg_loader(name: str, raw_data: Path, tmp_path: Path) -> None:
    shutil.copytree(raw_data / "WebKB" / name, tmp_path / name)
    theirs = WebKB(str(tmp_path), name)[0]
    for split in (0, 7):
        ours = load(name, split=split)
        assert torch.equal(ours.x, theirs.x)
        assert torch.equal(ours.y, theirs.y)
        assert torch.equal(ours.edge_index, to_undirected(remove_self_loops(theirs.edge_index)[0]))
        for part in ("train_mask", "val_mask", "test_mask"):
            assert torch.equal(ours[part], theirs[part][:, split])
