"""Training: many at once is each alone, and what is kept is the best epoch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy, dropout
from torch_geometric.nn import GCNConv

from magnet import nn
from magnet.graph import Graph
from magnet.nn import features, training

MODELS: list[tuple[Any, dict[str, Any]]] = [
    (nn.GCN, {}),
    (nn.GCN, {"input_dropout": 0.4}),
    (nn.MLP, {}),
    (nn.APPNP, {"input_dropout": 0.5}),
    (nn.GNNGuard, {"memory": 0.3}),
    (nn.ElasticGNN, {"steps": 3}),
    (nn.AirGNN, {"steps": 3}),
    (nn.SIGN, {}),
]


def train(model: Any, data: Any, graph: Graph, x: Any = None, **options: Any) -> nn.Fitted:
    masks = options.pop("masks", (data.train_mask, data.val_mask))
    return nn.fit(model, data.x if x is None else x, graph, data.y, *masks, **{"epochs": 12, **options})


@pytest.mark.parametrize(("kind", "options"), MODELS)
def test_a_model_of_a_batch_is_the_model_alone(small: Any, kind: Any, options: dict[str, Any]) -> None:
    data, graph = small
    together = train(kind(40, 3, hidden=8, seeds=[3, 4, 5], **options), data, graph)
    alone = train(kind(40, 3, hidden=8, seeds=5, **options), data, graph)
    assert torch.allclose(together.logits[2], alone.logits[0], atol=1e-4)
    assert together.epoch[2] == alone.epoch[0]
    assert not torch.allclose(together.logits[0], together.logits[1], atol=1e-2)


@pytest.mark.parametrize(("kind", "options"), MODELS)
def test_each_model_may_have_its_own_features(small: Any, kind: Any, options: dict[str, Any]) -> None:
    data, graph = small
    other = data.x.flip(1)
    together = train(kind(40, 3, hidden=8, seeds=[3, 4], **options), data, graph, [data.x, other])
    alone = train(kind(40, 3, hidden=8, seeds=4, **options), data, graph, other)
    assert torch.allclose(together.logits[1], alone.logits[0], atol=1e-4)


def test_sparse_dense_and_stacked_features_give_the_same(small: Any) -> None:
    data, graph = small
    layouts = (data.x, data.x.to_sparse_csr(), torch.stack([data.x, data.x]), data.x + 1e-7)
    results = [train(nn.GCN(40, 3, hidden=8, seeds=[0, 1]), data, graph, x).logits for x in layouts]
    assert all(torch.allclose(result, results[0], atol=1e-3) for result in results)


def test_settings_side_by_side_are_each_alone(small: Any) -> None:
    data, graph = small
    settings = [(0.01, 5e-4, 0.5, 12, 0.1), (0.05, 0.0, 0.2, 7, 0.3)]
    learning_rate, weight_decay, drop, epochs, alpha = zip(*settings, strict=True)
    many = nn.APPNP(40, 3, hidden=8, seeds=[1, 1], dropout=drop, alpha=alpha)
    together = train(
        many,
        data,
        graph,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        epochs=epochs,
        weight_decay_on="first",
    )
    for place, (one_learning_rate, one_weight_decay, one_drop, one_epochs, one_alpha) in enumerate(settings):
        model = nn.APPNP(40, 3, hidden=8, seeds=1, dropout=one_drop, alpha=one_alpha)
        alone = train(
            model,
            data,
            graph,
            learning_rate=one_learning_rate,
            weight_decay=one_weight_decay,
            epochs=one_epochs,
            weight_decay_on="first",
        )
        assert torch.allclose(together.logits[place], alone.logits[0], atol=1e-4)


def test_splits_of_their_own(small: Any) -> None:
    data, graph = small
    other = torch.arange(150) % 5 == 0
    train_masks, val_masks = torch.stack([data.train_mask, other]), torch.stack([data.val_mask, data.val_mask])
    model = nn.GCN(40, 3, hidden=8, seeds=[1, 2])
    together = train(model, data, graph, masks=(train_masks, val_masks))
    alone = train(nn.GCN(40, 3, hidden=8, seeds=2), data, graph, masks=(train_masks[1:], val_masks[1:]))
    assert torch.allclose(together.logits[1], alone.logits[0], atol=1e-4)


def test_one_model_without_dropout_is_a_plain_loop(small: Any) -> None:
    data, graph = small
    fitted = train(
        nn.GCN(40, 3, hidden=8, dropout=0.0, seeds=2), data, graph, learning_rate=0.02, weight_decay=1e-3, epochs=15
    )
    model = nn.GCN(40, 3, hidden=8, dropout=0.0, seeds=2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=1e-3)
    losses, accuracies = [], []
    for _ in range(15):
        optimizer.zero_grad()
        loss = cross_entropy(model(data.x, data.edge_index)[data.train_mask], data.y[data.train_mask])
        loss.backward()
        optimizer.step()
        right = model(data.x, data.edge_index).argmax(dim=1) == data.y
        losses.append(loss.item())
        accuracies.append(right[data.val_mask].float().mean().item())
    assert np.allclose(fitted.train_loss[:, 0], losses, atol=1e-5)
    assert np.allclose(fitted.val_history[:, 0], accuracies, atol=1e-6)


def test_the_same_in_distribution_as_pyg_models_one_by_one(small: Any) -> None:
    data, graph = small
    model = nn.GCN(40, 3, hidden=16, seeds=range(12))
    ours = train(model, data, graph, learning_rate=0.01, weight_decay=5e-4, epochs=40)
    test = (ours.logits.argmax(dim=2) == data.y)[:, data.test_mask].float().mean(dim=1)
    theirs = torch.tensor([_pyg(data, seed) for seed in range(12)])
    noise = (test.var() / 12 + theirs.var() / 12).sqrt()
    assert abs(test.mean() - theirs.mean()) < 3 * noise + 1e-3


def _pyg(data: Any, seed: int) -> float:
    torch.manual_seed(seed)
    one, two = GCNConv(40, 16, cached=True), GCNConv(16, 3, cached=True)
    optimizer = torch.optim.Adam([*one.parameters(), *two.parameters()], lr=0.01, weight_decay=5e-4)
    best = (-1.0, 0.0, 0.0)

    def forward(training: bool) -> torch.Tensor:
        return two(dropout(one(data.x, data.edge_index).relu(), 0.5, training), data.edge_index)

    for _ in range(40):
        optimizer.zero_grad()
        cross_entropy(forward(True)[data.train_mask], data.y[data.train_mask]).backward()
        optimizer.step()
        with torch.no_grad():
            scores = forward(False)
        right = (scores.argmax(dim=1) == data.y).float()
        loss = float(cross_entropy(scores[data.val_mask], data.y[data.val_mask]))
        best = max(best, (float(right[data.val_mask].mean()), -loss, float(right[data.test_mask].mean())))
    return best[2]


def test_training_is_deterministic_and_keeps_the_best_epoch(small: Any) -> None:
    data, graph = small
    model = nn.GCN(40, 3, hidden=8, seeds=[0, 1])
    fitted = train(model, data, graph, epochs=30, learning_rate=0.05)
    again = train(nn.GCN(40, 3, hidden=8, seeds=[0, 1]), data, graph, epochs=30, learning_rate=0.05)
    assert torch.equal(fitted.logits, again.logits)
    right = (fitted.logits.argmax(dim=2) == data.y)[:, data.val_mask].float().mean(dim=1).numpy()
    assert np.allclose(right, fitted.val_accuracy, atol=1e-6)
    assert np.allclose(fitted.val_history.max(axis=0), fitted.val_accuracy, atol=1e-6)
    rows = fitted.epoch - 1
    assert np.allclose(fitted.val_history[rows, [0, 1]], fitted.val_accuracy, atol=1e-6)
    assert torch.allclose(nn.predict(model, data.x, graph), fitted.logits, atol=1e-6)


def test_patience_stops_early(small: Any) -> None:
    data, graph = small
    fitted = train(nn.GCN(40, 3, hidden=8, seeds=[0, 1]), data, graph, epochs=400, patience=15)
    assert len(fitted.train_loss) < 400
    assert (len(fitted.train_loss) - fitted.epoch >= 15).all()


def test_missing_labels_outside_the_masks_do_not_matter(small: Any) -> None:
    data, graph = small
    y = data.y.clone()
    y[data.test_mask] = -1
    options: dict[str, Any] = {"epochs": 5}
    masks = (data.train_mask, data.val_mask)
    hidden = nn.fit(nn.GCN(40, 3), data.x, graph, y, *masks, **options)
    shown = nn.fit(nn.GCN(40, 3), data.x, graph, data.y, *masks, **options)
    assert torch.equal(hidden.logits, shown.logits)


def test_it_trains_where_gradients_are_off(small: Any) -> None:
    data, graph = small
    with torch.no_grad():
        off = train(nn.GCN(40, 3, hidden=8), data, graph)
        assert not torch.is_grad_enabled()
    assert torch.equal(off.logits, train(nn.GCN(40, 3, hidden=8), data, graph).logits)


def test_labels_and_masks_may_be_arrays(small: Any) -> None:
    data, graph = small
    given = (data.y, data.train_mask, data.val_mask)
    tensors, arrays = (
        nn.fit(nn.GCN(40, 3), data.x, graph, *parts, epochs=2).logits for parts in (given, [g.numpy() for g in given])
    )
    assert torch.equal(tensors, arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": torch.ones(3, 40)}, "x has 3 rows; the graph has 150 nodes"),
        ({"x": torch.ones(150, 7)}, "x has 7 columns; the model was made for 40"),
        ({"train_mask": torch.zeros(150, dtype=torch.bool)}, "train_mask selects no node"),
        ({"val_mask": torch.ones(3, dtype=torch.bool)}, "val_mask has shape"),
        ({"y": torch.full((150,), 9)}, "y holds class 9 at a train node; classes are 0 to 2"),
        ({"y": torch.zeros(150)}, "y holds torch.float32; it must hold the numbers of the classes"),
        ({"x": torch.full((150, 40), torch.nan)}, "x holds NaN or infinity"),
        ({"x": torch.full((150, 40), torch.inf).to_sparse_csr()}, "x holds NaN or infinity"),
        ({"epochs": 0}, "epochs is 0"),
        ({"learning_rate": -1.0}, "learning_rate must be positive"),
        ({"weight_decay_on": "last"}, "weight_decay_on is 'last'"),
    ],
)
def test_wrong_inputs_are_named(small: Any, change: dict[str, Any], message: str) -> None:
    data, graph = small
    names = ("x", "y", "train_mask", "val_mask")
    given = {name: data[name] for name in names} | {"epochs": 2} | change
    x, y, train_mask, val_mask = (given.pop(name) for name in names)
    with pytest.raises(ValueError, match=message):
        nn.fit(nn.GCN(40, 3), x, graph, y, train_mask, val_mask, **given)


def test_models_with_the_same_seed_and_dropout_drop_the_same_and_draw_once(small: Any) -> None:
    data, graph = small
    inputs = [data.x, data.x + 0.1, data.x + 0.2]
    together = train(nn.GCN(40, 3, hidden=8, seeds=[4, 4, 5], dropout=[0.5, 0.5, 0.5]), data, graph, inputs)
    for place, (seed, x) in enumerate(zip([4, 4, 5], inputs, strict=True)):
        alone = train(nn.GCN(40, 3, hidden=8, seeds=seed), data, graph, x)
        assert torch.allclose(together.logits[place], alone.logits[0], atol=1e-4)
    model = nn.GCN(40, 3, seeds=[4, 4, 5]).train()
    shared = model.dropout().shared
    assert shared is not None
    assert (shared[0], shared[1].tolist()) == ([0, 2], [0, 0, 1])
    assert nn.GCN(40, 3, seeds=[4, 4], input_dropout=0.1).dropout().shared is None
    assert nn.GCN(40, 3, seeds=[4, 4], dropout=[0.1, 0.2]).dropout().shared is None


@pytest.mark.parametrize("layout", ["dense", "several", "sparse"])
def test_a_product_kept_from_the_evaluation_changes_nothing(
    layout: str, small: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, graph = small
    x = {"dense": data.x + 1, "several": [data.x + 1, data.x + 2], "sparse": data.x.to_sparse_csr()}[layout]
    taken: list[int] = []
    known = features._Known.apply
    monkeypatch.setattr(features._Known, "apply", lambda *args: taken.append(1) or known(*args))
    model = {"in_channels": data.x.shape[1], "out_channels": 3, "hidden": 8, "seeds": [0, 1]}
    shared = train(nn.APPNP(**model), data, graph, x, epochs=5)
    assert len(taken) == 4  # every step but the first
    monkeypatch.setattr(features.Features, "known", property(lambda self: None, lambda self, value: None))
    assert torch.allclose(train(nn.APPNP(**model), data, graph, x, epochs=5).logits, shared.logits, atol=1e-6)
    assert len(taken) == 4


def test_small_networks_get_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small parallel regions wait for each other as soon as another process uses a core."""
    seen: list[int] = []
    monkeypatch.setattr(nn.training._Best, "update", lambda self, *_: seen.append(torch.get_num_threads()))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        graph = Graph.from_edges([[0, 1], [1, 2]], num_nodes=3)
        mask = torch.ones(3, dtype=torch.bool)
        nn.fit(nn.GCN(2, 2, hidden=4), torch.rand(3, 2), graph, torch.tensor([0, 1, 0]), mask, mask, epochs=2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == [1, 1]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("kind", "options"), MODELS)
def test_recorded_epochs_are_those_one_by_one(
    small: Any, kind: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, graph = small
    results = []
    for recorded in (True, False):
        monkeypatch.setattr(training, "CUDA_GRAPHS", recorded)
        model = kind(40, 3, hidden=8, seeds=[3, 4], **options).to("cuda")
        results.append(train(model, data, graph, epochs=30, weight_decay=[1e-3, 1e-2]))
    assert np.allclose(results[0].train_loss, results[1].train_loss, atol=1e-3)
    assert np.abs(results[0].val_history - results[1].val_history).mean() < 0.01
