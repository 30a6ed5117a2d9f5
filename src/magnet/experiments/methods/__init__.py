"""The methods that tables compare, by name: to add one, write a file with a ``Method`` and add a line here."""

from __future__ import annotations

import difflib

from magnet.experiments.methods import (
    airgnn,
    appnp,
    elasticgnn,
    gcn,
    gnnguard,
    magnet,
    mlp,
    paper_magnet,
    propagation,
    reconstruction,
)
from magnet.experiments.methods.base import PAPER_SPACE, Candidate, Case, Method, Repaired

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        gcn.METHOD,
        mlp.METHOD,
        appnp.METHOD,
        gnnguard.METHOD,
        elasticgnn.METHOD,
        airgnn.METHOD,
        paper_magnet.ONE,
        paper_magnet.GAE,
        paper_magnet.TRUE,
        magnet.METHOD,
        magnet.BEFORE_APPNP,
        magnet.BEFORE_ELASTIC,
        propagation.CONTROL,
        propagation.FP,
        propagation.FP_TRUE,
        reconstruction.METHOD,
    )
}


def get(name: str) -> Method:
    """A method by name."""
    if name in METHODS:
        return METHODS[name]
    near = difflib.get_close_matches(str(name), METHODS, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"unknown method {name!r}{hint} (known: {', '.join(METHODS)})")


__all__ = ["METHODS", "PAPER_SPACE", "Candidate", "Case", "Method", "Repaired", "get"]
