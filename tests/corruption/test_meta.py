from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from magnet.corruption import meta_attack
from magnet.corruption.meta import CALIBRATED
from magnet.corruption.surrogate import Surrogate
from magnet.datasets import synthetic


def graph(kind: str = "binary", nodes: int = 80, features: int = 25) -> Data:
    return synthetic(nodes, features, classes=3, average_degree=4, kind=kind)  # type: ignore[arg-type]


def surrogate(data: Data, x: torch.Tensor, **options: int) -> Surrogate:
    return Surrogate.build(data.edge_index, data.train_mask, 3, x, **options)


def test_meta_gradient_against_finite_differences() -> None:
    data = graph("continuous", nodes=24, features=5)
    x = data.x.double()
    model = surrogate(data, x, steps=60, hidden=4)
    generator = torch.Generator().manual_seed(0)
    labels = model.predict(x, data.y, generator)
    start = model.initial(5, generator)
    gradient = model.meta_gradient(x, labels, start)
    step = 1e-5
    differences = torch.zeros_like(x)
    for i in range(24):
        for j in range(5):
            change = torch.zeros_like(x)
            change[i, j] = step
            rise = model.attack_loss(x + change, labels, start) - model.attack_loss(x - change, labels, start)
            differences[i, j] = rise / (2 * step)
    assert float(gradient.abs().max()) > 1e-3
    torch.testing.assert_close(gradient, differences, rtol=1e-5, atol=1e-8)


def test_the_training_is_part_of_the_gradient() -> None:
    """Without the second term the gradient would be wrong on the training nodes by a large factor."""
    data = graph("continuous", nodes=24, features=5)
    x = data.x.double()
    model = surrogate(data, x, steps=60, hidden=4)
    start = model.initial(5, torch.Generator().manual_seed(0))
    whole = model.meta_gradient(x, data.y, start)
    weights = model.fit(model.train_rows @ x, data.y[model.train], start)
    variable = x.clone().requires_grad_()
    others = ~data.train_mask
    loss = torch.nn.functional.cross_entropy(model.logits(variable, weights)[others], data.y[others])
    (direct,) = torch.autograd.grad(loss, variable)
    assert float((whole - direct).norm() / whole.norm()) > 0.5


def test_unrolled_training_is_gradient_descent_with_momentum() -> None:
    data = graph("continuous", nodes=24, features=5)
    x = data.x.double()
    model = surrogate(data, x, steps=7, hidden=4)
    start = model.initial(5, torch.Generator().manual_seed(0))
    rows = model.train_rows @ x
    first, second = (w.clone().requires_grad_() for w in start)
    optimizer = torch.optim.SGD([first, second], lr=0.1, momentum=0.9)
    for _ in range(7):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(rows @ first @ second, data.y[data.train_mask]).backward()
        optimizer.step()
    ours = model.fit(rows, data.y[data.train_mask], start)
    torch.testing.assert_close(ours, (first.detach(), second.detach()))


@pytest.mark.parametrize("kind", ["binary", "continuous"])
@pytest.mark.parametrize("strategy", ["meta", "random"])
def test_budget_range_and_truth(kind: str, strategy: str) -> None:
    data = graph(kind)
    before = data.x.clone()
    bad = meta_attack(data, 37, strategy=strategy, flips_per_step=5, train_steps=20)  # type: ignore[arg-type]
    assert torch.equal(data.x, before)
    assert int(bad.cells.sum()) == 37
    assert torch.equal(bad.cells, bad.data.x != before)
    assert torch.all(bad.data.x.amin(0) >= before.amin(0))
    assert torch.all(bad.data.x.amax(0) <= before.amax(0))
    assert torch.equal(bad.data.edge_index, data.edge_index)


def test_meta_beats_chance_on_the_loss_it_attacks() -> None:
    data = graph(nodes=300, features=60)
    model = surrogate(data, data.x)
    starts = [model.initial(60, torch.Generator().manual_seed(s)) for s in range(100, 105)]

    def loss(x: torch.Tensor) -> float:
        return sum(float(model.attack_loss(x, data.y, start)) for start in starts) / 5

    attacked, chance = (meta_attack(data, 150, strategy=s).data.x for s in ("meta", "random"))  # type: ignore[arg-type]
    clean = loss(data.x)
    assert loss(attacked) - clean > 5 * abs(loss(chance) - clean)


def test_same_seed_same_graph_sparse_or_dense() -> None:
    data = graph()
    one, same, other = (meta_attack(data, 20, seed=s, train_steps=20).info["checksum"] for s in (0, 0, 5))
    assert one == same != other
    sparse = Data(x=data.x.to_sparse_csr(), edge_index=data.edge_index, y=data.y, train_mask=data.train_mask)
    bad = meta_attack(sparse, 20, train_steps=20)
    assert bad.data.x.layout == torch.sparse_csr
    assert bad.info["checksum"] == one


def test_only_training_labels_are_used() -> None:
    data, blind = graph(), graph()
    blind.y = torch.where(blind.train_mask, blind.y, (blind.y + 1) % 3)
    assert meta_attack(data, 20).info["checksum"] == meta_attack(blind, 20).info["checksum"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_device_cuda_finds_nearly_the_same_cells() -> None:
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
def test_bad_options_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        meta_attack(graph(), **options)  # type: ignore[arg-type]


def test_a_known_dataset_brings_its_calibrated_budget() -> None:
    data = graph()
    data.name = "pubmed"
    assert meta_attack(data, train_steps=5).info["budget"] == CALIBRATED["pubmed"][0]
    assert meta_attack(data, train_steps=5).info["flips_per_step"] == CALIBRATED["pubmed"][1]
    assert meta_attack(data, 200, train_steps=5).info["flips_per_step"] == 4
    assert meta_attack(data, train_steps=5, flips_per_step=30).info["flips_per_step"] == 30


def test_labels_are_needed() -> None:
    data = graph()
    with pytest.raises(ValueError, match=r"needs data\.y"):
        meta_attack(Data(x=data.x, edge_index=data.edge_index), 5)


@pytest.mark.parametrize("strategy", ["meta", "random"])
@pytest.mark.parametrize("kind", ["binary", "continuous"])
def test_a_cap_on_the_cells_of_a_row_is_kept(strategy: str, kind: str) -> None:
    options = {"budget": 60, "flips_per_step": 20, "train_steps": 10, "strategy": strategy}
    free = meta_attack(graph(kind), **options)  # type: ignore[arg-type]
    capped = meta_attack(graph(kind), per_row=3, **options)  # type: ignore[arg-type]
    assert int(capped.cells.sum()) == 60
    assert int(capped.cells.sum(dim=1).max()) <= 3
    assert capped.info["per_row"] == 3
    if strategy == "meta":
        assert int(free.cells.sum(dim=1).max()) > 3


def test_a_cap_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(ValueError, match="per_row is 1"):
        meta_attack(graph(), budget=81, per_row=1)
