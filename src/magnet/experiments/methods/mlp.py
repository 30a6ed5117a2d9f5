"""The MLP, which looks at each node alone."""

from __future__ import annotations

from magnet.experiments.methods.base import NETWORK, TRAINING, Method, network
from magnet.experiments.methods.gcn import METHOD as GCN
from magnet.nn import MLP

METHOD = Method(
    name="mlp",
    title="MLP",
    defaults={**TRAINING, **NETWORK},
    space=GCN.space,
    build=network(MLP, *NETWORK),
    source="as for the GCN",
)
