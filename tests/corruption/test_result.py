"""The result of a corruption, and its file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from magnet.corruption import Corruption, corrupt, inject_attributes
from magnet.datasets import load, synthetic


@pytest.mark.parametrize("dense", [True, False])
def test_saved_and_loaded_is_the_same(dense: bool, tmp_path: Path) -> None:
    bad = inject_attributes(synthetic(100, 30, dense=dense), select="random")
    bad.save(tmp_path / "bad.npz")
    again = Corruption.load(tmp_path / "bad.npz")
    assert again.info == bad.info
    assert again.data.x.layout == bad.data.x.layout
    assert torch.equal(again.data.x.to_dense(), bad.data.x.to_dense())
    for key in ("edge_index", "y", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(again.data[key], bad.data[key])
    assert torch.equal(again.cells, bad.cells)
    assert torch.equal(again.nodes, bad.nodes)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.npz"]


def test_the_file_needs_no_pickle_and_explains_itself(tmp_path: Path) -> None:
    corrupt(load("digits"), "cells-outlier").save(tmp_path / "bad.npz")
    with np.load(tmp_path / "bad.npz", allow_pickle=False) as arrays:
        content = {key: arrays[key] for key in arrays.files}
    assert content["x"].shape == content["cells"].shape == (1797, 64)
    assert str(content["name"]) == "digits"
    assert json.loads(str(content["info"]))["kind"] == "cells-outlier"


def test_a_file_that_was_changed_or_cut_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    inject_attributes(synthetic(100, 30)).save(path)
    with np.load(path) as arrays:
        content = dict(arrays)
    np.savez(tmp_path / "changed.npz", **(content | {"x": 1 - content["x"]}))
    with pytest.raises(ValueError, match=r"damaged file .*changed\.npz .*do not match the saved checksum"):
        Corruption.load(tmp_path / "changed.npz")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match=r"damaged file .*bad\.npz"):
        Corruption.load(path)
    with pytest.raises(FileNotFoundError):
        Corruption.load(tmp_path / "none.npz")
