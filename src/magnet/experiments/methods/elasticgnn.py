"""ElasticGNN, as its authors have it; ``blocks=3`` for the form in the paper."""

from __future__ import annotations

from magnet.experiments.methods.base import NETWORK, PAPER_SPACE, TRAINING, Method, network
from magnet.nn import ElasticGNN

METHOD = Method(
    name="elasticgnn",
    title="ElasticGNN",
    defaults={
        **TRAINING,
        **NETWORK,
        "rate": 0.01,
        "decay": 5e-4,
        "dropout": 0.8,
        "input_dropout": 0.8,
        "normalize": True,
        "epochs": 500,
        "lambda1": 3.0,
        "lambda2": 3.0,
        "norm": "l21",
        "steps": 10,
        "blocks": None,
    },
    space={
        **PAPER_SPACE,
        "rate": [1e-2, 1e-3, 5e-3, 1e-4],
        "decay": [5e-5, 5e-4, 5e-3, 1e-3, 1e-4],
        "dropout": [0.5, 0.8],
        "input_dropout": [0.5, 0.8],
        "normalize": [False, True],
        "lambda1": [0.0, 3.0, 6.0, 9.0],
        "lambda2": [0.0, 3.0, 6.0, 9.0],
    },
    build=network(ElasticGNN, *NETWORK, "lambda1", "lambda2", "norm", "steps", "blocks"),
    source="the paper's Table 3 and the space of Liu et al. 2021 (64 hidden units, rate 0.005 or 0.01, decay 5e-5, "
    "5e-4 or 5e-3, dropout 0.5 or 0.8, lambda1 and lambda2 among 0, 3, 6, 9, 10 steps)",
)
