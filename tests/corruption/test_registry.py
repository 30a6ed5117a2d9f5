"""Corruptions by name."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from magnet.corruption import KINDS, corrupt, corrupt_once, registry
from magnet.datasets import load, synthetic


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


def test_the_second_time_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = synthetic(80, 20)
    first = corrupt_once(data, "cells-flip", seed=4, folder=tmp_path, ratio=0.1)
    monkeypatch.setattr(registry, "corrupt", None)
    again = corrupt_once(data, "cells-flip", seed=4, folder=tmp_path, ratio=0.1)
    assert torch.equal(first.cells, again.cells)
    assert first.info == again.info == corrupt(data, "cells-flip", 4, ratio=0.1).info
    assert torch.equal(again.data.edge_index, data.edge_index)


def test_whatever_changes_the_result_changes_the_file(tmp_path: Path) -> None:
    data, other = load("digits"), load("digits", split=1)
    calls = [
        (data, "inject-far", 0, {}),
        (data, "inject-far", 1, {}),
        (data, "inject-random", 0, {}),
        (data, "inject-far", 0, {"ratio": 0.1}),
        (other, "inject-far", 0, {}),
        (synthetic(50, 64), "inject-far", 0, {}),
    ]
    for graph, kind, seed, options in calls:
        corrupt_once(graph, kind, seed, tmp_path, **options)
    corrupt_once(data, "inject-far", 0, tmp_path, candidates=None)
    assert len(list(tmp_path.iterdir())) == len(calls)


def test_a_damaged_file_is_not_used(tmp_path: Path) -> None:
    data = synthetic(80, 20)
    corrupt_once(data, "inject-far", folder=tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match="damaged file"):
        corrupt_once(data, "inject-far", folder=tmp_path)
