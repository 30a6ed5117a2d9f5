"""Methods that repair the features."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from magnet.experiments import methods
from magnet.experiments.methods import trust
from magnet.experiments.protocol.data import Repetition


def test_magnet_offers_every_repair_and_nothing_behind_a_closed_gate(
    case: Repetition, monkeypatch: pytest.MonkeyPatch, found: Any
) -> None:
    method = methods.get("magnet")
    monkeypatch.setattr("magnet.experiments.methods.repairs.detected", lambda c, config: found(c))
    names = [candidate.name for candidate in method.repair(case, method.config({})).candidates]
    smoothing = [f"propagation {lam}" for lam in (1, 3, 10, 30)]
    assert names == ["as it is", "feature propagation", *smoothing, "framelet 1"]
    monkeypatch.setattr("magnet.experiments.methods.repairs.detected", lambda c, config: found(c, gate_open=False))
    closed = method.repair(case, method.config({}))
    assert [candidate.name for candidate in closed.candidates] == ["as it is"]
    assert closed.candidates[0].make() is case.data.x
    assert "too small" in closed.remark


def test_the_repairs_touch_what_is_not_trusted(case: Repetition, monkeypatch: pytest.MonkeyPatch, found: Any) -> None:
    assert case.corruption is not None
    monkeypatch.setattr("magnet.experiments.methods.trust.detected", lambda c, config: found(c))
    for name in ("fp", "fp-true"):
        method = methods.get(name)
        (candidate,) = method.repair(case, method.config({})).candidates
        repaired = candidate.make()
        trusted = trust.true_trust(case, "rows" if name == "fp" else "cells") == 1
        assert torch.equal(repaired[trusted], case.x[trusted])
        assert not torch.equal(repaired[~trusted], case.x[~trusted])


def test_our_repair_in_front_of_a_rival(case: Repetition, monkeypatch: pytest.MonkeyPatch, found: Any) -> None:
    monkeypatch.setattr("magnet.experiments.methods.repairs.detected", lambda c, config: found(c))
    combined, ours = methods.get("magnet-appnp"), methods.get("magnet")
    names = [[c.name for c in m.repair(case, m.config({})).candidates] for m in (combined, ours)]
    assert names[0] == names[1]
    (recipe,) = combined.recipes(None, combined.config({"alpha": 0.2}))
    assert (recipe.model.__name__, recipe.settings["alpha"]) == ("APPNP", 0.2)
    assert "lambdas" not in recipe.settings
