"""Candidate repairs of the features, the unchanged features among them, from which a classifier chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from magnet.framelets import FrameletTransform
from magnet.graph import Graph
from magnet.recovery.io.columns import COLUMN_STEP
from magnet.recovery.propagation import propagate
from magnet.recovery.recover import recover

#: Amounts of smoothing by weighted propagation.
LAMBDAS = (1.0, 3.0, 10.0, 30.0)

AS_IT_IS = "as it is"

#: On a CPU features are repaired a range of columns at a time: this part of them, so that what the solvers keep of a
#: range (about ten matrices) is no larger than the features, but at least this many, so that every thread has some.
PIECES, MIN_WIDTH = 24, 64


@dataclass(frozen=True, eq=False)
class Candidate:
    """Features that may be used, computed when they are needed."""

    name: str
    make: Callable[[], Any]
    is_new: bool = False  # whether nobody else holds what make() returns, so that it may be changed


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
        trust, soft_trust: 0 or 1, and :math:`(1 - P)^2`, for each cell.
        lambdas, strengths: amounts of smoothing by propagation and by the framelet recovery to offer.
        max_iter, penalty: of the framelet recovery.

    Example:
        >>> import torch
        >>> graph = Graph.from_edges([[0, 1], [1, 2]], num_nodes=3)
        >>> ones = torch.ones(3, 1)
        >>> [candidate.name for candidate in repair_candidates(ones, graph, ones, ones, lambdas=(3,))]
        ['as it is', 'feature propagation', 'propagation 3', 'framelet 1']
    """

    def framelet(strength: float, at: slice) -> Tensor:
        return recover(
            x[:, at],
            soft_trust[:, at],
            framelets(graph),
            strength=strength,
            max_iter=max_iter,
            start="propagated",
            degree_weights=False,
            penalty=penalty,
            tol=0.0,
            history=False,
        ).x

    def smoothed(lam: float, at: slice) -> Tensor:
        return propagate(x[:, at], soft_trust[:, at].square(), graph, lam=lam).x

    def in_ranges(repair: Callable[[slice], Tensor], width: int | None) -> Tensor:
        """A repair of all columns, a range at a time where they do not depend on one another."""
        if width is None:
            return repair(slice(None))
        out = torch.empty_like(x)
        for first in range(0, x.shape[1], width):
            at = slice(first, first + width)
            out[:, at] = repair(at)
        return out

    width = _columns_at_once(x)
    framelet_width = width if penalty == "element" else None  # the group penalty couples the columns
    return [
        Candidate(AS_IT_IS, lambda: x),
        Candidate("feature propagation", lambda: propagate(x, trust, graph, lam=0.0, block_columns=width).x, True),
        *(Candidate(f"propagation {a:g}", partial(in_ranges, partial(smoothed, a), width), True) for a in lambdas),
        *(
            Candidate(f"framelet {s:g}", partial(in_ranges, partial(framelet, s), framelet_width), True)
            for s in strengths
        ),
    ]


def _columns_at_once(x: Tensor) -> int | None:
    """How many columns are repaired at a time; None for as many as the solver takes."""
    if x.device.type != "cpu" or x.requires_grad:
        return None
    return min(x.shape[1], max(MIN_WIDTH, -(-x.shape[1] // PIECES // COLUMN_STEP) * COLUMN_STEP))
