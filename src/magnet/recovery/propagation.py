r"""Weighted propagation: the minimizer of a Dirichlet energy, with Feature Propagation as its limit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.arrays import Floats, Ints
from magnet.checks import at_least, one_of
from magnet.framelets import FrameletTransform, needs_gradient
from magnet.graph import Graph
from magnet.recovery.cg import conjugate_gradients
from magnet.recovery.io.columns import column_scales, columns, fill_missing, trust_columns
from magnet.recovery.kernels import Backend, choose_backend
from magnet.recovery.ranges import run_ranges
from magnet.recovery.result import Record, RecoveryResult

Coordinates = Literal["plain", "degree"]
Solver = Literal["cg", "iterate"]

#: Steps of conjugate gradients, and rounds of plain iteration (as Rossi et al. 2022), if none are given.
CG_STEPS, ROUNDS = 500, 40
#: Relative residual of the start of a recovery, which need not be exact.
TOLERANCE = 1e-4

#: Some columns, the steps that each took, and its relative residual.
Solved = tuple[Tensor, Ints, Floats]


# fmt: off
@overload
def propagate(
    x: Any, trust: Any, graph: Any, *, lam: float = 1.0, coordinates: Coordinates = "plain", solver: Solver = "cg",
    max_iter: int | None = None, tol: float = 1e-5, backend: Backend = "auto", threads: int | None = None,
    out: str | os.PathLike[str] | NDArray[Any] | None = None, block_columns: int | None = None,
    progress: bool | None = None, cluster: str | None = None,
) -> RecoveryResult: ...


@overload
def propagate(
    x: Any, trust: Any, graph: Any, *, lam: Sequence[float], coordinates: Coordinates = "plain", solver: Solver = "cg",
    max_iter: int | None = None, tol: float = 1e-5, backend: Backend = "auto", threads: int | None = None,
    out: str | os.PathLike[str] | NDArray[Any] | None = None, block_columns: int | None = None,
    progress: bool | None = None, cluster: str | None = None,
) -> list[RecoveryResult]: ...
# fmt: on


def propagate(
    x: Any,
    trust: Any,
    graph: Any,
    *,
    lam: float | Sequence[float] = 1.0,
    coordinates: Coordinates = "plain",
    solver: Solver = "cg",
    max_iter: int | None = None,
    tol: float = 1e-5,
    backend: Backend = "auto",
    threads: int | None = None,
    out: str | os.PathLike[str] | NDArray[Any] | None = None,
    block_columns: int | None = None,
    progress: bool | None = None,
    cluster: str | None = None,
) -> RecoveryResult | list[RecoveryResult]:
    r"""Smooth features over the graph: a weighted compromise between observed values and neighbors.

    .. math::
        \min_U \tfrac12 \sum w_{ij} (U_{ij} - X_{ij})^2 + \tfrac\lambda2 \mathrm{tr}(U^\top L U)
        \quad\Longleftrightarrow\quad U = \frac{w X + \lambda \hat A U}{w + \lambda [d > 0]}

    ``lam = 0`` is the limit: cells of positive weight are kept, the others become harmonic; with 0/1 weights that
    is Feature Propagation ("On the Unreasonable Effectiveness of Feature Propagation", Rossi et al., LoG 2022).

    Isolated nodes are unchanged. A component without any weight in a column gets the trusted median of that column.

    Args:
        x: observed features ``[n, d]``, as for :func:`magnet.recover`; cells of weight 0 may be NaN.
        trust: ``w`` in [0, 1], ``[n, d]``, ``[n]`` for whole rows, or ``None`` for all ones. It is the weight itself,
            not squared as in :func:`magnet.recover`.
        graph: the graph (a :class:`~magnet.graph.Graph`, networkx graph or scipy sparse matrix), or a framelet
            transform of it.
        lam: amount of smoothing, or a sequence of them: the result is then a list, and columns are read, checked and
            packed once for all. (default: ``1``)
        coordinates: ``"plain"`` uses the symmetric operator, ``"degree"`` the average ``D^-1 A``, for which constants
            are fixed points.
        solver: ``"cg"`` solves to ``tol``; ``"iterate"`` repeats the fixed-point map ``max_iter`` times (with
            ``lam=0`` and 40 times that is PyG's ``FeaturePropagation``, up to rounding).
        max_iter: (default: ``500`` for ``"cg"``, ``40`` for ``"iterate"``)
        tol: relative residual at which a column stops. (default: ``1e-5``)
        backend: ``"numba"`` (fused, CPU) or ``"triton"`` (fused, CUDA) for ``solver="cg"``, ``"torch"`` (any device,
            differentiable) or ``"auto"``.
        threads: CPU threads of the numba backend. (default: as many as torch uses)
        out: write the result to this ``.npy`` file in blocks of columns (an interrupted run resumes), or into
            this array or memory map.
        block_columns: columns processed at a time. The result does not depend on it.
        progress: show a progress bar. (default: when writing to a file from a terminal)
        cluster: solve blocks of columns on a Ray cluster (extra ``cluster``): its address, or ``"auto"`` for a running
            cluster, or else a new one on this machine. The result is bit-identical. (default: none)

    Example:
        >>> g = Graph.from_edges([[0, 1], [1, 2]], num_nodes=3)
        >>> x = torch.tensor([[1.0], [float("nan")], [3.0]])
        >>> w = torch.tensor([[1.0], [0.0], [1.0]])
        >>> propagate(x, w, g, lam=0.0, coordinates="degree").x.flatten().tolist()
        [1.0, 2.0, 3.0]
    """
    graph = Graph.of(graph.graph if isinstance(graph, FrameletTransform) else graph)
    lams = [float(value) for value in lam] if isinstance(lam, Sequence | np.ndarray) else [float(lam)]
    for value in lams:
        at_least("lam", value, 0)
    if not lams:
        raise ValueError("lam is empty; at least one amount of smoothing is needed")
    one_of("coordinates", coordinates, get_args(Coordinates))
    one_of("solver", solver, get_args(Solver))
    if out is not None and len(lams) > 1:
        raise ValueError("out is for one lam at a time")
    X = columns(x, "x")
    if X.shape[0] != graph.num_nodes:
        raise ValueError(f"x has {X.shape[0]} rows; the graph has {graph.num_nodes} nodes")
    M = trust_columns(trust, X)
    max_iter = max_iter or (CG_STEPS if solver == "cg" else ROUNDS)
    gradient = needs_gradient(x, trust)
    name = choose_backend(backend, X.device.type, {"a gradient": gradient, "solver='iterate'": solver == "iterate"})
    if cluster is not None and (gradient or X.device.type != "cpu"):
        raise ValueError("cluster is for features on the CPU, without gradients")
    job = _Job(graph, lams, coordinates, solver, max_iter, tol, name, threads)
    width = X.shape[1] if gradient else block_columns
    identity = (graph, lams, coordinates, solver, max_iter, tol, name, x, trust)
    results = run_ranges(
        job, X, M, width, identity=identity, results=len(lams), out=out, progress=progress, cluster=cluster
    )
    return results if isinstance(lam, Sequence | np.ndarray) else results[0]


def harmonic(x: Tensor, trust: Tensor, graph: Graph) -> Tensor:
    """Untrusted cells by Feature Propagation from the cells of positive trust, the start of ``"propagated"``."""
    name = choose_backend("auto", x.device.type, {"a gradient": needs_gradient(x, trust)})
    return _Job(graph, [0.0], "plain", "cg", CG_STEPS, TOLERANCE, name, None).solve(x, trust, 0)[0][0]


@dataclass(frozen=True)
class _Job:
    """Propagates a range of columns, once for each lambda."""

    graph: Graph
    lams: Sequence[float]
    coordinates: Coordinates
    solver: Solver
    max_iter: int
    tol: float
    backend: str
    threads: int | None

    def solve(self, x: Tensor, trust: Tensor, first: int) -> list[tuple[Tensor, Record]]:
        solved = None
        if self.backend == "numba":
            from magnet.recovery.kernels import propagation as kernel

            degree, limits = self.coordinates == "degree", (self.max_iter, self.tol)
            solved = kernel.solve(self.graph, x, trust, self.lams, degree, *limits, threads=self.threads)
        if solved is None:
            solved = self._reference(x, trust, first)
        return [(U, Record(steps, left <= self.tol, residual=left)) for U, steps, left in solved]

    def for_workers(self) -> _Job:
        if self.backend == "numba":
            from magnet.recovery.kernels.blocks import kernel_matrix

            kernel_matrix(self.graph, "normalized")
        return replace(self, threads=1)

    def _reference(self, x: Tensor, trust: Tensor, first: int) -> list[Solved]:
        scales = column_scales(x, trust)
        scaled = x if scales is None else x / scales
        observed, median = fill_missing(scaled, trust, first, always=True)
        assert median is not None
        own = torch.where(torch.isfinite(scaled), scaled, observed)
        systems = [_System(self.graph, observed, own, trust, median, lam, self.coordinates) for lam in self.lams]
        if self.solver == "cg":
            solved = [system.cg(self.max_iter, self.tol, self.backend == "triton") for system in systems]
        else:
            solved = [system.iterate(self.max_iter) for system in systems]
        return solved if scales is None else [(U * scales, steps, left) for U, steps, left in solved]


class _System:
    """The linear system ``(w + lam L) U = w X`` on the free cells of some columns; the others are fixed."""

    def __init__(
        self, graph: Graph, x: Tensor, own: Tensor, w: Tensor, median: Tensor, lam: float, coordinates: str
    ) -> None:
        self.graph, self.operator = graph, graph.operator("normalized", x)
        component = torch.as_tensor(graph.components, dtype=torch.long, device=x.device)
        isolated = torch.as_tensor(graph.isolated, device=x.device).unsqueeze(1)
        count = int(component.max()) + 1
        evidence = torch.zeros(count, x.shape[1], dtype=x.dtype, device=x.device)
        evidence = evidence.index_add(0, component, w.detach())
        hopeless = (evidence == 0)[component] & ~isolated
        known = torch.where(hopeless, median, x)
        self.root = torch.ones(1, 1, dtype=x.dtype, device=x.device)
        self.center = torch.zeros_like(median)
        if coordinates == "degree":
            self.root = torch.sqrt(torch.as_tensor(graph.degree_weights).to(x)).unsqueeze(1)
            self.center = median
        fixed = hopeless | isolated | (w > 0 if lam == 0 else torch.zeros_like(hopeless))
        self.free = (~fixed).to(x.dtype)
        self.x = self.root * (known - self.center)
        self.w = torch.zeros_like(x) if lam == 0 else w
        self.lam = lam if lam > 0 else 1.0
        self.user = torch.where(isolated, own, known)

    def _normal(self, U: Tensor) -> Tensor:
        return self.free * ((self.w + self.lam) * U - self.lam * (self.operator @ U))

    def _finish(self, U: Tensor) -> Tensor:
        """Back in user units; the fixed cells are bit-identical."""
        return torch.where(self.free > 0, U / self.root + self.center, self.user)

    def cg(self, max_iter: int, tol: float, fused: bool = False) -> Solved:
        """Conjugate gradients on the free cells, every column separately."""
        fixed = self.x * (1 - self.free)
        right = self.free * (self.w * self.x + self.lam * (self.operator @ fixed))
        start, diagonal = self.free * self.x, self.w + self.lam
        if fused:
            from magnet.recovery.kernels import gpu_propagation as kernel

            system = (self.lam, self.free * diagonal, right, start)
            U, steps, left = kernel.conjugate_gradients(self.graph, *system, max_iter=max_iter, tol=tol)
        else:
            U, steps, left = conjugate_gradients(self._normal, right, start, diagonal, max_iter=max_iter, tol=tol)
        return self._finish(U + fixed), steps.cpu().numpy(), left.double().cpu().numpy()

    def iterate(self, max_iter: int) -> Solved:
        """The fixed-point map. At ``lam = 0`` unknown cells start at zero, as Feature Propagation does."""
        fixed = self.x * (1 - self.free)
        U = fixed if not bool(self.w.any()) else self.x
        change = U
        for _ in range(max_iter):
            after = (self.w * self.x + self.lam * (self.operator @ U)) / (self.w + self.lam)
            after = self.free * after + fixed
            change, U = after - U, after
        size = torch.linalg.vector_norm(U, dim=0).clamp(min=torch.finfo(U.dtype).tiny)
        left = (torch.linalg.vector_norm(change, dim=0) / size).detach().double().cpu().numpy()
        return self._finish(U), np.full(U.shape[1], max_iter, dtype=np.int64), left
