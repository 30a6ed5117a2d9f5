"""GNNGuard: a GCN that weighs edges by how alike their nodes are."""

from __future__ import annotations

from magnet.experiments.methods.base import NETWORK, PAPER_SPACE, TRAINING, Method, network
from magnet.nn import GNNGuard

METHOD = Method(
    name="gnnguard",
    title="GNNGuard",
    defaults={**TRAINING, **NETWORK, "threshold": 0.1, "memory": 0.0},
    space={
        **PAPER_SPACE,
        "rate": [1e-2, 1e-3, 5e-3, 1e-4],
        "decay": [5e-4, 1e-3, 5e-3, 1e-4],
        "hidden": [16, 64, 128],
        "normalize": [False, True],
        "memory": [0.0, 0.5],
    },
    build=network(GNNGuard, *NETWORK, "threshold", "memory"),
    source="the paper's Table 3 and the settings of Zhang & Zitnik (rate 0.01, 16 hidden units, dropout 0.5, "
    "threshold 0.1; the memory as in their equation and off as in their code)",
)
