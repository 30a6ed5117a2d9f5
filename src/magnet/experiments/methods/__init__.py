"""The methods that tables compare, by name: to add one, write a ``Method`` and add it here."""

from __future__ import annotations

from magnet.checks import unknown
from magnet.experiments.methods import gadc, networks, paper, repairs, ugd
from magnet.experiments.methods.base import PAPER_SPACE, Method, RepairCandidates

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        *(networks.GCN, networks.MLP, networks.APPNP, networks.GNNGUARD, networks.ELASTICGNN, networks.AIRGNN),
        *(gadc.GADC, ugd.UGD),
        *(paper.ONE, paper.GAE, paper.TRUE),
        *(repairs.COMMITTEE, repairs.WITH_GCN, repairs.WITH_APPNP, repairs.WITH_ELASTIC),
        *(repairs.CONTROL, repairs.FP, repairs.FP_TRUE),
    )
}


def get(name: str) -> Method:
    """A method by name."""
    if name not in METHODS:
        raise unknown("method", name, METHODS)
    return METHODS[name]


__all__ = ["METHODS", "PAPER_SPACE", "Method", "RepairCandidates", "get"]
