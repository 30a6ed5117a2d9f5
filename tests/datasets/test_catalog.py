"""The catalog agrees with itself; its counts are compared with the files in ``test_registry.py``."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from magnet.datasets import DATASETS
from magnet.datasets.catalog import bsd68_source


@pytest.mark.parametrize("name", DATASETS)
def test_every_entry_has_a_reader_and_sources_over_https(name: str) -> None:
    entry = DATASETS[name]
    assert entry.name == name
    assert callable(importlib.import_module(f"magnet.datasets.{entry.reader}").read)
    assert entry.low < entry.high
    assert (entry.homophily is None) == (entry.classes == 0)
    if entry.source is not None:
        assert all(url.startswith("https://") for url in entry.source.files.values() if url)
        assert entry.source.can_download or entry.source.remark


def test_stand_ins_replace_other_datasets() -> None:
    stand_ins = {entry.stands_for: name for name, entry in DATASETS.items() if entry.stands_for}
    assert stand_ins == {"wiki-cs": "amazon-computers", "ogbn-arxiv": "wordnet"}


def test_a_dataset_is_found_only_with_all_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAGNET_DATA", raising=False)
    monkeypatch.setenv("MAGNET_CACHE", str(tmp_path / "cache"))
    texas = DATASETS["texas"]
    assert texas.source is not None
    folder = tmp_path / "texas" / "raw"
    folder.mkdir(parents=True)
    *most, last = texas.source.files
    for file in most:
        (folder / file).touch()
    assert texas.found(tmp_path) is None
    (folder / last).touch()
    assert texas.found(tmp_path) == folder
    assert DATASETS["digits"].found(tmp_path) is None  # it has no files


def test_images_are_numbered_with_three_digits() -> None:
    assert list(bsd68_source(7).files) == ["test007.png"]
