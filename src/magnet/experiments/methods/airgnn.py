"""AirGNN."""

from __future__ import annotations

from magnet.experiments.methods.base import NETWORK, PAPER_SPACE, TRAINING, Method, network
from magnet.nn import AirGNN

METHOD = Method(
    name="airgnn",
    title="AirGNN",
    defaults={
        **TRAINING,
        **NETWORK,
        "rate": 0.01,
        "decay": 5e-4,
        "dropout": 0.8,
        "input_dropout": 0.8,
        "normalize": True,
        "epochs": 500,
        "amplitude": 0.5,
        "steps": 10,
        "blocks": None,
    },
    space={
        **PAPER_SPACE,
        "rate": [1e-2, 1e-3, 5e-3, 1e-4],
        "decay": [5e-4, 1e-3, 5e-3, 1e-4],
        "dropout": [0.2, 0.5, 0.8],
        "input_dropout": [0.2, 0.5, 0.8],
        "normalize": [False, True],
        "amplitude": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
    },
    build=network(AirGNN, *NETWORK, "amplitude", "steps", "blocks"),
    source="the paper's Table 3 and the settings of Liu et al. 2021 (64 hidden units, rate 0.01, decay 5e-4, dropout "
    "0.8, 10 steps, lambda in [0, 1])",
)
