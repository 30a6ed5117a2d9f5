"""The registry of methods, and what each does with a case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from magnet.corruption import inject_attributes
from magnet.datasets import synthetic
from magnet.experiments import methods, run_many
from magnet.experiments.methods import trust
from magnet.experiments.protocol.data import Repetition
from magnet.graph import Graph
from magnet.nn.members import TRAINING

NAMES = {
    *("gcn", "mlp", "appnp", "gnnguard", "elasticgnn", "airgnn"),
    *("magnet-one", "magnet-gae", "magnet-true", "magnet", "propagation-one", "fp", "fp-true", "gae-reconstruction"),
    *("magnet-gcn", "magnet-appnp", "magnet-elasticgnn", "gadc", "ugd"),
}


@pytest.fixture
def case() -> Repetition:
    data = synthetic(nodes=80, features=20, classes=3, seed=2)
    bad = inject_attributes(data, ratio=0.4, select="random", seed=0)
    graph = Graph.from_edges(data.edge_index, data.num_nodes)
    return Repetition(bad.data, graph, 0, bad, torch.device("cpu"))


def found(case: Repetition, gate_open: bool = True, reconstruction: Any = None) -> trust.Detection:
    truth = trust.true_trust(case, "rows")
    return trust.Detection("oracle", truth, truth, 0.3, gate_open, "too small", reconstruction, {}, 0.1)


def test_every_method_of_the_design_is_there_and_builds_its_model() -> None:
    assert set(methods.METHODS) == NAMES
    for name, method in methods.METHODS.items():
        assert method.name == name
        assert set(method.space) <= set(method.defaults)
        assert method.source
        for recipe in method.recipes(None, method.config({})):
            options = {key: value for key, value in recipe.settings.items() if key not in TRAINING}
            model = recipe.model(6, 3, seeds=[0, 1], **options)
            assert model.seeds == [0, 1]
            assert model.out_channels == 3
    assert {name for name, method in methods.METHODS.items() if "truth" in method.defaults} == {
        "magnet-true",
        "fp-true",
    }


def test_the_space_of_every_method_contains_that_of_the_paper() -> None:
    for method in methods.METHODS.values():
        if method.settings_of or method.committee:
            assert method.space == {}
            continue
        for name in ("learning_rate", "weight_decay", "hidden", "epochs", "dropout"):
            assert set(methods.PAPER_SPACE[name]) <= set(method.space[name]), (method.name, name)


def test_large_graphs_get_three_layers_with_batch_norm() -> None:
    large = methods.get("magnet-gcn").config({"hidden": 128}, nodes=169_343)
    assert (large["layers"], large["batch_norm"], large["hidden"]) == (3, True, 128)
    assert methods.get("magnet-gcn").config({"layers": 2}, nodes=169_343)["layers"] == 2
    assert methods.get("magnet-gcn").config({}, nodes=2708)["layers"] == 2
    assert methods.get("mlp").config({}, nodes=169_343)["layers"] == 2


def test_truth_of_cells_and_of_rows(case: Repetition) -> None:
    cells, rows = trust.true_trust(case, "cells"), trust.true_trust(case, "rows")
    assert case.corruption is not None
    assert torch.equal(cells == 0, case.corruption.cells)
    assert torch.equal((rows == 0).any(dim=1), case.corruption.nodes)
    assert torch.equal((rows == 0).all(dim=1), case.corruption.nodes)
    with pytest.raises(ValueError, match="truth is 'columns'"):
        trust.true_trust(case, "columns")


def test_magnet_offers_every_repair_and_nothing_behind_a_closed_gate(
    case: Repetition, monkeypatch: pytest.MonkeyPatch
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


def test_the_repairs_touch_what_is_not_trusted(case: Repetition, monkeypatch: pytest.MonkeyPatch) -> None:
    assert case.corruption is not None
    monkeypatch.setattr("magnet.experiments.methods.trust.detected", lambda c, config: found(c))
    for name in ("fp", "fp-true"):
        method = methods.get(name)
        (candidate,) = method.repair(case, method.config({})).candidates
        repaired = candidate.make()
        trusted = trust.true_trust(case, "rows" if name == "fp" else "cells") == 1
        assert torch.equal(repaired[trusted], case.x[trusted])
        assert not torch.equal(repaired[~trusted], case.x[~trusted])


def test_the_reconstruction_replaces_untrusted_cells_only(case: Repetition, monkeypatch: pytest.MonkeyPatch) -> None:
    guess = torch.full((80, 20), 0.5)
    method = methods.get("gae-reconstruction")
    place = "magnet.experiments.methods.repairs.detected"
    monkeypatch.setattr(place, lambda c, config: found(c, reconstruction=guess))
    repaired = method.repair(case, method.config({})).candidates[0].make()
    wrong = trust.true_trust(case, "rows") == 0
    assert (repaired[wrong] == 0.5).all()
    assert torch.equal(repaired[~wrong], case.x[~wrong])
    monkeypatch.setattr(place, lambda c, config: found(c))
    with pytest.raises(ValueError, match="has no reconstruction"):
        method.repair(case, method.config({})).candidates[0].make()


def test_the_paper_methods_leave_p_and_q_to_validation_unless_told(case: Repetition) -> None:
    method = methods.get("magnet-true")
    open_choice = method.repair(case, method.config({})).candidates
    assert [candidate.name for candidate in open_choice] == [
        "p = 1, q = 2",
        "p = 1, q = 1",
        "p = 0, q = 2",
        "p = 0, q = 1",
    ]
    (fixed,) = method.repair(case, method.config({"p": 1.0, "q": 2.0})).candidates
    assert torch.allclose(fixed.make(), open_choice[0].make())


def test_a_detector_runs_once_for_the_methods_that_share_it(case: Repetition, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(trust, "_detect", lambda c, name, options: calls.append(name) or found(c))
    config = {"detector": "auto", "detector_options": {"threshold": "posterior"}}
    assert trust.detected(case, config) is trust.detected(case, config)
    trust.detected(case, {**config, "detector": "context"})
    assert calls == ["auto", "context"]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Two methods with a real detector, which is fitted once."""
    place = {"dataset": "digits", "corruption": "inject-random", "seed": 0}
    asked = [{**place, "method": "fp", "epochs": 20}, {**place, "method": "magnet", "epochs": 15, "lambdas": [3.0]}]
    return {row["method"]: row for _, row in run_many(asked, "cpu", tmp_path_factory.mktemp("rows"))}


