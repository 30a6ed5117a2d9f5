"""Graphs in ``.npz`` files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from magnet.datasets import image_graph, synthetic
from magnet.datasets.npz import load_graph, save_graph


@pytest.mark.parametrize("dense", [True, False])
def test_a_graph_comes_back_with_what_was_saved_beside_it(dense: bool, tmp_path: Path) -> None:
    data = synthetic(nodes=60, features=12, seed=0, dense=dense)
    data.name = "made up"
    save_graph(tmp_path / "g.npz", data, cells=np.eye(3))
    again, extra = load_graph(tmp_path / "g.npz")
    assert again.x.layout == data.x.layout
    assert torch.equal(again.x.to_dense(), data.x.to_dense())
    for name in ("edge_index", "y", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(again[name], data[name])
    assert again.name == "made up"
    assert list(extra) == ["cells"]
    assert (extra["cells"] == np.eye(3)).all()


def test_a_picture_keeps_its_grid_and_has_no_labels(tmp_path: Path) -> None:
    save_graph(tmp_path / "g.npz", image_graph(np.zeros((16, 24))))
    again, _ = load_graph(tmp_path / "g.npz")
    assert again.grid == (2, 3)
    assert again.get("y") is None


def test_a_file_that_was_cut_is_named(tmp_path: Path) -> None:
    path = tmp_path / "g.npz"
    save_graph(path, synthetic(nodes=60, features=12))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"damaged file .*g\.npz"):
        load_graph(path)
