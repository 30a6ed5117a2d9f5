from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from magnet.corruption import KINDS, Corruption, corrupt, inject_attributes
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


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "patches"])
def test_every_kind_by_name(kind: str) -> None:
    data = synthetic(120, 30)
    options = {"budget": 40} if kind.startswith("meta") else {}
    bad = corrupt(data, kind, seed=2, **options)
    assert bad.info["kind"] == kind
    assert bad.info["seed"] == 2
    assert torch.equal(bad.cells, bad.data.x != data.x)
    assert bad.cells.any()
    assert bad.info["checksum"] == corrupt(data, kind, seed=2, **options).info["checksum"]


def test_names_and_options_are_checked() -> None:
    data = synthetic(50, 10)
    with pytest.raises(ValueError, match="unknown corruption 'inject-fat'; did you mean 'inject-far'"):
        corrupt(data, "inject-fat")
    with pytest.raises(ValueError, match="cells-flip has no option 'budget'; it has ratio, node_share"):
        corrupt(data, "cells-flip", budget=3)


def test_known_datasets_bring_the_papers_settings() -> None:
    data = synthetic(700, 5, kind="continuous")
    data.name = "pubmed"
    info = corrupt(data, "inject-far").info
    assert (info["candidates"], info["tolerance"]) == (500, 0.005)
    assert corrupt(synthetic(700, 5), "inject-far").info["candidates"] == 100
