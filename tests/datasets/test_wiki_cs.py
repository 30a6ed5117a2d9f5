"""Wiki-CS on a tiny file in exactly the published format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.datasets import WikiCS

from magnet.datasets import load


def wiki_cs(folder: Path, **changes: Any) -> Path:
    """Five articles, three splits in the file's own keys."""
    content: dict[str, Any] = {
        "features": [[0.5, -1.0], [1.5, 2.0], [0.0, 0.25], [-3.0, 3.0], [1.0, 1.0]],
        "labels": [0, 1, 2, 1, 0],
        "links": [[1, 2], [0], [2, 3], [], []],
        "train_masks": [[k == s for k in range(5)] for s in range(3)],
        "val_masks": [[k == s + 1 for k in range(5)] for s in range(3)],
        "stopping_masks": [[False] * 5 for _ in range(3)],
        "test_mask": [False, False, False, False, True],
    }
    path = folder / "WikiCS/raw/data.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content | changes))
    return folder


def test_wiki_cs_by_hand_and_by_pyg(tmp_path: Path) -> None:
    ours = load("wiki-cs", root=wiki_cs(tmp_path), split=2)
    assert ours.edge_index.tolist() == [[0, 0, 1, 2, 2, 3], [1, 2, 0, 0, 3, 2]]
    assert ours.x[3].tolist() == [-3.0, 3.0]
    assert ours.train_mask.tolist() == [False, False, True, False, False]
    assert ours.val_mask.tolist() == [False, False, False, True, False]
    assert ours.test_mask.tolist() == [False, False, False, False, True]
    theirs = WikiCS(str(tmp_path / "WikiCS"), is_undirected=True)[0]
    assert torch.equal(ours.x, theirs.x)
    assert torch.equal(ours.train_mask, theirs.train_mask[:, 2])
    assert torch.equal(ours.y, theirs.y)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"links": [[1], [9], [], [], []]}, "outside 0 to 4"),
        ({"labels": [0, 1]}, "2 labels"),
        ({"features": [[0.5], [1.0, 2.0], [0.0], [1.0], [1.0]]}, "ValueError"),
        ({"train_masks": []}, "IndexError"),
    ],
)
def test_a_damaged_wiki_cs_is_reported(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"damaged file .*data\.json .*{reason}"):
        load("wiki-cs", root=wiki_cs(tmp_path, **changes))


def test_half_a_wiki_cs_is_reported(tmp_path: Path) -> None:
    path = wiki_cs(tmp_path) / "WikiCS/raw/data.json"
    path.write_text(path.read_text()[:200])
    with pytest.raises(ValueError, match=r"damaged file .*data\.json .*JSONDecodeError"):
        load("wiki-cs", root=tmp_path)