def test_a_row_with_a_real_detector_reports_how_good_it_was(rows: dict[str, Any]) -> None:
    row = rows["fp"]
    assert row["detection"]["node_auroc"] > 0.9
    assert row["detection"]["gate_open"]
    assert abs(row["detection"]["share"] - row["detection"]["true_share"]) < 0.15


def test_wrong_names_are_named() -> None:
    with pytest.raises(ValueError, match="unknown method 'magnett'; did you mean 'magnet'"):
        methods.get("magnett")


def test_our_repair_in_front_of_a_rival(case: Repetition, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("magnet.experiments.methods.repairs.detected", lambda c, config: found(c))
    combined, ours = methods.get("magnet-appnp"), methods.get("magnet")
    names = [[c.name for c in m.repair(case, m.config({})).candidates] for m in (combined, ours)]
    assert names[0] == names[1]
    (recipe,) = combined.recipes(None, combined.config({"alpha": 0.2}))
    assert (recipe.model.__name__, recipe.settings["alpha"]) == ("APPNP", 0.2)
    assert "lambdas" not in recipe.settings


def test_a_detection_that_was_shared_still_counts_in_the_time(tmp_path: Path) -> None:
    request = {"dataset": "digits", "corruption": "inject-random", "method": "fp", "seed": 0, "detector": "cosine"}
    requests = [{**request, "epochs": epochs} for epochs in (3, 4)]
    rows = dict(run_many(requests, "cpu", tmp_path))
    assert rows[0]["detection"]["seconds"] == rows[1]["detection"]["seconds"] > 0
    assert all(row["repair_seconds"] >= row["detection"]["seconds"] for row in rows.values())


@pytest.mark.parametrize("value", ["many", True, [1], {}])
def test_a_setting_of_the_wrong_kind_is_named(value: Any) -> None:
    with pytest.raises(ValueError, match="epochs of gcn is"):
        methods.get("gcn").config({"epochs": value})


def test_the_committee_is_an_average_of_networks_on_repairs(rows: dict[str, Any]) -> None:
    row = rows["magnet"]
    assert row["detection"] == rows["fp"]["detection"]  # found once
    assert sum(row["members"].values()) == pytest.approx(1, abs=0.01)
    networks = {name.split(" + ")[1].split(",")[0].removeprefix("self-taught ") for name in row["members"]}
    assert networks == {"gcn", "appnp", "elasticgnn", "airgnn", "mlp"}
    assert row["chosen"] in row["members"]
    assert row["test_accuracy"] > 0.9
