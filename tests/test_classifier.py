"""MAGnetClassifier: scikit-learn's manners, what it repairs, and what it leaves alone."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import magnet
from magnet import MAGnetClassifier, detection
from magnet.corruption import inject_attributes
from magnet.datasets import load, synthetic


class Oracle:
    """A detector that is told the truth."""

    def __init__(self, trust: torch.Tensor, open_gate: bool = True) -> None:
        self.trust_, self.soft_trust_ = trust, trust
        self.gate_ = SimpleNamespace(open=open_gate, reason="nothing to compare with")

    def fit(self, data: Any) -> Oracle:
        return self


@pytest.fixture(scope="module")
def bad() -> Any:
    return inject_attributes(load("digits"), ratio=0.7, select="random", seed=1)


@pytest.fixture(scope="module")
def plain(bad: Any) -> MAGnetClassifier:
    return MAGnetClassifier("gcn", detector="none", epochs=40).fit(bad.data)


def told(monkeypatch: pytest.MonkeyPatch, bad: Any, open_gate: bool = True) -> None:
    trust = (~bad.nodes).float().unsqueeze(1).expand(bad.data.x.shape)
    monkeypatch.setattr(detection, "make", lambda *args, **options: Oracle(trust, open_gate))


def test_it_repairs_what_a_good_detector_finds(monkeypatch: pytest.MonkeyPatch, bad: Any, plain: Any) -> None:
    told(monkeypatch, bad)
    clf = MAGnetClassifier("gcn", epochs=40, lambdas=(1.0,), strengths=()).fit(bad.data)
    features, networks = ("as it is", "feature propagation", "propagation 1"), ("gcn, weak decay", "gcn, strong decay")
    assert set(clf.val_accuracy_) == {f"{name} + {network}" for name in features for network in networks}
    assert max(clf.val_accuracy_, key=lambda name: clf.val_accuracy_[name]).startswith(f"{clf.chosen_} + gcn")
    assert clf.chosen_ != "as it is"
    assert clf.score(bad.data) > plain.score(bad.data) + 0.01


def test_a_closed_gate_leaves_the_data_alone(monkeypatch: pytest.MonkeyPatch, bad: Any, plain: Any) -> None:
    told(monkeypatch, bad, open_gate=False)
    clf = MAGnetClassifier("gcn", epochs=40).fit(bad.data)
    assert clf.chosen_ == "as it is"
    assert "nothing to compare with" in clf.remark_
    assert np.allclose(clf.predict_proba(), plain.predict_proba())


def test_probabilities_and_predictions_agree(bad: Any, plain: Any) -> None:
    probability = plain.predict_proba(bad.data)
    assert probability.shape == (1797, 10)
    assert np.allclose(probability.sum(axis=1), 1)
    assert (plain.predict() == plain.classes_[probability.argmax(axis=1)]).all()
    test = bad.data.test_mask.numpy()
    assert plain.score(bad.data) == pytest.approx((plain.predict()[test] == bad.data.y.numpy()[test]).mean())


def test_parameters_are_kept_and_clonable() -> None:
    clf = MAGnetClassifier("appnp", epochs=7, model_options={"alpha": 0.3})
    again = clone(clf)
    assert again.get_params() == clf.get_params()
    assert again.set_params(epochs=9).epochs == 9
    assert not hasattr(again, "members_")
    assert "epochs=7" in repr(clf)


def test_labels_of_any_kind_and_unknown_ones(bad: Any, plain: Any) -> None:
    data = copy.copy(bad.data)
    words: list[Any] = [f"digit {int(y)}" for y in bad.data.y]
    for node in bad.data.test_mask.nonzero().ravel().tolist():
        words[node] = None
    clf = MAGnetClassifier("gcn", detector="none", epochs=40).fit(data, y=words)
    assert clf.classes_[3] == "digit 3"
    assert [f"digit {y}" for y in plain.predict()[:50]] == clf.predict()[:50].tolist()


def test_without_masks_it_holds_out_its_own_validation_nodes() -> None:
    data = synthetic(nodes=200, features=30, classes=3, signal=0.7, seed=0)
    data.y[:120] = -1
    for name in ("train_mask", "val_mask", "test_mask"):
        del data[name]
    clf = MAGnetClassifier("gcn", detector="none", epochs=30, initializations=3).fit(data)
    assert clf.predict().shape == (200,)
    assert [member.seed for member in clf.members_] == [0, 1000, 2000]
    assert np.allclose(clf.weights_, 1 / 3)
    assert clf.score(data) > 0.6
    data.test_mask = torch.arange(200) >= 150
    train, val = clf._parts(data, data.y >= 0)
    assert int((train | val).sum()) == 30  # those that are labeled and not for the test


def test_missing_cells_are_filled(bad: Any, plain: Any) -> None:
    data = copy.copy(bad.data)
    data.x = bad.data.x.clone()
    data.x[::9, ::5] = float("nan")
    clf = MAGnetClassifier("gcn", detector="none", epochs=40).fit(data)
    assert torch.isfinite(clf.x_).all()
    assert clf.score(data) > plain.score(bad.data) - 0.05


def test_another_graph_is_predicted_with_the_same_model(monkeypatch: pytest.MonkeyPatch, bad: Any) -> None:
    told(monkeypatch, bad)
    clf = MAGnetClassifier("gcn", epochs=40, lambdas=(3.0,), strengths=()).fit(bad.data)
    other = copy.copy(bad.data)
    other.x = bad.data.x + 1e-4
    assert (clf.predict(other) == clf.predict()).mean() > 0.98
    other.x = bad.data.x[:, :5]
    with pytest.raises(ValueError, match="x has 5 columns; the classifier was fitted on 64"):
        clf.predict(other)


def test_a_saved_classifier_is_the_same(tmp_path: Path, bad: Any, plain: Any) -> None:
    plain.save(tmp_path / "model.npz")
    again = MAGnetClassifier.load(tmp_path / "model.npz")
    assert again.get_params() == plain.get_params()
    assert np.array_equal(again.predict_proba(bad.data), plain.predict_proba(bad.data))
    other = copy.copy(bad.data)
    other.x = bad.data.x * 0.9
    assert np.allclose(again.predict_proba(other), plain.predict_proba(other), atol=1e-6)
    with np.load(tmp_path / "model.npz", allow_pickle=False) as arrays:
        assert all(arrays[name].dtype != object for name in arrays)


@pytest.fixture(scope="module")
def committee(bad: Any) -> MAGnetClassifier:
    trust = (~bad.nodes).float().unsqueeze(1).expand(bad.data.x.shape)
    return MAGnetClassifier(detector=trust, epochs=25, lambdas=(3.0,), strengths=()).fit(bad.data)


def test_the_committee_averages_networks_on_repairs(bad: Any, committee: Any, plain: Any) -> None:
    table = committee.summary()
    assert list(table.columns) == ["features", "network", "seed", "val_accuracy", "weight"]
    assert table["weight"].sum() == pytest.approx(1)
    assert table["weight"].is_monotonic_decreasing
    assert len(table) == len(committee.members_) == len(committee.weights_)
    repairs = {name.split(" + ")[0] for name in committee.val_accuracy_}
    assert repairs == {"as it is", "feature propagation", "propagation 3"}
    best = max(member.val_accuracy for member in committee.members_)
    assert table["val_accuracy"][0] > best - 0.02
    assert table["features"][0] == committee.chosen_
    assert any(network.startswith("self-taught") for network in table["network"])
    assert committee.score(bad.data) > plain.score(bad.data)


def test_a_saved_committee_is_the_same(tmp_path: Path, bad: Any) -> None:
    clf = MAGnetClassifier(detector="none", epochs=15).fit(bad.data)
    clf.save(tmp_path / "model.npz")
    again = MAGnetClassifier.load(tmp_path / "model.npz")
    assert np.array_equal(again.predict_proba(), clf.predict_proba())
    other = copy.copy(bad.data)
    other.x = bad.data.x * 0.9 + 0.01
    assert np.allclose(again.predict_proba(other), clf.predict_proba(other), atol=1e-6)
    assert again.summary().equals(clf.summary())


def test_where_links_join_different_classes_sign_votes_too(tmp_path: Path) -> None:
    data = synthetic(nodes=300, features=40, classes=3, average_degree=6, homophily=0.0, words=5, seed=0)
    clf = MAGnetClassifier(detector="none", epochs=40, hidden=24).fit(data)
    of_sign = clf.summary()["network"].str.contains("sign")
    assert 0.5 < clf.summary()["weight"][of_sign].sum() < 1
    assert clf.score(data) > MAGnetClassifier("mlp", detector="none", epochs=40, hidden=24).fit(data).score(data) + 0.05
    clf.save(tmp_path / "model.npz")
    other = synthetic(nodes=200, features=40, classes=3, average_degree=6, homophily=0.0, words=5, seed=0)
    assert np.allclose(MAGnetClassifier.load(tmp_path / "model.npz").predict_proba(other), clf.predict_proba(other))


def _changed(path: Path, clf: Any, change: Any) -> Path:
    """The file of a classifier with other facts."""
    clf.save(path / "model.npz")
    with np.load(path / "model.npz") as arrays:
        kept = {name: arrays[name] for name in arrays}
    facts = json.loads(str(kept["facts"]))
    change(facts)
    kept["facts"] = np.array(json.dumps(facts))
    np.savez(path / "changed.npz", **kept)
    return path / "changed.npz"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda facts: facts.update(members=[]), "0 members"),
        (lambda facts: facts.update(features=10**9), "first layer of a member"),
        (lambda facts: facts.update(format="magnet-classifier-1"), "its format is"),
        (lambda facts: facts["members"][0]["settings"].update(layers=10**9), "layers or steps"),
    ],
)
def test_a_file_that_asks_for_too_much_is_refused(tmp_path: Path, plain: Any, change: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MAGnetClassifier.load(_changed(tmp_path, plain, change))


def test_a_file_of_another_kind_is_not_called_damaged(tmp_path: Path, plain: Any) -> None:
    plain.save(tmp_path / "classifier.npz")
    magnet.MAGnet("none").fit(synthetic(nodes=60, features=3)).save(tmp_path / "cleaner.npz")
    with pytest.raises(ValueError, match=r"^\S*cleaner\.npz holds no classifier"):
        MAGnetClassifier.load(tmp_path / "cleaner.npz")
    with pytest.raises(ValueError, match=r"^\S*classifier\.npz holds no cleaner"):
        magnet.MAGnet.load(tmp_path / "classifier.npz")


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    path.write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(ValueError, match=r"model\.npz"):
        MAGnetClassifier.load(path)


@pytest.mark.parametrize("name", ["classes_", "members_", "weights_", "val_accuracy_", "chosen_", "x_", "temperature_"])
def test_results_before_fit_ask_for_fit(name: str) -> None:
    clf = MAGnetClassifier()
    with pytest.raises(NotFittedError, match="not fitted; call fit first"):
        getattr(clf, name)
    assert not hasattr(clf, name)
    assert not hasattr(clone(clf), name)


def test_only_results_of_fit_ask_for_fit(plain: Any) -> None:
    with pytest.raises(NotFittedError, match="call fit first"):
        MAGnetClassifier().summary()
    for clf, name in ((MAGnetClassifier(), "weight"), (plain, "weight_")):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'") as caught:
            getattr(clf, name)
        assert not isinstance(caught.value, NotFittedError)


def test_wrong_use_is_named(bad: Any) -> None:
    with pytest.raises(NotFittedError):
        MAGnetClassifier().predict()
    with pytest.raises(ValueError, match="model is 'gat'; it must be one of 'auto', 'gcn'"):
        MAGnetClassifier("gat").fit(bad.data)
    with pytest.raises(ValueError, match=r"y has shape \(3,\)"):
        MAGnetClassifier().fit(bad.data, y=[1, 2, 3])
    with pytest.raises(ValueError, match="y holds 1 classes"):
        MAGnetClassifier().fit(bad.data, y=np.zeros(1797, dtype=int))
    with pytest.raises(ValueError, match="without a feature matrix x"):
        magnet.MAGnetClassifier(detector="none").fit(magnet.classifier.Data(y=torch.zeros(3)))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"model": "gat"}, "model is 'gat'"),
        ({"lambdas": 3.0}, "lambdas is 3.0; it must be a sequence"),
        ({"strengths": (1.0, -1.0)}, "strengths is -1.0"),
        ({"seed": None}, "seed is None"),
        ({"device": "gpu"}, "device is 'gpu'"),
        ({"epochs": 0}, "epochs is 0"),
        ({"model": "gcn", "model_options": {"alpha": 0.1}}, "model_options: got an unexpected .* 'alpha'"),
        ({"model_options": {"alpha": 0.1}}, "model_options are for one network"),
    ],
)
def test_wrong_arguments_are_named_before_the_detection(
    monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any], message: str, bad: Any
) -> None:
    monkeypatch.setattr(detection, "make", lambda *_, **__: pytest.fail("the detection began"))
    with pytest.raises(ValueError, match=message):
        MAGnetClassifier(**wrong).fit(bad.data)


def test_features_with_gradients_and_labels_in_a_column(bad: Any, plain: Any) -> None:
    data = copy.copy(bad.data)
    data.x, data.y = data.x.to_dense().clone().requires_grad_(), data.y[:, None]
    found = MAGnetClassifier("gcn", detector="none", epochs=5).fit(data)
    expected = MAGnetClassifier("gcn", detector="none", epochs=5).fit(bad.data)
    np.testing.assert_allclose(found.predict_proba(), expected.predict_proba(), atol=1e-3)
    assert found.score(data) == found.score(bad.data)


def test_a_column_in_another_unit_does_not_hide_the_others() -> None:
    data = synthetic(400, 20, 3, 8.0, 0.9, kind="continuous", seed=0)
    usual = MAGnetClassifier("gcn", detector="none").fit(data)
    accuracy = usual.score(data)
    noise = 1000 * torch.randn(400, 1, generator=torch.Generator().manual_seed(0))
    data.x = torch.cat([data.x, noise], dim=1)
    beside = MAGnetClassifier("gcn", detector="none").fit(data)
    assert beside.members_[0].settings["scaling"] == "columns"
    assert usual.members_[0].settings["scaling"] == "unit"
    assert beside.score(data) > accuracy - 0.05
    assert MAGnetClassifier("gcn", detector="none", scaling="unit").fit(data).score(data) < 0.6


@pytest.mark.parametrize("kind", ["int64", "bool", "float16", "numpy", "scipy"])
def test_features_and_masks_of_any_type(kind: str, bad: Any) -> None:
    data = copy.copy(bad.data)
    x = data.x.to_dense().round()
    data.x = x
    expected = MAGnetClassifier("gcn", detector="none", epochs=5).fit(data).predict_proba()
    if kind == "numpy":
        data.x, data.train_mask = x.numpy(), data.train_mask.numpy()
    elif kind == "scipy":
        data.x = sp.csr_matrix(x.numpy())
    else:
        x = (x > 0).float() if kind == "bool" else x
        data.x = x
        expected = MAGnetClassifier("gcn", detector="none", epochs=5).fit(data).predict_proba()
        data.x = x.to(getattr(torch, kind))
    found = MAGnetClassifier("gcn", detector="none", epochs=5).fit(data)
    np.testing.assert_allclose(found.predict_proba(), expected, atol=1e-3)
    np.testing.assert_array_equal(found.predict_proba(data), found.predict_proba())


def test_masks_of_another_shape_are_named(bad: Any) -> None:
    data = copy.copy(bad.data)
    mask = data.train_mask
    for wrong in (mask.nonzero().ravel(), torch.stack([mask, mask], dim=1), mask[:-1]):
        data.train_mask = wrong
        with pytest.raises(ValueError, match=r"train_mask is .* it must be bool"):
            MAGnetClassifier("gcn").fit(data)
    data.train_mask = torch.zeros_like(mask)
    with pytest.raises(ValueError, match="no labeled node is left for training"):
        MAGnetClassifier("gcn").fit(data)
