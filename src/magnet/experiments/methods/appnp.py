"""APPNP, as its authors have it; ``blocks=3`` for the form in the paper."""

from __future__ import annotations

from magnet.experiments.methods.base import NETWORK, PAPER_SPACE, TRAINING, Method, network
from magnet.nn import APPNP

METHOD = Method(
    name="appnp",
    title="APPNP",
    defaults={
        **TRAINING,
        **NETWORK,
        "rate": 0.01,
        "input_dropout": 0.5,
        "decay_on": "first",
        "normalize": True,
        "alpha": 0.1,
        "steps": 10,
        "blocks": None,
        "epochs": 500,
    },
    space={
        **PAPER_SPACE,
        "rate": [1e-2, 1e-3, 5e-3, 1e-4],
        "decay": [5e-4, 1e-3, 5e-3, 1e-4],
        "decay_on": ["first", "all"],
        "input_dropout": [0.0, 0.5],
        "normalize": [False, True],
        "alpha": [0.05, 0.1, 0.2],
    },
    build=network(APPNP, *NETWORK, "alpha", "steps", "blocks"),
    source="the paper's Table 3 and the settings of Klicpera et al. (64 hidden units, rate 0.01, l2 5e-3 on the first "
    "layer, dropout 0.5, 10 steps, alpha 0.1, 0.2 for co-authors)",
)
