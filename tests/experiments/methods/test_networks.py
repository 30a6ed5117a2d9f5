"""The networks on the data as they are, and their published settings."""

from __future__ import annotations

import pytest

from magnet.experiments.methods import METHODS
from magnet.experiments.methods.base import untouched
from magnet.experiments.methods.networks import PUBLISHED


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_settings_are_settings_of_the_network(name: str) -> None:
    config = METHODS[name].config(PUBLISHED[name])
    assert {key: config[key] for key in PUBLISHED[name]} == PUBLISHED[name]


@pytest.mark.parametrize("name", ["appnp", "elasticgnn", "airgnn"])
def test_the_search_can_find_the_published_settings(name: str) -> None:
    space = METHODS[name].space
    searched = {key: value for key, value in PUBLISHED[name].items() if key in space}
    assert {"learning_rate", "weight_decay", "input_dropout", "epochs", "scaling"} <= set(searched)
    assert [key for key, value in searched.items() if value not in space[key]] == []


def test_networks_repair_nothing() -> None:
    for name in ("gcn", *PUBLISHED):
        assert METHODS[name].repair is untouched
        assert METHODS[name].model.__name__.lower() == name
