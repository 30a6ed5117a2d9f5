"""The meta attack."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from magnet.corruption import meta_attack
from magnet.corruption.meta import CALIBRATED


@pytest.mark.parametrize("kind", ["binary", "continuous"])
@pytest.mark.parametrize("strategy", ["meta", "random"])
def test_budget_range_and_truth(graph: Any, kind: str, strategy: str) -> None:
    data = graph(kind)
    before = data.x.clone()
    bad = meta_attack(data, 37, strategy=strategy, flips_per_step=5, train_steps=20)  # type: ignore[arg-type]
    assert torch.equal(data.x, before)
    assert int(bad.cells.sum()) == 37
    assert torch.equal(bad.cells, bad.data.x != before)
    assert torch.all(bad.data.x.amin(0) >= before.amin(0))
    assert torch.all(bad.data.x.amax(0) <= before.amax(0))
    assert torch.equal(bad.data.edge_index, data.edge_index)


def test_meta_beats_chance_on_the_loss_it_attacks(graph: Any, surrogate: Any, attack_loss: Any) -> None:
    data = graph(nodes=300, features=60)
    model = surrogate(data, data.x)
    starts = [model.initial(60, torch.Generator().manual_seed(s)) for s in range(100, 105)]

    def loss(x: torch.Tensor) -> float:
        return sum(float(attack_loss(model, x, data.y, start)) for start in starts) / 5

    attacked, chance = (meta_attack(data, 150, strategy=s).data.x for s in ("meta", "random"))  # type: ignore[arg-type]
    clean = loss(data.x)
    assert loss(attacked) - clean > 5 * abs(loss(chance) - clean)


def test_same_seed_same_graph_sparse_or_dense(graph: Any) -> None:
    data = graph()
    one, same, other = (meta_attack(data, 20, seed=s, train_steps=20).info["checksum"] for s in (0, 0, 5))
    assert one == same != other
    sparse = Data(x=data.x.to_sparse_csr(), edge_index=data.edge_index, y=data.y, train_mask=data.train_mask)
    bad = meta_attack(sparse, 20, train_steps=20)
    assert bad.data.x.layout == torch.sparse_csr
    assert bad.info["checksum"] == one


def test_only_training_labels_are_used(graph: Any) -> None:
    data, blind = graph(), graph()
    blind.y = torch.where(blind.train_mask, blind.y, (blind.y + 1) % 3)
    assert meta_attack(data, 20).info["checksum"] == meta_attack(blind, 20).info["checksum"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_device_cuda_finds_nearly_the_same_cells(graph: Any) -> None:
    data = graph(nodes=300, features=60)
    cpu, gpu = (meta_attack(data, 60, device=d).cells for d in ("cpu", "cuda"))
    assert int((cpu & gpu.cpu()).sum()) >= 45


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": None}, "have a calibrated budget"),
        ({"budget": 0}, "budget is 0"),
        ({"budget": 2001}, "has 2000 cells"),
        ({"budget": 2.5}, "budget is 2.5"),
        ({"budget": 5, "strategy": "worst"}, "strategy is 'worst'"),
        ({"budget": 5, "flips_per_step": 0}, "at least 1"),
    ],
)
def test_bad_options_are_named(graph: Any, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        meta_attack(graph(), **options)  # type: ignore[arg-type]


def test_a_known_dataset_brings_its_calibrated_budget(graph: Any) -> None:
    data = graph()
    data.name = "pubmed"
    assert meta_attack(data, train_steps=5).info["budget"] == CALIBRATED["pubmed"][0]
    assert meta_attack(data, train_steps=5).info["flips_per_step"] == CALIBRATED["pubmed"][1]
    assert meta_attack(data, 200, train_steps=5).info["flips_per_step"] == 4
    assert meta_attack(data, train_steps=5, flips_per_step=30).info["flips_per_step"] == 30


def test_labels_are_needed(graph: Any) -> None:
    data = graph()
    with pytest.raises(ValueError, match=r"needs data\.y"):
        meta_attack(Data(x=data.x, edge_index=data.edge_index), 5)


@pytest.mark.parametrize("strategy", ["meta", "random"])
@pytest.mark.parametrize("kind", ["binary", "continuous"])
def test_a_cap_on_the_cells_of_a_row_is_kept(graph: Any, strategy: str, kind: str) -> None:
    options = {"budget": 60, "flips_per_step": 20, "train_steps": 10, "strategy": strategy}
    free = meta_attack(graph(kind), **options)  # type: ignore[arg-type]
    capped = meta_attack(graph(kind), per_row=3, **options)  # type: ignore[arg-type]
    assert int(capped.cells.sum()) == 60
    assert int(capped.cells.sum(dim=1).max()) <= 3
    assert capped.info["per_row"] == 3
    if strategy == "meta":
        assert int(free.cells.sum(dim=1).max()) > 3


def test_a_cap_that_leaves_no_room_is_refused(graph: Any) -> None:
    with pytest.raises(ValueError, match="per_row is 1"):
        meta_attack(graph(), budget=81, per_row=1)
