"""Candidate repairs of the features, the unchanged features among them, from which a classifier chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor

from magnet.framelets import FrameletTransform
from magnet.graph import Graph
from magnet.recovery.propagation import propagate
from magnet.recovery.recover import recover

#: Amounts of smoothing by weighted propagation.
LAMBDAS = (1.0, 3.0, 10.0, 30.0)

AS_IT_IS = "as it is"


@dataclass(frozen=True, eq=False)
class Candidate:
    """Features that may be used, computed when they are needed."""

    name: str
    make: Callable[[], Any]


def framelets(graph: Graph) -> FrameletTransform:
    """The default framelet transform of a graph, made once."""
    if "framelets" not in graph.cache:
        graph.cache["framelets"] = FrameletTransform(graph)
    transform: FrameletTransform = graph.cache["framelets"]
    return transform


def repair_candidates(
    x: Tensor,
    graph: Graph,
    trust: Tensor,
    soft_trust: Tensor,
    lambdas: Sequence[float] = LAMBDAS,
    strengths: Sequence[float] = (1.0,),
    max_iter: int = 20,
    penalty: Literal["element", "group"] = "element",
) -> list[Candidate]:
    r"""Candidates for repaired features.

    In this order: ``"as it is"``; ``"feature propagation"`` of the cells with ``trust`` 0; ``"propagation <lambda>"``,
    weighted by :math:`(1 - P)^4`; ``"framelet <strength>"``, whose trust :math:`(1 - P)^2` gives the same weight.

    Args:
        x: features ``[n, d]``, dense.
        graph: the graph.
        trust: 0 or 1 for each cell.
        soft_trust: :math:`(1 - P)^2` for each cell.
        lambdas: amounts of smoothing by propagation to offer. (default: ``(1, 3, 10, 30)``)
        strengths: amounts of smoothing by the framelet recovery to offer. (default: ``(1,)``)
        max_iter: iterations of the framelet recovery. (default: ``20``)
        penalty: of the framelet recovery. (default: ``"element"``)

    Example:
        >>> import torch
        >>> graph = Graph.from_edges([[0, 1], [1, 2]], num_nodes=3)
        >>> ones = torch.ones(3, 1)
        >>> [candidate.name for candidate in repair_candidates(ones, graph, ones, ones, lambdas=(3,))]
        ['as it is', 'feature propagation', 'propagation 3', 'framelet 1']
    """

    def framelet(strength: float) -> Tensor:
        return recover(
            x,
            soft_trust,
            framelets(graph),
            strength=strength,
            max_iter=max_iter,
            start="propagated",
            degree_weights=False,
            penalty=penalty,
            tol=0.0,
            history=False,
        ).x

    def smoothed(lam: float) -> Tensor:
        return propagate(x, soft_trust.square(), graph, lam=lam).x

    return [
        Candidate(AS_IT_IS, lambda: x),
        Candidate("feature propagation", lambda: propagate(x, trust, graph, lam=0.0).x),
        *(Candidate(f"propagation {lam:g}", lambda lam=lam: smoothed(lam)) for lam in lambdas),  # type: ignore[misc]
        *(Candidate(f"framelet {s:g}", lambda s=s: framelet(s)) for s in strengths),  # type: ignore[misc]
    ]
