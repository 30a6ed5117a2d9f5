"""The committee: which members are trained, and on what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from magnet.datasets import synthetic
from magnet.graph import Graph
from magnet.nn import committee
from magnet.nn.committee import Committee
from magnet.nn.features import principal, row_normalized, unit_scaled
from magnet.nn.members import Member, Problem
from magnet.nn.recipes import COMMITTEE, DECAYS, MODELS, default_recipes, default_settings
from magnet.nn.voting import (
    FOLDS,
    TAUGHT_SHARES,
    best,
    folded,
    self_taught,
)
from magnet.recovery.candidates import Candidate


@pytest.fixture(scope="module")
def small() -> Any:
    data = synthetic(nodes=150, features=30, classes=3, average_degree=6, signal=0.6, words=8, seed=3)
    index = torch.arange(150)
    data.train_mask, data.val_mask, data.test_mask = index < 30, (index >= 30) & (index < 80), index >= 80
    return data


def problem(data: Any, candidates: list[Candidate], recipes: Any, seed: int = 0) -> Problem:
    graph = Graph.from_edges(data.edge_index, data.num_nodes)
    return Problem(graph, data.y, data.train_mask, data.val_mask, 30, 3, seed, candidates, recipes)


def test_every_network_on_the_first_and_the_best_candidate(small: Any) -> None:
    noise = torch.rand(small.x.shape, generator=torch.Generator().manual_seed(0))
    made: list[str] = []

    def make(name: str, x: Any) -> Candidate:
        return Candidate(name, lambda: made.append(name) or x)

    names = ["noise 1", "same", "noise 2", "noise 3"]
    candidates = [make(n, noise if n.startswith("noise") else small.x) for n in names]
    recipes = default_recipes(("gcn", "mlp"), {"epochs": 20, "hidden": 8})
    given = problem(small, candidates, recipes)
    done = Committee([given], torch.device("cpu"), teach=False, keep_models=True).train()
    members = done.members[0]
    tried = {(each.candidate, each.recipe.split(",")[0]) for each in members}
    assert {name for name, recipe in tried if recipe == "gcn"} == set(names)
    assert {name for name, recipe in tried if recipe == "mlp"} == {"noise 1", "same"}
    assert {each.kind for each in members} == {"GCN", "MLP"}
    assert len(members) == len(DECAYS) * (4 + 2)
    assert made == names  # each is made once
    assert done.make_seconds[0] > 0
    kept = next(each for each in members if each.candidate == "same")
    assert kept.model is not None
    x = unit_scaled(small.x)
    assert torch.allclose(kept.model.eval()(x, small.edge_index)[0], kept.logits, atol=1e-4)
    everything = Committee([given], torch.device("cpu"), prune=False, teach=False).train().members[0]
    assert len(everything) == len(DECAYS) * (4 + 4)


def test_the_surest_predictions_become_labels(small: Any) -> None:
    given = problem(small, [Candidate("as it is", lambda: small.x)], default_recipes(("gcn", "mlp")))
    sure = torch.linspace(0, 3, 150)
    logits = torch.zeros(150, 3)
    logits[torch.arange(150), small.y] = sure  # right everywhere, and surer of the later nodes
    said = Member("as it is", "gcn", 0, 1.0, 0.1, 1, logits, 0.0)
    few = Problem(**{**vars(given), "train_mask": torch.arange(150) < 10})
    taught = self_taught(few, [said], few.candidates, 0.4)
    assert taught is not None
    new = taught.train_mask & ~few.train_mask
    assert not (new & small.val_mask).any()
    assert torch.equal(taught.y[taught.train_mask], small.y[taught.train_mask])
    free = ~(few.train_mask | small.val_mask)
    for group in range(3):
        nodes = (free & (small.y == group)).nonzero().ravel()
        assert torch.equal((new & (small.y == group)).nonzero().ravel(), nodes[-int(0.4 * len(nodes)) :])
    names = [recipe.name for recipe in taught.recipes]
    assert names == ["self-taught 40% gcn, weak decay", "self-taught 40% mlp, weak decay"]
    assert self_taught(given, [said], given.candidates, 0.4) is None  # 28 new labels beside 30 are not worth it


def test_a_committee_learns_from_its_own_predictions() -> None:
    data = synthetic(nodes=400, features=40, classes=3, average_degree=6, signal=0.6, words=8, seed=0)
    graph, index = Graph.from_edges(data.edge_index, 400), torch.arange(400)
    train, val, test = index < 15, (index >= 15) & (index < 115), index >= 115
    recipes = default_recipes(("gcn", "appnp"), {"epochs": 60, "hidden": 16}, train_nodes=15)
    given = Problem(graph, data.y, train, val, 40, 3, 0, [Candidate("as it is", lambda: data.x)], recipes)
    members = Committee([given], torch.device("cpu")).train().members[0]
    taught = [each.recipe.startswith("self-taught") for each in members]
    assert taught == [False] * 4 + [True] * 2 * len(TAUGHT_SHARES)
    assert all(each.held_out is None for each in members)  # the new labels come from those that would be left out
    right = [float((each.logits.argmax(dim=1) == data.y)[test].float().mean()) for each in members]
    assert np.mean(right[4:]) > np.mean(right[:4]) + 0.1
    one = Problem(**{**vars(given), "recipes": recipes[:2]})
    alone = Committee([one], torch.device("cpu")).train().members[0]
    assert len(alone) == 2  # networks of one kind are left as they are


def test_few_validation_nodes_are_helped_by_the_other_labeled_ones(small: Any) -> None:
    recipes = default_recipes(("gcn", "mlp"), {"epochs": 20, "hidden": 8}, train_nodes=30)
    given = problem(small, [Candidate("as it is", lambda: small.x)], recipes)
    members = Committee([given], torch.device("cpu")).train().members[0]
    labeled = small.train_mask | small.val_mask
    for each in members:
        assert each.held_out is not None
        nodes, logits = each.held_out
        assert torch.equal(nodes.sort()[0], labeled.nonzero().ravel())  # every labeled node is left out once
        assert logits.shape == (80, 3)
        assert not torch.allclose(logits, each.logits[nodes])
    parts = folded(given)
    assert len(parts) == FOLDS
    for part in parts:
        assert not (part.train_mask & part.val_mask).any()
        assert torch.equal(part.train_mask | part.val_mask, labeled)
        counts = torch.bincount(small.y[part.val_mask], minlength=3)
        assert int(counts.min()) >= 3  # every class is in every fold


def test_reduced_features_give_networks_on_all_of_them(small: Any) -> None:
    x = torch.rand(150, 80, generator=torch.Generator().manual_seed(1)) @ torch.eye(80)[:, :8].repeat(1, 10)
    basis = principal(x, 8)
    assert torch.allclose(basis.T @ basis, torch.eye(8), atol=1e-4)
    assert torch.allclose(x @ basis @ basis.T, x, atol=1e-3)  # of rank 8: nothing is lost
    recipes = [replace(each, settings={**each.settings, "components": 8}) for each in default_recipes(("gcn", "mlp"))]
    recipes = [replace(each, settings={**each.settings, "epochs": 10, "hidden": 8}) for each in recipes]
    given = replace(problem(small, [Candidate("repaired", lambda: x)], recipes), inputs=80)
    for each in Committee([given], torch.device("cpu"), teach=False, keep_models=True).train().members[0]:
        assert each.model is not None
        assert each.model.in_channels == 80
        again = each.probability(x, given.graph, torch.device("cpu"))
        assert torch.allclose(again, each.probability_of(each.logits), atol=1e-4)


def test_problems_side_by_side_are_each_alone(small: Any) -> None:
    recipes = default_recipes(("gcn", "appnp"), {"epochs": 15, "hidden": 8})
    candidates = [Candidate("as it is", lambda: small.x)]
    problems = [problem(small, candidates, recipes, seed) for seed in (0, 1)]
    few = {"graph": problems[0].graph, "train_mask": torch.arange(150) < 10}
    problems = [Problem(**{**vars(each), **few}) for each in problems]
    together = Committee(problems, torch.device("cpu")).train().members
    alone = Committee(problems[1:], torch.device("cpu")).train().members[0]
    assert [each.recipe for each in together[1]] == [each.recipe for each in alone]
    assert any(each.recipe.startswith("self-taught") for each in alone)
    for left, right in zip(together[1], alone, strict=True):
        assert torch.allclose(left.logits, right.logits, atol=1e-3)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_unit_scale_does_not_depend_on_the_units(layout: str) -> None:
    x = torch.rand(50, 7, generator=torch.Generator().manual_seed(0)) * (torch.arange(7) > 1)
    scaled = [unit_scaled(c * x if layout == "dense" else (c * x).to_sparse_csr()) for c in (1.0, 300.0)]
    first, second = (each if layout == "dense" else each.to_dense() for each in scaled)
    assert torch.allclose(first, second, rtol=1e-4)
    assert float(first.var(dim=0, correction=0).sum()) == pytest.approx(1, rel=1e-4)
    assert torch.equal(unit_scaled(torch.ones(3, 2)), torch.ones(3, 2))


@pytest.mark.parametrize("words", [4, 60])
@pytest.mark.parametrize("name", COMMITTEE)
def test_no_network_collapses_on_dense_or_sparse_bags(name: str, words: int) -> None:
    data = synthetic(nodes=240, features=120, classes=3, average_degree=8, signal=0.8, words=words, seed=5)
    index = torch.arange(240)
    masks = (index < 60, (index >= 60) & (index < 120), index >= 120)
    graph = Graph.from_edges(data.edge_index, data.num_nodes)
    in_committee = [r for r in default_recipes(given={"epochs": 100}) if r.model is MODELS[name]]
    alone = default_recipes((name,), {"epochs": 100})
    for recipes in (in_committee, alone):
        given = Problem(graph, data.y, *masks[:2], 120, 3, 0, [Candidate("as it is", lambda: data.x)], recipes)
        members = Committee([given], torch.device("cpu")).train().members[0]
        # every member counts; of what a network tries by itself, only the best on validation
        for each in members if recipes is in_committee else [members[best(members)]]:
            right = (each.logits.argmax(dim=1) == data.y)[masks[2]].float().mean()
            assert right > 0.6, (each.recipe, float(right))


def test_the_settings_of_every_network_build_it() -> None:
    for name, model in MODELS.items():
        settings = default_settings(name)
        assert settings["scaling"] == "unit"
        assert model(5, 2, hidden=settings["hidden"], dropout=settings["dropout"]).out_channels == 2
    assert [recipe.settings["weight_decay"] for recipe in default_recipes(("gcn",), {"weight_decay": 0.5})] == [0.5]


def test_networks_in_small_batches_are_those_of_one_batch(small: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scaled = [small.x * factor for factor in (1.0, 0.7, 0.4)]
    candidates = [Candidate(f"scaled {k}", lambda x=x: x.clone(), is_new=True) for k, x in enumerate(scaled)]
    wide = problem(small, candidates, default_recipes(("gcn",), {"epochs": 15, "hidden": 8}))
    found = []
    for at_once in (1, 3):
        monkeypatch.setattr(Committee, "_matrices_at_once", lambda *_, at_once=at_once: at_once)
        found.append(Committee([wide], torch.device("cpu"), teach=False).train().members[0])
    assert [each.key for each in found[0]] == [each.key for each in found[1]]
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one.logits, other.logits, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scale", [unit_scaled, row_normalized])
def test_scaling_in_place_is_the_scaling_of_a_copy(scale: Any) -> None:
    x = 3 * torch.rand(20, 7, generator=torch.Generator().manual_seed(0))
    expected = scale(x.clone())
    assert torch.equal(scale(x, in_place=True), expected)
    assert torch.equal(x, expected)


def test_little_memory_makes_small_batches_of_reduced_features(small: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    recipes = default_recipes(("gcn",), {"components": 2, "hidden": 8})
    candidates = [Candidate(f"scaled {k}", lambda: small.x) for k in range(3)]
    one = Committee([problem(small, candidates, recipes)], torch.device("cpu"))
    jobs = one._jobs(0, candidates, first=True)
    monkeypatch.setattr(committee, "available", lambda device: 1 << 40)
    monkeypatch.setattr(committee, "TRAINING_SHARE", 0.0)
    assert one._matrices_at_once(jobs) == 1
    monkeypatch.setattr(committee, "TRAINING_SHARE", 1e9)
    assert one._matrices_at_once(jobs) > 3


def test_features_with_few_filled_cells_are_kept_sparse_without_loss_and_others_as_they_are() -> None:
    device = torch.device("cpu")
    dense = torch.rand(50, 40, generator=torch.Generator().manual_seed(0)) + 0.1
    few = torch.zeros(50, 40)
    few[3, 7], few[20, 0] = 1.5, -2.0
    kept = committee._compact(few, device)
    assert kept.layout == torch.sparse_csr
    assert torch.equal(kept.to_dense(), few)
    assert committee._compact(dense, device) is dense
