"""Settings of a method."""

from __future__ import annotations

from typing import Any

import pytest

from magnet.experiments import methods


def test_large_graphs_get_three_layers_with_batch_norm() -> None:
    large = methods.get("magnet-gcn").config({"hidden": 128}, nodes=169_343)
    assert (large["layers"], large["batch_norm"], large["hidden"]) == (3, True, 128)
    assert methods.get("magnet-gcn").config({"layers": 2}, nodes=169_343)["layers"] == 2
    assert methods.get("magnet-gcn").config({}, nodes=2708)["layers"] == 2
    assert methods.get("mlp").config({}, nodes=169_343)["layers"] == 2


@pytest.mark.parametrize("value", ["many", True, [1], {}])
def test_a_setting_of_the_wrong_kind_is_named(value: Any) -> None:
    with pytest.raises(ValueError, match="epochs of gcn is"):
        methods.get("gcn").config({"epochs": value})
