"""ogbn-arxiv on tiny files in exactly the published format."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import torch

from magnet.datasets import load

ARXIV = {
    "raw/edge.csv.gz": "0,1\n2,1\n3,0\n",
    "raw/node-feat.csv.gz": "-0.5,0.25\n1.0,2.0\n0.125,-1.5\n0.0,3.5\n",
    "raw/node-label.csv.gz": "4\n0\n1\n4\n",
    "split/time/train.csv.gz": "0\n2\n",
    "split/time/valid.csv.gz": "1\n",
    "split/time/test.csv.gz": "3\n",
}


@pytest.fixture
def arxiv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MAGNET_CACHE", str(tmp_path / "cache"))
    for name, text in ARXIV.items():
        path = tmp_path / "ogbn_arxiv" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))
    return tmp_path


def test_arxiv_in_the_layout_of_ogb(arxiv: Path) -> None:
    data = load("ogbn-arxiv", root=arxiv)
    assert data.edge_index.tolist() == [[0, 0, 1, 1, 2, 3], [1, 3, 0, 2, 1, 0]]
    assert data.x.tolist() == [[-0.5, 0.25], [1.0, 2.0], [0.125, -1.5], [0.0, 3.5]]
    assert data.y.tolist() == [4, 0, 1, 4]
    assert data.train_mask.tolist() == [True, False, True, False]
    assert data.val_mask.tolist() == [False, True, False, False]
    assert data.test_mask.tolist() == [False, False, False, True]


def test_arxiv_is_parsed_once_and_again_when_the_files_change(arxiv: Path) -> None:
    first = load("ogbn-arxiv", root=arxiv)
    kept = list((arxiv / "cache/processed").iterdir())
    assert len(kept) == 1
    assert torch.equal(load("ogbn-arxiv", root=arxiv).x, first.x)
    (arxiv / "ogbn_arxiv/raw/node-label.csv.gz").write_bytes(gzip.compress(b"4\n0\n1\n12345\n"))
    assert load("ogbn-arxiv", root=arxiv).y.tolist() == [4, 0, 1, 12345]


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("raw/edge.csv.gz", gzip.compress(b"0,1\n2,7\n")),
        ("raw/node-feat.csv.gz", gzip.compress(ARXIV["raw/node-feat.csv.gz"].encode())[:-9]),
        ("raw/node-label.csv.gz", b"4\n0\n1\n4\n"),
        ("raw/node-feat.csv.gz", gzip.compress(b"-0.5,0.25\n1.0,word\n0.125,-1.5\n0.0,3.5\n")),
    ],
)
def test_a_damaged_arxiv_is_reported(file: str, content: bytes, arxiv: Path) -> None:
    (arxiv / "ogbn_arxiv" / file).write_bytes(content)
    with pytest.raises(ValueError, match=rf"damaged file .*{file}"):
        load("ogbn-arxiv", root=arxiv)


def test_a_missing_arxiv_file_is_named(arxiv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAGNET_DATA", raising=False)
    monkeypatch.setattr("magnet.datasets.download.download", _no_network)
    (arxiv / "ogbn_arxiv/split/time/test.csv.gz").unlink()
    with pytest.raises(FileNotFoundError, match=r"split/time/test\.csv\.gz not found"):
        load("ogbn-arxiv", root=arxiv)


def _no_network(*args: object) -> None:
    raise OSError("no network")
