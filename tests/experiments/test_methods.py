"""The registry of methods, and what each does with a case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from magnet.corruption import inject_attributes
from magnet.datasets import synthetic
from magnet.experiments import methods, run_one
from magnet.experiments.methods import trust
from magnet.experiments.methods.base import Case
from magnet.graph import Graph

NAMES = {
    *("gcn", "mlp", "appnp", "gnnguard", "elasticgnn", "airgnn"),
    *("magnet-one", "magnet-gae", "magnet-true", "magnet", "propagation-one", "fp", "fp-true", "gae-reconstruction"),
    *("magnet-appnp", "magnet-elasticgnn"),
}


@pytest.fixture
def case() -> Case:
    data = synthetic(nodes=80, features=20, classes=3, seed=2)
    bad = inject_attributes(data, ratio=0.4, select="random", seed=0)
    graph = Graph.from_edges(data.edge_index, data.num_nodes)
    return Case(bad.data, graph, 0, bad, torch.device("cpu"))


def found(case: Case, gate_open: bool = True, reconstruction: Any = None) -> trust.Found:
    truth = trust.true_trust(case, "rows")
    wrong = case.corruption.nodes.numpy()  # type: ignore[union-attr]
    return trust.Found(truth, truth, wrong, truth == 0, 0.3, gate_open, "too small", reconstruction, {}, 0.1, "oracle")


def test_every_method_of_the_design_is_there_and_builds_its_model() -> None:
    assert set(methods.METHODS) == NAMES
    for name, method in methods.METHODS.items():
        assert method.name == name
        assert set(method.space) <= set(method.defaults)
        assert method.source
        model = method.build(6, 3, [0, 1], method.config({}))
        assert model.seeds == [0, 1]
        assert model.out_channels == 3
    assert {name for name, method in methods.METHODS.items() if method.sees_truth} == {"magnet-true", "fp-true"}


def test_the_space_of_every_method_contains_that_of_the_paper() -> None:
    for method in methods.METHODS.values():
        if method.settings_of:
            assert method.space == {}
            continue
        for name in ("rate", "decay", "hidden", "epochs", "dropout"):
            assert set(methods.PAPER_SPACE[name]) <= set(method.space[name]), (method.name, name)


def test_large_graphs_get_three_layers_with_batch_norm() -> None:
    large = methods.get("magnet").config({"hidden": 128}, nodes=169_343)
    assert (large["layers"], large["batch_norm"], large["hidden"]) == (3, True, 128)
    assert methods.get("magnet").config({"layers": 2}, nodes=169_343)["layers"] == 2
    assert methods.get("magnet").config({}, nodes=2708)["layers"] == 2
    assert methods.get("mlp").config({}, nodes=169_343)["layers"] == 2
    assert len(methods.get("gcn").build(6, 3, [0], large).norms) == 2


def test_truth_of_cells_and_of_rows(case: Case) -> None:
    cells, rows = trust.true_trust(case, "cells"), trust.true_trust(case, "rows")
    assert case.corruption is not None
    assert torch.equal(cells == 0, case.corruption.cells)
    assert torch.equal((rows == 0).any(dim=1), case.corruption.nodes)
    assert torch.equal((rows == 0).all(dim=1), case.corruption.nodes)
    with pytest.raises(ValueError, match="truth is 'columns'"):
        trust.true_trust(case, "columns")


def test_magnet_offers_every_repair_and_nothing_behind_a_closed_gate(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = methods.get("magnet")
    monkeypatch.setattr("magnet.experiments.methods.magnet.detected", lambda c, config: found(c))
    names = [candidate.name for candidate in method.repair(case, method.config({})).candidates]
    smoothing = [f"propagation {lam}" for lam in (1, 3, 10, 30)]
    assert names == ["as it is", "feature propagation", *smoothing, "framelet 1"]
    monkeypatch.setattr("magnet.experiments.methods.magnet.detected", lambda c, config: found(c, gate_open=False))
    closed = method.repair(case, method.config({}))
    assert [candidate.name for candidate in closed.candidates] == ["as it is"]
    assert closed.candidates[0].make() is case.data.x
    assert "too small" in closed.remark


def test_the_repairs_touch_what_is_not_trusted(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    assert case.corruption is not None
    monkeypatch.setattr("magnet.experiments.methods.propagation.detected", lambda c, config: found(c))
    for name in ("fp", "fp-true"):
        method = methods.get(name)
        (candidate,) = method.repair(case, method.config({})).candidates
        repaired = candidate.make()
        trusted = trust.true_trust(case, "rows" if name == "fp" else "cells") == 1
        assert torch.equal(repaired[trusted], case.x[trusted])
        assert not torch.equal(repaired[~trusted], case.x[~trusted])


def test_the_reconstruction_replaces_untrusted_cells_only(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    guess = torch.full((80, 20), 0.5)
    method = methods.get("gae-reconstruction")
    place = "magnet.experiments.methods.reconstruction.detected"
    monkeypatch.setattr(place, lambda c, config: found(c, reconstruction=guess))
    repaired = method.repair(case, method.config({})).candidates[0].make()
    wrong = trust.true_trust(case, "rows") == 0
    assert (repaired[wrong] == 0.5).all()
    assert torch.equal(repaired[~wrong], case.x[~wrong])
    monkeypatch.setattr(place, lambda c, config: found(c))
    with pytest.raises(ValueError, match="reconstructs nothing"):
        method.repair(case, method.config({})).candidates[0].make()


def test_the_paper_methods_leave_p_and_q_to_validation_unless_told(case: Case) -> None:
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


def test_a_detector_runs_once_for_the_methods_that_share_it(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(trust, "_detect", lambda c, name, options: calls.append(name) or found(c))
    config = {"detector": "auto", "detector_options": {"threshold": "posterior"}}
    assert trust.detected(case, config) is trust.detected(case, config)
    trust.detected(case, {**config, "detector": "context"})
    assert calls == ["auto", "context"]


def test_a_row_with_a_real_detector_reports_how_good_it_was(tmp_path: Path) -> None:
    row = run_one("digits", "inject-random", "fp", 0, epochs=20, device="cpu", folder=tmp_path)
    assert row["detection"]["node_auroc"] > 0.9
    assert row["detection"]["gate_open"]
    assert abs(row["detection"]["share"] - row["detection"]["true_share"]) < 0.15


def test_wrong_names_are_named() -> None:
    with pytest.raises(ValueError, match="unknown method 'magnett'; did you mean 'magnet'"):
        methods.get("magnett")


def test_our_repair_in_front_of_a_rival(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("magnet.experiments.methods.magnet.detected", lambda c, config: found(c))
    combined, ours = methods.get("magnet-appnp"), methods.get("magnet")
    names = [[c.name for c in m.repair(case, m.config({})).candidates] for m in (combined, ours)]
    assert names[0] == names[1]
    assert type(combined.build(6, 3, [0], combined.config({"alpha": 0.2}))).__name__ == "APPNP"


def test_a_detection_that_was_shared_still_counts_in_the_time(tmp_path: Path) -> None:
    options: dict[str, Any] = {"detector": "cosine", "epochs": 3, "device": "cpu", "folder": tmp_path}
    trust._KEPT.clear()
    for _ in range(2):
        row = run_one("digits", "inject-random", "fp", 0, **options)
        assert row["repair_seconds"] >= row["detection"]["seconds"] > 0
    assert len(trust._KEPT) == 1
