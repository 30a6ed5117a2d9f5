r"""Weighted propagation: the minimizer of a Dirichlet energy, with Feature Propagation as its limit."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.framelets import FrameletTransform
from magnet.graph import Graph
from magnet.recovery.cg import conjugate_gradients
from magnet.recovery.io.columns import columns, fill_missing, range_width, read_columns, trust_columns
from magnet.recovery.io.output import Memory
from magnet.recovery.result import RecoveryResult


def propagate(
    x: Any,
    trust: Any,
    graph: Graph | FrameletTransform,
    *,
    lam: float = 1.0,
    coordinates: Literal["plain", "degree"] = "plain",
    solver: Literal["cg", "iterate"] = "cg",
    max_iter: int | None = None,
    tol: float = 1e-5,
) -> RecoveryResult:
    r"""Replace each cell by a compromise between what was observed and what its neighbors say.

    .. math::
        \min_U \tfrac12 \sum w_{ij} (U_{ij} - X_{ij})^2 + \tfrac\lambda2 \mathrm{tr}(U^\top L U)
        \quad\Longleftrightarrow\quad U = \frac{w X + \lambda \hat A U}{w + \lambda [d > 0]}

    ``lam = 0`` is the limit: cells of positive weight are kept, the others become harmonic; with 0/1 weights that
    is Feature Propagation ("On the Unreasonable Effectiveness of Feature Propagation", Rossi et al., LoG 2022).

    Isolated nodes stay as they are. A component without any weight in a column takes that column's trusted median.

    Args:
        x: observed features ``[n, d]``, as for :func:`magnet.recover`; cells of weight 0 may be NaN.
        trust: ``w`` in [0, 1], ``[n, d]``, ``[n]`` for whole rows, or ``None`` for all ones. It is the weight itself,
            not squared as in :func:`magnet.recover`.
        graph: the graph, or a framelet transform of it.
        lam: amount of smoothing. (default: ``1``)
        coordinates: ``"plain"`` uses the symmetric operator, ``"degree"`` the average ``D^-1 A``, for which constants
            are fixed points.
        solver: ``"cg"`` solves to ``tol``; ``"iterate"`` repeats the fixed-point map ``max_iter`` times (with
            ``lam=0`` and 40 times that is PyG's ``FeaturePropagation``, up to rounding).
        max_iter: (default: ``500`` for ``"cg"``, ``40`` for ``"iterate"``)
        tol: relative residual at which a column stops. (default: ``1e-5``)

    Example:
        >>> g = Graph.from_edges([[0, 1], [1, 2]], num_nodes=3)
        >>> x = torch.tensor([[1.0], [float("nan")], [3.0]])
        >>> w = torch.tensor([[1.0], [0.0], [1.0]])
        >>> propagate(x, w, g, lam=0.0, coordinates="degree").x.flatten().tolist()
        [1.0, 2.0, 3.0]
    """
    graph = graph.graph if isinstance(graph, FrameletTransform) else graph
    if not isinstance(graph, Graph):
        raise ValueError(f"graph is a {type(graph).__name__}; it must be a Graph or a FrameletTransform")
    if not (np.isfinite(lam) and lam >= 0):
        raise ValueError(f"lam is {lam}; it must be a finite number of at least 0")
    if coordinates not in ("plain", "degree"):
        raise ValueError(f"coordinates is {coordinates!r}; it must be 'plain' or 'degree'")
    if solver not in ("cg", "iterate"):
        raise ValueError(f"solver is {solver!r}; it must be 'cg' or 'iterate'")
    X = columns(x, "x")
    if X.shape[0] != graph.num_nodes:
        raise ValueError(f"x has {X.shape[0]} rows; the graph has {graph.num_nodes} nodes")
    M = trust_columns(trust, X)
    max_iter = max_iter or (500 if solver == "cg" else 40)
    target = Memory(X.shape, X.dtype, X.device, X.is_tensor)
    differentiable = torch.is_grad_enabled() and any(isinstance(v, Tensor) and v.requires_grad for v in (x, trust))
    width = X.shape[1] if differentiable else range_width(X, "torch")
    iterations, residual = [], []
    for first in range(0, X.shape[1], width):
        block, w = read_columns(X, M, first, min(first + width, X.shape[1]))
        observed, median = fill_missing(block, w, first, always=True)
        assert median is not None
        solution = _Propagation(graph, observed, w, median, lam, coordinates)
        U, steps, left = solution.cg(max_iter, tol) if solver == "cg" else solution.iterate(max_iter)
        iterations.append(steps)
        residual.append(left)
        target.write(first, U, (steps, left <= tol, np.zeros((6, 0))))
    left = np.concatenate(residual)
    empty = np.zeros(0)
    return RecoveryResult(
        x=target.result(),
        objective=empty,
        primal=np.array([left.max()]),
        dual=empty,
        column_iterations=np.concatenate(iterations),
        converged=left <= tol,
        backend="torch",
    )


def harmonic(x: Tensor, trust: Tensor, graph: Graph) -> Tensor:
    """Untrusted cells by Feature Propagation from the cells of positive trust, the start of ``"propagated"``."""
    observed, median = fill_missing(x, trust, 0, always=True)
    assert median is not None
    return _Propagation(graph, observed, trust, median, 0.0, "plain").cg(500, 1e-4)[0]


class _Propagation:
    """The linear system ``(w + lam L) U = w X`` on the free cells of some columns; the others are fixed."""

    def __init__(self, graph: Graph, x: Tensor, w: Tensor, median: Tensor, lam: float, coordinates: str) -> None:
        self.operator = graph.operator("normalized", x)
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
        self.user = known

    def _normal(self, U: Tensor) -> Tensor:
        return self.free * ((self.w + self.lam) * U - self.lam * (self.operator @ U))

    def _finish(self, U: Tensor) -> Tensor:
        """Back in user units, the fixed cells to the bit as they were."""
        return torch.where(self.free > 0, U / self.root + self.center, self.user)

    def cg(self, max_iter: int, tol: float) -> tuple[Tensor, NDArray[np.int64], NDArray[np.float64]]:
        """Conjugate gradients on the free cells, every column by itself."""
        fixed = self.x * (1 - self.free)
        right = self.free * (self.w * self.x + self.lam * (self.operator @ fixed))
        U, steps, left = conjugate_gradients(
            self._normal, right, self.free * self.x, self.w + self.lam, max_iter=max_iter, tol=tol
        )
        return self._finish(U + fixed), steps.cpu().numpy(), left.double().cpu().numpy()

    def iterate(self, max_iter: int) -> tuple[Tensor, NDArray[np.int64], NDArray[np.float64]]:
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
