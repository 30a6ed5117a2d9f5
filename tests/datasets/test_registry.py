"""Datasets by name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from magnet.datasets import DATASETS, homophily, info, load, names
from magnet.datasets.download import known_checksums
from magnet.files import sha256_of

ON_DISK = ("coauthor-cs", "wisconsin", "texas", "amazon-computers", "wordnet", "bsd68/1")


@pytest.mark.data
@pytest.mark.parametrize("name", ON_DISK)
def test_published_counts(name: str, raw_data: Path) -> None:
    data, facts = load(name), info(name)
    assert (data.num_nodes, data.num_features) == (facts.nodes, facts.features)
    assert data.edge_index.shape[1] == 2 * facts.edges
    assert data.is_undirected()
    assert data.is_coalesced()
    assert not data.has_self_loops()
    assert data.x.dtype == torch.float32
    values = data.x.values() if facts.sparse else data.x
    assert float(values.max()) == pytest.approx(facts.high, abs=1e-3)
    if facts.classes:
        assert int(data.y.max()) + 1 == facts.classes
        assert homophily(data) == pytest.approx(facts.homophily, abs=5e-4)
        masks = [data[f"{part}_mask"] for part in ("train", "val", "test")]
        assert "/".join(str(int(mask.sum())) for mask in masks) in facts.splits
        assert all(mask.dim() == 1 and mask.dtype == torch.bool for mask in masks)


@pytest.mark.data
def test_checksums_agree_with_the_files(raw_data: Path) -> None:
    for path, digest in known_checksums().items():
        assert sha256_of(raw_data / path) == digest, path


@pytest.mark.data
def test_nothing_is_written_beside_the_raw_files(raw_data: Path, tmp_path: Path) -> None:
    shutil.copytree(raw_data / "WebKB/texas", tmp_path / "WebKB/texas")
    before = sorted(tmp_path.rglob("*"))
    load("texas", root=tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.data
def test_pictures_lie_both_ways(raw_data: Path) -> None:
    grids = {load(f"bsd68/{number}").grid for number in range(1, 69)}
    assert grids == {(60, 40), (40, 60)}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("coraa", "'cora'"),
        ("Coauthor CS", "'coauthor-cs'"),
        ("pubmet", "'pubmed'"),
        ("ogbn-axiv", "'ogbn-arxiv'"),
    ],
)
def test_unknown_names_get_a_suggestion(name: str, hint: str) -> None:
    with pytest.raises(ValueError, match=f"unknown dataset {name!r}; did you mean {hint}"):
        load(name)


@pytest.mark.parametrize("name", ["bsd68", "bsd68/0", "bsd68/69", "bsd68/lena"])
def test_unknown_pictures(name: str) -> None:
    with pytest.raises(ValueError, match="bsd68/1 to bsd68/68"):
        load(name)


def test_names_are_forgiving() -> None:
    assert info("Wiki_CS").name == "wiki-cs"
    assert info("bsd68/test007.png").name == info("bsd68/7").name == "bsd68/7"
    assert "wordnet" in names()
    assert DATASETS["amazon-computers"].stands_for == "wiki-cs"


@pytest.mark.parametrize(
    ("name", "split", "message"),
    [
        ("cora", 1, "cora has one split, 0"),
        ("texas", 10, "texas has splits 0 to 9"),
        ("digits", -1, "an integer from 0"),
        ("digits", 0.5, "an integer from 0"),
    ],
)
def test_a_split_that_does_not_exist(name: str, split: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(name, split=split)


def test_what_nobody_publishes_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAGNET_CACHE", str(tmp_path))
    monkeypatch.delenv("MAGNET_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"wordnet_synsets\.npz not found .* published nowhere else"):
        load("wordnet")
