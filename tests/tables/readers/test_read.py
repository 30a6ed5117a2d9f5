from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from magnet.tables import BadTable, read

X = np.array([[1.5, 0, 3], [2.5, 1, 4], [np.nan, 1, 7], [1.25, 0, 2]], dtype=np.float32)
EDGES = np.array([[0, 1, 2], [1, 2, 3]])


def test_a_folder_is_searched(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id,age\na,40\nb,41\nc,44\n")
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    (tmp_path / "readme.md").write_text("hello")
    assert read(tmp_path).links.facts["edges used"] == 1
    (tmp_path / "nodes.csv").rename(tmp_path / "people.csv")
    with pytest.raises(ValueError, match=r"is a folder with edges.csv, people.csv; give the file"):
        read(tmp_path)


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {os.environ['MAGNET_BOMB']}",)


@pytest.mark.parametrize("name", ["torch.pt", "plain.pt", "array.npz"])
def test_pickle_bombs_do_not_go_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("MAGNET_BOMB", str(tmp_path / "exploded"))
    path = tmp_path / name
    if name == "torch.pt":
        torch.save({"x": Bomb()}, path)
    elif name == "plain.pt":
        path.write_bytes(pickle.dumps(Bomb()))
    else:
        np.savez(path, x=np.array([Bomb()], dtype=object), edge_index=EDGES)
    with pytest.raises(BadTable, match="refused"):
        read(path)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"PAR1 and then nothing", "cannot be read as Parquet"),
        ("a.npz", b"PK\x03\x04 torn", "cannot be read as .npz"),
        ("a.npz", b"", "cannot be read as .npz"),
        ("a.pt", b"PK\x03\x04 torn", "cannot be read as a PyG file"),
        ("a.pt", b"", "cannot be read as a PyG file"),
        ("a.graphml", b"<graphml><graph>", "cannot be read as GraphML: no element found"),
        ("a.graphml", b"<html></html>", "holds 0 graphs in a <html>"),
        ("a.graphml", b"<graphml><graph/></graphml>", "holds no nodes"),
        ("a.graphml", b'<!DOCTYPE g [<!ENTITY a "b">]><graphml><graph/></graphml>', "declares XML entities"),
    ],
)
def test_damaged_files_are_refused_in_words(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadTable, match=message):
        read(tmp_path / name)


def test_wrong_names_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read(tmp_path / "none.csv")
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    with pytest.raises(ValueError, match="export it as CSV"):
        read(tmp_path / "a.xlsx")
