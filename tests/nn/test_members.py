"""Members of a committee: their probabilities, and what a file keeps of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from magnet import nn
from magnet.nn.members import Member, Recipe, restored, single
from magnet.nn.recipes import MODELS, default_settings

SETTINGS = {**default_settings("gcn"), "hidden": 4}


def member(model: Any = None, logits: Any = ((0.0, 2.0),), temperature: float = 1.0) -> Member:
    scores = torch.tensor(logits)
    return Member(
        "as it is", "gcn", 3, 0.5, 0.7, 9, scores, 0.0, settings=SETTINGS, model=model, temperature=temperature
    )


def test_probabilities_are_calibrated_and_those_of_a_diverged_network_uniform() -> None:
    scores = torch.tensor([[0.0, 2.0]])
    assert member().probability_of(scores)[0, 1].item() == pytest.approx(1 / (1 + torch.tensor(-2.0).exp().item()))
    warm = member(temperature=2.0).probability_of(scores)
    assert warm[0, 1].item() == pytest.approx(1 / (1 + torch.tensor(-1.0).exp().item()))
    assert member().probability_of(torch.full((1, 2), torch.nan)).tolist() == [[0.5, 0.5]]


def test_a_member_comes_back_from_what_a_file_keeps(small: Any) -> None:
    data, graph = small
    options = {k: v for k, v in SETTINGS.items() if k in ("hidden", "layers", "dropout")}
    model = nn.GCN(40, 3, seeds=[3], **options).eval()
    before = member(model)
    again = restored(before.described(), model.state_dict(), MODELS, 40, 3)
    assert (again.name, again.key) == ("as it is + gcn", ("as it is", "gcn", 3))
    device = torch.device("cpu")
    assert torch.equal(again.probability(data.x, graph, device), before.probability(data.x, graph, device))
    with pytest.raises(ValueError, match=r"the first layer of a member is \(40, 1, 4\), not \(41, 1, 4\)"):
        restored(before.described(), model.state_dict(), MODELS, 41, 3)
    deep = replace(before, settings={**SETTINGS, "layers": 10**6})
    with pytest.raises(ValueError, match="more than 1000 layers"):
        restored(deep.described(), model.state_dict(), MODELS, 40, 3)


def test_one_network_out_of_a_batch_gives_its_own_scores(small: Any) -> None:
    data, graph = small
    recipe = Recipe("gcn", nn.GCN, SETTINGS)
    batch = nn.GCN(40, 3, seeds=[1, 2], hidden=4).eval()
    alone = single(batch, recipe, 1).eval()
    with torch.no_grad():
        assert torch.allclose(alone(data.x, graph)[0], batch(data.x, graph)[1], atol=1e-6)


def test_only_networks_of_one_shape_are_trained_side_by_side() -> None:
    def shape(**other: Any) -> Any:
        return Recipe("gcn", nn.GCN, {**SETTINGS, **other}).shape

    assert shape() == shape(learning_rate=0.5, weight_decay=0.1, dropout=0.3, scaling="rows")
    assert shape() != shape(hidden=8)
    assert shape() != shape(epochs=1)
