from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]


def test_datasets_lists_counts_and_places(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAGNET_DATA", raising=False)
    monkeypatch.setenv("MAGNET_CACHE", str(tmp_path / "cache"))
    (tmp_path / "WikiCS/raw").mkdir(parents=True)
    (tmp_path / "WikiCS/raw/data.json").touch()
    code, out, _ = run("datasets", "--root", tmp_path)
    assert code == 0
    lines = {line.split()[0]: line for line in reversed(out.splitlines()) if line.strip()}
    for word in ("2 708", "5 278", "1 433", "binary {0, 1}", "0.810", "140/500/1000", "download"):
        assert word in lines["cora"]
    assert "built in" in lines["digits"]
    assert lines["wiki-cs"].split()[-1] == "root"
    assert f"root: {tmp_path}" in out
    assert lines["wordnet"].split()[-1] == "missing"
    assert f"wordnet: put wordnet_synsets.npz into {tmp_path / 'cache/WordNet'}" in out
    assert "wordnet stands in for ogbn-arxiv" in out
