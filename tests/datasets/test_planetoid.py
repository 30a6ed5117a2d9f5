from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import pytest
import torch
from torch_geometric.datasets import Planetoid
from torch_geometric.utils import coalesce

from magnet.datasets import homophily, info, load

NAMES = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed"}


@pytest.mark.data
@pytest.mark.parametrize("name", NAMES)
def test_published_counts(name: str, raw_data: Path) -> None:
    data, facts = load(name), info(name)
    assert (data.num_nodes, data.num_features, int(data.y.max()) + 1) == (
        facts.nodes,
        facts.features,
        facts.classes,
    )
    assert data.edge_index.shape[1] == 2 * facts.edges
    assert homophily(data) == pytest.approx(facts.homophily, abs=5e-4)
    masks = [int(data[f"{part}_mask"].sum()) for part in ("train", "val", "test")]
    assert "/".join(map(str, masks)) == facts.splits
    assert (float(data.x.min()), float(data.x.max())) == pytest.approx((facts.low, facts.high), abs=1e-3)
    assert data.is_undirected()
    assert data.is_coalesced()
    assert not data.has_self_loops()


@pytest.mark.data
@pytest.mark.parametrize("name", NAMES)
def test_equals_the_pyg_loader(name: str, raw_data: Path, tmp_path: Path) -> None:
    shutil.copytree(raw_data / "Planetoid" / NAMES[name], tmp_path / NAMES[name])
    theirs, ours = Planetoid(str(tmp_path), NAMES[name])[0], load(name)
    assert torch.equal(ours.x, theirs.x)
    assert torch.equal(ours.y, theirs.y)
    assert torch.equal(ours.edge_index, coalesce(theirs.edge_index))
    for part in ("train_mask", "val_mask", "test_mask"):
        assert torch.equal(ours[part], theirs[part])


@pytest.mark.data
def test_citeseer_ids_without_data_are_in_no_split(raw_data: Path) -> None:
    data = load("citeseer")
    empty = data.x.sum(1) == 0
    assert int(empty.sum()) == 15
    assert not (empty & (data.train_mask | data.val_mask | data.test_mask)).any()


@pytest.mark.data
def test_sparse_and_dense_features_are_the_same(raw_data: Path) -> None:
    sparse, dense = load("cora", dense=False), load("cora")
    assert sparse.x.layout == torch.sparse_csr
    assert torch.equal(sparse.x.to_dense(), dense.x)
    assert sparse.num_nodes == 2708


@pytest.mark.data
def test_a_truncated_file_is_reported_by_name(raw_data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "Planetoid/Cora/raw"
    shutil.copytree(raw_data / "Planetoid/Cora/raw", folder)
    whole = (folder / "ind.cora.allx").read_bytes()
    (folder / "ind.cora.allx").chmod(0o644)
    (folder / "ind.cora.allx").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"damaged file .*ind\.cora\.allx"):
        load("cora", root=tmp_path)


class _Attack:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path, ("ran",)


def test_a_pickle_with_foreign_code_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "Planetoid/Cora/raw"
    folder.mkdir(parents=True)
    for part in ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"):
        (folder / f"ind.cora.{part}").write_bytes(pickle.dumps(_Attack(), protocol=2))
    with pytest.raises(ValueError, match=r"it names pathlib.*Path, which no Planetoid file does"):
        load("cora", root=tmp_path)
