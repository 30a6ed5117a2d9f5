"""Reference values of every component whose result version stands in ``magnet.experiments.store.versions``.

``python tests/experiments/store/test_versions.py --renew`` writes them anew, after a version was raised.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from magnet import corruption, detection, nn
from magnet.datasets import load, synthetic
from magnet.experiments.store import RESULT_VERSIONS, canonical_key, result_version, run_key
from magnet.experiments.store.versions import components
from magnet.framelets import FrameletTransform
from magnet.graph import Graph
from magnet.nn.committee import Committee
from magnet.nn.members import Problem
from magnet.nn.recipes import default_recipes
from magnet.nn.voting import average, weights
from magnet.recovery import propagate, recover
from magnet.recovery.candidates import Candidate

PATH = Path(__file__).with_name("references.json")
#: Between builds of torch the values differ by less, after a change that matters by more.
TOLERANCE = 2e-3

Values = dict[str, float]


def _swapped() -> corruption.Corruption:
    return corruption.inject_attributes(load("digits"), ratio=0.5, select="random", seed=0)


def datasets() -> Values:
    data = load("digits")
    return {
        "sum of x": float(data.x.double().sum()),
        "edges": float(data.edge_index.shape[1]),
        "sum of edges": float(data.edge_index.sum()),
        "train": float(data.train_mask.nonzero().sum()),
        "test": float(data.test_mask.nonzero().sum()),
    }


def corruptions() -> Values:
    data = load("digits")
    weights = torch.linspace(1, 2, data.num_nodes, dtype=torch.float64)
    made = {
        "random": _swapped(),
        "far": corruption.inject_attributes(data, ratio=0.3, candidates=20, seed=1),
        "outliers": corruption.corrupt_cells(data, 0.1, kind="outlier", seed=0),
        "swaps": corruption.corrupt_cells(data, 0.1, kind="swap", seed=0),
        "meta": corruption.meta_attack(data, budget=30, seed=0),
    }
    values = {f"{name}: x": float((bad.data.x.double() * weights[:, None]).sum()) for name, bad in made.items()}
    return values | {f"{name}: cells": float(bad.cells.sum()) for name, bad in made.items()}


def _found(name: str, **options: Any) -> Values:
    bad = _swapped()
    fitted = detection.make(name, seed=0, **options).fit(bad.data)
    trust = torch.as_tensor(fitted.soft_trust_).double()
    metrics = detection.metrics(fitted, bad.cells, bad.nodes)
    chosen = {key: float(metrics[key]) for key in ("node_auroc", "cell_auroc")}
    return {"share": float(fitted.share_), "mean soft trust": float(trust.mean()), **chosen}


def detector() -> Values:
    return _found("auto")


def gae() -> Values:
    return _found("gae", epochs=30, tau=0.1)


def recovery() -> Values:
    bad = _swapped()
    graph = Graph.from_edges(bad.data.edge_index, bad.data.num_nodes)
    trust = (~bad.cells).float()
    transform = FrameletTransform(graph)
    results = {
        "feature propagation": propagate(bad.data.x, trust, graph, lam=0.0).x,
        "propagation": propagate(bad.data.x, trust, graph, lam=3.0).x,
        "paper": recover(bad.data.x, trust, transform, preset="paper").x,
        "p = 0, q = 1": recover(bad.data.x, trust, transform, p=0.0, q=1.0, preset="paper").x,
        "ours": recover(bad.data.x, trust, transform, max_iter=20, tol=0.0, start="propagated").x,
    }
    return {name: float(torch.as_tensor(x).double().norm()) for name, x in results.items()}


def networks() -> Values:
    data = load("digits")
    graph = Graph.from_edges(data.edge_index, data.num_nodes)
    values = {}
    for model in (nn.GCN, nn.MLP, nn.APPNP, nn.GNNGuard, nn.ElasticGNN, nn.AirGNN, nn.SIGN):
        made = model(64, 10, hidden=16, seeds=[0, 1])
        given = (made, data.x, graph, data.y, data.train_mask, data.val_mask)
        fitted = nn.fit(*given, learning_rate=[0.01, 0.005], weight_decay=5e-4, epochs=10)
        values[f"{model.__name__}: loss"] = float(fitted.train_loss[-1].mean())
    return values


def committee() -> Values:
    data = synthetic(nodes=400, features=40, classes=3, average_degree=6, signal=0.6, words=8, seed=0)
    graph, index = Graph.from_edges(data.edge_index, 400), torch.arange(400)
    train, val = index < 15, (index >= 15) & (index < 115)
    candidates, values = [Candidate("as it is", lambda: data.x)], {}
    for name, homophily in (("", 1.0), ("heterophilic: ", 0.0)):
        recipes = default_recipes(given={"epochs": 20, "hidden": 8}, train_nodes=15, homophily=homophily)
        asked = Problem(graph, data.y, train, val, 40, 3, 0, candidates, recipes)
        members = Committee([asked], torch.device("cpu")).train().members[0]
        probability = average(members, weights(members, data.y, val, asked.unlabeled))
        values[f"{name}members"] = float(len(members))
        values[f"{name}sum of squared probabilities"] = float(probability.square().sum())
    return values


def image() -> Values:
    from magnet.experiments.protocol.image import noisy_patches, pixel_graph, psnr

    rows, columns = np.mgrid[0:48, 0:48] / 48
    truth = 0.5 + 0.3 * np.sin(5 * rows) * np.cos(4 * columns)
    wrong = np.zeros(truth.shape, dtype=bool)
    wrong[16:24, 24:32] = True
    noisy = truth + np.where(wrong, np.random.default_rng(0).normal(0, 0.2, truth.shape), 0.0)
    repaired = pixel_graph(noisy, wrong)
    return {"psnr": psnr(repaired, truth, wrong), "found": float(noisy_patches(noisy).sum())}


COMPONENTS: dict[str, Callable[[], Values]] = {
    "datasets": datasets,
    "corruption": corruptions,
    "detector": detector,
    "gae": gae,
    "recovery": recovery,
    "networks": networks,
    "committee": committee,
    "image": image,
}


def _differences(old: Values, new: Values) -> list[str]:
    """Values that differ by more than other processors and builds of torch explain."""
    nan = float("nan")
    return [name for name in {**old, **new} if new.get(name, nan) != pytest.approx(old.get(name, nan), rel=TOLERANCE)]


@pytest.mark.parametrize("name", RESULT_VERSIONS)
def test_results_change_only_with_their_version(name: str) -> None:
    kept = json.loads(PATH.read_text())[name]
    advice = "run python tests/experiments/store/test_versions.py --renew"
    assert kept["version"] == RESULT_VERSIONS[name], f"the version of {name} was changed: {advice}"
    changed = _differences(kept["values"], COMPONENTS[name]())
    assert not changed, f"results of {name} changed ({', '.join(changed)}): raise its version, then {advice}"


def test_a_difference_is_seen_and_rounding_is_not() -> None:
    assert _differences({"a": 1.0, "b": 2.0}, {"a": 1.0001, "b": 2.1}) == ["b"]
    assert _differences({"a": 1.0}, {"c": 1.0}) == ["a", "c"]


RUN = {"kind": "classify", "dataset": "cora", "corruption": "inject-random", "method": "gcn", "seed": 0}


@pytest.mark.parametrize(
    ("config", "unused"),
    [
        (RUN, {"committee", "detector", "gae", "recovery", "image"}),
        ({**RUN, "corruption": "none"}, {"committee", "corruption", "detector", "gae", "recovery", "image"}),
        ({**RUN, "method": "magnet"}, {"gae", "image"}),
        ({**RUN, "method": "magnet-gae"}, {"committee", "detector", "image"}),
        ({**RUN, "method": "magnet-gae", "detector": "auto"}, {"committee", "gae", "image"}),
        ({**RUN, "kind": "detect", "method": "gae"}, {"committee", "detector", "networks", "recovery", "image"}),
        ({**RUN, "kind": "image", "method": "bm3d"}, {"committee", "detector", "networks", "recovery", "gae"}),
        ({**RUN, "kind": "search", "method": "appnp"}, {"committee", "detector", "recovery", "gae", "image"}),
        ({**RUN, "method": "a method of an older store"}, set()),
    ],
)
def test_a_run_depends_on_the_components_that_it_uses(config: dict[str, Any], unused: set[str]) -> None:
    assert set(RESULT_VERSIONS) - set(components(config)) == unused
    for name in RESULT_VERSIONS:
        raised = result_version(config, {**RESULT_VERSIONS, name: 99})
        assert (run_key(config, raised) == run_key(config)) == (name in unused)


def test_defaults_are_part_of_the_key() -> None:
    assert canonical_key({**RUN, "hidden": 64}) == canonical_key(RUN) != canonical_key({**RUN, "hidden": 16})
    large = {**RUN, "dataset": "wordnet"}  # three layers there
    assert canonical_key({**large, "layers": 3}) == canonical_key(large) != canonical_key({**large, "layers": 2})
    gone = {**RUN, "method": "gone"}
    assert canonical_key({**gone, "hidden": 64}) != canonical_key(gone)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--renew", action="store_true", help="write the values of the present code")
    renew = parser.parse_args().renew
    new = {name: {"version": RESULT_VERSIONS[name], "values": make()} for name, make in COMPONENTS.items()}
    print(json.dumps(new, indent=2))
    if renew:
        PATH.write_text(json.dumps(new, indent=2) + "\n")


if __name__ == "__main__":
    main()
