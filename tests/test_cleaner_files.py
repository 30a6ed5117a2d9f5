"""Fitted cleaners in files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from magnet import MAGnet, tables
from magnet.corruption import corrupt_cells
from magnet.datasets import synthetic


def test_a_fitted_table_is_saved_and_loaded(misspelled: tuple[pd.DataFrame, pd.DataFrame], tmp_path: Path) -> None:
    right, nodes = misspelled
    model = MAGnet(fix="all", seed=3).fit(tables.from_frames(right))
    model.save(tmp_path / "model.npz")
    again = MAGnet.load(tmp_path / "model.npz")
    assert again.get_params() == model.get_params()
    other = tables.from_frames(nodes)
    pd.testing.assert_frame_equal(again.transform(other).frame, model.transform(other).frame)
    assert (again.verdict_, again.findings_) == (model.verdict_, model.findings_)
    with np.load(tmp_path / "model.npz", allow_pickle=False) as arrays:
        assert all(arrays[key].dtype != object for key in arrays.files)
    (tmp_path / "model.npz").write_bytes(b"torn")
    with pytest.raises(ValueError, match="damaged file"):
        MAGnet.load(tmp_path / "model.npz")
    with pytest.raises(ValueError, match="only models whose detector is given by name can be saved"):
        MAGnet(torch.ones(400)).fit(synthetic(nodes=400, features=12)).save(tmp_path / "x.npz")


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": [1]},
        {"parameters": {"unknown": 1}},
        {"cells": {"columns": [["a"]], "data": 3}},
        {"share": None},
        {"fingerprint": None, "share": "x"},
    ],
)
def test_facts_of_the_wrong_kind_are_a_damaged_file(change: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    MAGnet().fit(tables.from_frames(pd.DataFrame({"a": list("abcab") * 4, "b": range(20)}))).save(path)
    with np.load(path) as stored:
        arrays = dict(stored)
    facts = json.loads(arrays["magnet"].tobytes()) | change
    np.savez(path, **(arrays | {"magnet": np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)}))
    with pytest.raises(ValueError, match="damaged file"):
        MAGnet.load(path)


def test_a_fitted_graph_is_saved_and_loaded(tmp_path: Path) -> None:
    data = corrupt_cells(
        synthetic(nodes=300, features=12, kind="continuous", seed=0), 0.02, kind="outlier", seed=0
    ).data
    model = MAGnet("cell").fit(data)
    model.save(tmp_path / "model.npz")
    again = MAGnet.load(tmp_path / "model.npz")
    assert torch.equal(again.trust_, model.trust_)
    other = corrupt_cells(
        synthetic(nodes=200, features=12, kind="continuous", seed=1), 0.02, kind="outlier", seed=1
    ).data
    assert torch.equal(again.transform(other).x, model.transform(other).x)
