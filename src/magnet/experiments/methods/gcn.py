"""The GCN on the data as they are: the baseline."""

from __future__ import annotations

from magnet.experiments.methods.base import CONVOLUTIONS, PAPER_SPACE, TRAINING, Method

METHOD = Method(
    name="gcn",
    title="GCN",
    defaults={**TRAINING, **CONVOLUTIONS},
    space={
        **PAPER_SPACE,
        "rate": [1e-2, 1e-3, 5e-3, 1e-4],
        "decay": [5e-4, 1e-3, 5e-3, 1e-4],
        "hidden": [16, 64, 128],
        "input_dropout": [0.0, 0.5],
        "normalize": [False, True],
    },
    source="the paper's Table 3 and the settings of Kipf & Welling (rate 0.01, decay 5e-4, 16 hidden units, "
    "dropout 0.5 of features and hidden layer, rows divided by their sum)",
)
