"""Default settings of the networks, made to hold for features of any kind and density.

Features are scaled by one factor to a total variance of 1 (:func:`magnet.nn.features.unit_scaled`), so that one weight
decay suits all of them. With rows divided by their sum, as published, weight decay keeps APPNP from fitting
Amazon-Computers, whose rows have 267 words (test accuracy 39 %).

ElasticGNN's penalties are 1 and 1: the published 3 and 3 smooth the small scores of an untrained network into one
constant on dense graphs (synthetic graph of 240 nodes with mean degree 8: accuracy 30 % instead of 99 %).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from magnet.checks import one_of
from magnet.nn.air import AirGNN
from magnet.nn.appnp import APPNP
from magnet.nn.elastic import ElasticGNN
from magnet.nn.gcn import GCN
from magnet.nn.gnnguard import GNNGuard
from magnet.nn.members import SCALINGS, TRAINING, Recipe
from magnet.nn.mlp import MLP
from magnet.nn.model import Model
from magnet.nn.sign import SIGN

MODELS: dict[str, type[Model]] = {
    "gcn": GCN,
    "mlp": MLP,
    "appnp": APPNP,
    "gnnguard": GNNGuard,
    "elasticgnn": ElasticGNN,
    "airgnn": AirGNN,
    "sign": SIGN,
}

#: Members of the default committee; the first tries every candidate for the features.
COMMITTEE = ("gcn", "appnp", "elasticgnn", "airgnn", "mlp", "sign")

#: Where labeled nodes have a larger adjusted homophily SIGN has no vote: networks that smooth over edges suit such
#: graphs. (The six homophilic graphs of table 1 and the digits have .60 to .95, Wisconsin and Texas -.34 to -.08.)
MAX_HOMOPHILY = 0.5
#: Weight decays of the members of a committee, times the number of training nodes: the loss is a mean over these, so
#: that a penalty of fixed strength weighs 1 / n. On unit scale with 120 to 140 training nodes the smaller is better on
#: Cora (ElasticGNN 83.2 against 82.8 %), the larger on CiteSeer (APPNP 72.2 against 70.6 %): both are members.
DECAYS = (0.14, 1.4)
#: To how many components repaired features are reduced, with few training nodes and with at least 256. (Coauthor-CS,
#: 300 training nodes, three repetitions with random rows: 88.8 % with 128 and 89.3 % with 256.)
COMPONENTS = (128, 256)
#: With as many labels (as on ogbn-arxiv) wider and deeper networks with batch normalization are trained for longer.
MANY_LABELS = 5000
_MANY: dict[str, Any] = {"layers": 3, "hidden": 128, "epochs": 400}

_COMMON: dict[str, Any] = {
    "learning_rate": 0.01,
    "weight_decay": 5e-3,
    "weight_decay_on": "all",
    "epochs": 200,
    "patience": None,
    "scaling": "unit",
    "hidden": 64,
    "dropout": 0.5,
    "input_dropout": 0.0,
    "layers": 2,
}

_OWN: dict[str, dict[str, Any]] = {
    "gcn": {"batch_norm": False},
    "mlp": {},
    "appnp": {"alpha": 0.1, "steps": 10, "blocks": None},
    "gnnguard": {"threshold": 0.1, "memory": 0.0},
    "elasticgnn": {"lambda1": 1.0, "lambda2": 1.0, "norm": "l21", "steps": 10, "blocks": None},
    "airgnn": {"amplitude": 0.5, "steps": 10, "blocks": None},
    "sign": {},
}

#: What a network alone tries on validation nodes, each with every weight decay: how much to smooth depends on the graph
#: and on how many rows are wrong. (With random rows, ElasticGNN and AirGNN are 6 to 15 points below tuned ones with the
#: settings above alone, at most 4 with these; ``results/defaults.md``. Chosen on repetitions 20 to 22 of seven graphs.)
#: The members of a committee have the settings above: the repairs differ in smoothing already.
_ALONE: dict[str, tuple[dict[str, Any], ...]] = {
    "appnp": ({"alpha": 0.05}, {"alpha": 0.1}, {"alpha": 0.2}),
    "elasticgnn": tuple({"lambda1": a, "lambda2": b} for a, b in ((1.0, 1.0), (9.0, 3.0), (0.0, 9.0))),
    "airgnn": tuple({"amplitude": a, "input_dropout": 0.5, "epochs": 500} for a in (0.1, 0.5, 0.7)),
}


def default_settings(name: str) -> dict[str, Any]:
    """Every setting of a network and its training."""
    return {**_COMMON, **_OWN[name]}


def default_recipes(
    names: Sequence[str] = COMMITTEE,
    given: Mapping[str, Any] | None = None,
    train_nodes: int = 140,
    homophily: float = 1.0,
) -> list[Recipe]:
    """Recipes of a committee, or of one network: each with a small and with a large weight decay, unless one is given.

    Args:
        names: of the networks; a single one also tries several amounts of smoothing, unless one is given.
        given: settings that replace the defaults.
        train_nodes: number of training nodes, which weight decay, depth and width depend on. (default: ``140``)
        homophily: :meth:`~magnet.graph.Graph.adjusted_homophily` of the labeled nodes, for SIGN. (default: ``1``)
    """
    if len(names) > 1 and homophily > MAX_HOMOPHILY:
        names = [name for name in names if name != "sign"]
    chosen = dict(given or {})
    usual_decays = DECAYS[:1] if train_nodes >= MANY_LABELS else DECAYS  # with many labels both are next to nothing
    decays = (chosen.pop("weight_decay"),) if "weight_decay" in chosen else [c / train_nodes for c in usual_decays]
    recipes = []
    for name in names:
        usual = default_settings(name)
        if train_nodes >= MANY_LABELS:
            usual |= {**_MANY, **({"batch_norm": True} if "batch_norm" in usual else {})}
        # GNNGuard compares the features of neighbors with each other, and needs all of them
        reduced = {} if name == "gnnguard" else {"components": COMPONENTS[train_nodes >= COMPONENTS[1]]}
        alone = len(names) == 1 and not any(option in chosen for option in _OWN[name])
        for amount in _ALONE.get(name, ({},)) if alone else ({},):
            smoothing = "".join(f", {option} {value:g}" for option, value in amount.items() if option in _OWN[name])
            for strength, decay in zip(("weak", "strong"), decays, strict=False):
                title = f"{name}{smoothing}, {strength} decay" if len(decays) > 1 else f"{name}{smoothing}"
                settings = {**usual, **reduced, **amount, **chosen, "weight_decay": decay}
                recipes.append(Recipe(title, MODELS[name], settings))
    return recipes


def recipes_of(
    model: str,
    given: Mapping[str, Any],
    options: Mapping[str, Any] | None,
    train_nodes: int,
    homophily: float = 1.0,
) -> list[Recipe]:
    """The networks that a user asks for: a committee (``"auto"``), or one network with further ``options``."""
    check_training(given)
    if model == "auto":
        if options:
            raise ValueError("model_options are for one network; give its name as model")
        return default_recipes(COMMITTEE, given, train_nodes, homophily)
    one_of("model", model, ("auto", *MODELS))
    return default_recipes((model,), {**given, **(options or {})}, train_nodes)


def check_options(model: str, given: Mapping[str, Any], options: Mapping[str, Any] | None) -> None:
    """Raise a ``ValueError`` for settings and options of :func:`recipes_of` that make no sense."""
    recipe = recipes_of(model, given, options, 1)[0]
    own = {name: value for name, value in recipe.settings.items() if name not in TRAINING}
    try:
        recipe.model(1, 2, seeds=[0], **own)
    except TypeError as error:
        raise ValueError(f"model_options: {str(error).split('() ')[-1]}") from None


def check_training(settings: Mapping[str, Any]) -> None:
    """Raise a ``ValueError`` for a training setting that makes no sense; other settings are the networks' to check."""
    least = {"learning_rate": 0.0, "weight_decay": 0.0, "epochs": 1, "patience": 1}
    for name, value in settings.items():
        if name == "scaling":
            one_of(name, value, SCALINGS)
        if value is None or name not in least:
            continue
        number = isinstance(value, int | float) and not isinstance(value, bool) and value >= least[name]
        whole = name in ("epochs", "patience")
        if not number or (whole and value % 1 != 0):
            kind = "a whole number" if whole else "a number"
            raise ValueError(f"{name} is {value!r}; it must be {kind}, at least {least[name]:g}")
