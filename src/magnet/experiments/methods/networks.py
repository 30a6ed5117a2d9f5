"""Networks on the data as they are. Their default settings come from :mod:`magnet.nn.recipes`."""

from __future__ import annotations

from typing import Any

from magnet.experiments.methods.base import PAPER_GCN, PAPER_SPACE, PAPER_TRAINING, Method
from magnet.nn.recipes import MODELS, default_settings

#: Choices of learning rate and weight decay that every network's own paper adds to the space.
_WIDER: dict[str, list[Any]] = {
    **PAPER_SPACE,
    "learning_rate": [1e-2, 1e-3, 5e-3, 1e-4],
    "weight_decay": [5e-4, 1e-3, 5e-3, 1e-4],
    "scaling": ["none", "rows"],
}
_SMALL = {**_WIDER, "hidden": [16, 64, 128]}


def _method(name: str, title: str, space: dict[str, Any], source: str) -> Method:
    return Method(
        name=name, title=title, settings=default_settings(name), space=space, model=MODELS[name], source=source
    )


GCN = Method(
    name="gcn",
    title="GCN",
    settings=PAPER_GCN,
    space={**_SMALL, "input_dropout": [0.0, 0.5]},
    source="the paper's Table 3 and the settings of Kipf & Welling (learning rate 0.01, weight decay 5e-4, 16 hidden "
    "units, dropout 0.5 of features and hidden layer, rows divided by their sum)",
)
MLP = _method("mlp", "MLP", GCN.space, "as for the GCN")
APPNP = _method(
    "appnp",
    "APPNP",
    {**_WIDER, "weight_decay_on": ["first", "all"], "input_dropout": [0.0, 0.5], "alpha": [0.05, 0.1, 0.2]},
    "the paper's Table 3 and the settings of Klicpera et al. (64 hidden units, learning rate 0.01, l2 5e-3 on the "
    "first layer, dropout 0.5, 10 steps, alpha 0.1, 0.2 for co-authors)",
)
GNNGUARD = _method(
    "gnnguard",
    "GNNGuard",
    {**_SMALL, "memory": [0.0, 0.5]},
    "the paper's Table 3 and the settings of Zhang & Zitnik (learning rate 0.01, 16 hidden units, dropout 0.5, "
    "threshold 0.1; the memory as in their equation and off as in their code)",
)
ELASTICGNN = _method(
    "elasticgnn",
    "ElasticGNN",
    {
        **_WIDER,
        "weight_decay": [5e-5, 5e-4, 5e-3, 1e-3, 1e-4],
        "dropout": [0.5, 0.8],
        "input_dropout": [0.5, 0.8],
        "lambda1": [0.0, 3.0, 6.0, 9.0],
        "lambda2": [0.0, 3.0, 6.0, 9.0],
    },
    "the paper's Table 3 and the space of Liu et al. 2021 (64 hidden units, learning rate 0.005 or 0.01, weight decay "
    "5e-5, 5e-4 or 5e-3, dropout 0.5 or 0.8, lambda1 and lambda2 among 0, 3, 6, 9, 10 steps)",
)
AIRGNN = _method(
    "airgnn",
    "AirGNN",
    {
        **_WIDER,
        "dropout": [0.2, 0.5, 0.8],
        "input_dropout": [0.2, 0.5, 0.8],
        "amplitude": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
    },
    "the paper's Table 3 and the settings of Liu et al. 2021 (64 hidden units, learning rate 0.01, weight decay 5e-4, "
    "dropout 0.8, 10 steps, lambda in [0, 1])",
)

_LIU = {
    **PAPER_TRAINING,
    **{"learning_rate": 0.01, "weight_decay": 5e-4, "dropout": 0.8, "input_dropout": 0.8},
    **{"scaling": "rows", "epochs": 500},
}
#: The settings that the networks' own papers give for citation graphs (of the MLP and GNNGuard: MAGnet's paper).
PUBLISHED: dict[str, dict[str, Any]] = {
    "mlp": PAPER_TRAINING,
    "gnnguard": PAPER_TRAINING,
    "appnp": {
        **PAPER_TRAINING,
        **{"learning_rate": 0.01, "weight_decay_on": "first", "input_dropout": 0.5, "scaling": "rows", "epochs": 500},
    },
    "elasticgnn": {**_LIU, "lambda1": 3.0, "lambda2": 3.0},
    "airgnn": _LIU,
}
