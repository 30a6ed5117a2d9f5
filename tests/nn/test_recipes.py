"""Recipes: what a committee, and a network by itself, tries on validation."""

from __future__ import annotations

import pytest

from magnet.nn.recipes import COMMITTEE, DECAYS, MANY_LABELS, MAX_HOMOPHILY, default_recipes, recipes_of
from magnet.nn.sign import SIGN


def test_a_committee_has_every_network_with_two_decays() -> None:
    recipes = default_recipes(train_nodes=100, homophily=0.0)
    assert [recipe.model.__name__.lower() for recipe in recipes[::2]] == list(COMMITTEE)
    assert [recipe.settings["weight_decay"] for recipe in recipes[:2]] == [DECAYS[0] / 100, DECAYS[1] / 100]


def test_sign_votes_where_links_join_different_classes() -> None:
    several = [recipe.model for recipe in default_recipes(homophily=MAX_HOMOPHILY + 0.01)]
    assert [recipe.model for recipe in default_recipes(homophily=MAX_HOMOPHILY)] == [*several, SIGN, SIGN]
    assert {recipe.model for recipe in recipes_of("sign", {}, None, 140, homophily=1.0)} == {SIGN}


@pytest.mark.parametrize(("name", "option"), [("appnp", "alpha"), ("elasticgnn", "lambda1"), ("airgnn", "amplitude")])
def test_a_network_by_itself_tries_several_amounts_of_smoothing(name: str, option: str) -> None:
    recipes = recipes_of(name, {}, None, 140)
    assert len({recipe.settings[option] for recipe in recipes}) == 3
    assert len({recipe.name for recipe in recipes}) == len(recipes) == 6
    given = recipes_of(name, {}, {option: 0.25}, 140)
    assert [recipe.settings[option] for recipe in given] == [0.25, 0.25]
    assert len(recipes_of(name, {"weight_decay": 0.1}, None, 140)) == 3


def test_what_is_given_replaces_the_defaults() -> None:
    recipes = recipes_of("airgnn", {"epochs": 7, "hidden": 5}, None, 140)
    assert {(recipe.settings["epochs"], recipe.settings["hidden"]) for recipe in recipes} == {(7, 5)}


def test_many_labels_make_deeper_networks_with_one_decay() -> None:
    (recipe,) = recipes_of("gcn", {}, None, MANY_LABELS)
    assert recipe.settings["layers"] == 3
    assert recipe.settings["batch_norm"]


def test_a_mistake_is_named() -> None:
    with pytest.raises(ValueError, match="model is 'gnc'"):
        recipes_of("gnc", {}, None, 140)
    with pytest.raises(ValueError, match="model_options are for one network"):
        recipes_of("auto", {}, {"alpha": 0.1}, 140)
