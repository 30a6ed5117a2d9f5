from __future__ import annotations

from pathlib import Path

import pytest
import torch

from magnet.corruption import cache, corrupt, corrupt_once
from magnet.datasets import load, synthetic


def test_the_second_time_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = synthetic(80, 20)
    first = corrupt_once(data, "cells-flip", seed=4, folder=tmp_path, ratio=0.1)
    monkeypatch.setattr(cache, "corrupt", None)
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
