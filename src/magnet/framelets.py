"""Undecimated graph framelets: filter banks, and the transform that applies them to node signals."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.polynomial.chebyshev import chebinterpolate, chebval

from magnet.arrays import Floats, Ints
from magnet.checks import at_least, one_of
from magnet.graph import Graph

#: Above this many nodes the eigenvectors of ``method="exact"`` would take more than about 3 GB.
EXACT_LIMIT = 20_000
#: Points for each degree at which the polynomials are evaluated for the frame bounds; a polynomial has fewer extrema.
BOUND_ANGLES = 64


class FilterBank(ABC):
    r"""A tight bank on [0, pi]: one low-pass and K high-pass kernels with

    .. math:: \alpha(t)^2 + \sum_{k=1}^K \beta_k(t)^2 = 1.

    A new bank is a subclass that gives its kernels and a ``name``.
    """

    name: ClassVar[str]

    @abstractmethod
    def low(self, t: Floats) -> Floats:
        r"""The low-pass kernel :math:`\alpha(t)`."""

    @abstractmethod
    def high(self, t: Floats) -> list[Floats]:
        r"""The high-pass kernels :math:`\beta_1(t), ..., \beta_K(t)`."""

    @property
    def num_high(self) -> int:
        return len(self.high(np.zeros(1)))

    def bands(self, t: Floats, levels: int) -> Floats:
        r"""The composite kernels of a ``levels``-level transform, ``[1 + K * levels, len(t)]``.

        ``t`` is the argument of the last level; level l sees :math:`t_l = 2^{l - J} t`, and

        .. math:: g_{l,k} = \beta_k(t_l) \prod_{m<l} \alpha(t_m), \qquad g_0 = \prod_{m=1}^J \alpha(t_m).
        """
        passed = np.ones_like(t)
        high = []
        for level in range(1, levels + 1):
            t_level = t * 2.0 ** (level - levels)
            high += [passed * kernel for kernel in self.high(t_level)]
            passed = passed * self.low(t_level)
        return np.stack([passed, *high])


class Haar(FilterBank):
    r"""The paper's bank: :math:`\cos(t/2)` and :math:`\sin(t/2)`."""

    name = "haar"

    def low(self, t: Floats) -> Floats:
        return np.cos(t / 2)

    def high(self, t: Floats) -> list[Floats]:
        return [np.sin(t / 2)]


class Linear(FilterBank):
    r"""Linear B-spline framelets: :math:`\cos^2(t/2)`, :math:`\sin(t)/\sqrt 2`, :math:`\sin^2(t/2)`."""

    name = "linear"

    def low(self, t: Floats) -> Floats:
        return np.cos(t / 2) ** 2

    def high(self, t: Floats) -> list[Floats]:
        return [np.sin(t) / math.sqrt(2), np.sin(t / 2) ** 2]


class Quadratic(FilterBank):
    r"""Quadratic B-spline framelets, the terms of :math:`(\cos^2 + \sin^2)^3` at :math:`t/2`."""

    name = "quadratic"

    def low(self, t: Floats) -> Floats:
        return np.cos(t / 2) ** 3

    def high(self, t: Floats) -> list[Floats]:
        c, s = np.cos(t / 2), np.sin(t / 2)
        return [math.sqrt(3) * s * c**2, math.sqrt(3) * s**2 * c, s**3]


BANKS: dict[str, type[FilterBank]] = {bank.name: bank for bank in (Haar, Linear, Quadratic)}


def needs_gradient(*values: Any) -> bool:
    """Whether autograd keeps track of what happens to one of the values, those that are tensors."""
    return torch.is_grad_enabled() and any(isinstance(v, torch.Tensor) and v.requires_grad for v in values)


def _twice_minus(matrix: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """``2 matrix x - y``, in one pass where no gradient is wanted."""
    if needs_gradient(x, y):
        return 2 * sparse_product(matrix, matrix, x) - y
    return torch.addmm(y, matrix, x, beta=-1.0, alpha=2.0)


class FrameletTransform:
    r"""The undecimated framelet transform of node signals.

    Band b is :math:`W_b = g_b(L)`; the bands are ordered low-pass first, then by level, then by filter
    within a level. :math:`W^\top W = I` (exactly for ``"exact"``, to the Chebyshev error otherwise).

    ``"chebyshev"`` runs one recurrence for all bands,

    .. math::
        W_b x = \sum_{k=0}^m c_{b,k} T_k(\tilde L) x, \qquad
        W^\top v = \sum_{k=0}^m T_k(\tilde L) \sum_b c_{b,k} v_b,

    the second by Clenshaw's scheme: m sparse products each way. ``"exact"`` uses an eigendecomposition
    and is meant for small graphs and as the oracle in tests.

    Args:
        edge_index: ``[2, edges]`` node pairs; or a :class:`~magnet.graph.Graph`, networkx graph or scipy sparse matrix.
        num_nodes: number of nodes. (default: largest index + 1)
        edge_weight: ``[edges]`` non-negative weights. (default: ones)
        levels: number of levels J. (default: ``2``)
        degree: order m of the Chebyshev series. (default: ``8``)
        bank: ``"haar"``, ``"linear"``, ``"quadratic"`` or a :class:`FilterBank`. (default: ``"haar"``)
        method: ``"chebyshev"`` or ``"exact"``. (default: ``"chebyshev"``)
        lambda_max: ``None`` for the bound 2, ``"lanczos"`` for an estimate, or a number.

    Shapes:
        ``analysis``: ``[n, d]`` to ``[1 + K * levels, n, d]``; ``synthesis``: back.

    Example:
        >>> W = FrameletTransform([[0, 1, 2], [1, 2, 3]], num_nodes=4)
        >>> x = torch.eye(4, dtype=torch.float64)
        >>> c = W.analysis(x)
        >>> c.shape, bool((W.synthesis(c) - x).abs().max() < 1e-6)
        (torch.Size([3, 4, 4]), True)
    """

    def __init__(
        self,
        edge_index: Any,
        num_nodes: int | None = None,
        edge_weight: Any = None,
        *,
        levels: int = 2,
        degree: int = 8,
        bank: str | FilterBank = "haar",
        method: Literal["chebyshev", "exact"] = "chebyshev",
        lambda_max: float | Literal["lanczos"] | None = None,
    ) -> None:
        at_least("levels", levels, 1)
        at_least("degree", degree, 1)
        one_of("method", method, ("chebyshev", "exact"))
        if isinstance(bank, str):
            one_of("bank", bank, BANKS)
        if isinstance(edge_index, Graph):
            if edge_weight is not None or lambda_max is not None:
                raise ValueError("edge_weight and lambda_max belong to the Graph when a Graph is given")
            self.graph = edge_index
        else:
            self.graph = Graph.from_edges(edge_index, num_nodes, edge_weight, lambda_max)
        self.levels = levels
        self.degree = degree
        self.bank = BANKS[bank]() if isinstance(bank, str) else bank
        self.method = method
        if method == "exact" and self.num_nodes > EXACT_LIMIT:
            raise ValueError(f"method is 'exact' for {self.num_nodes} nodes; beyond {EXACT_LIMIT} use 'chebyshev'")

    @property
    def num_nodes(self) -> int:
        return self.graph.num_nodes

    @property
    def num_bands(self) -> int:
        return 1 + self.bank.num_high * self.levels

    @property
    def band_levels(self) -> Ints:
        """The level of each band, 0 for the low-pass."""
        return np.concatenate([[0], np.repeat(np.arange(1, self.levels + 1), self.bank.num_high)])

    def kernels(self, eigenvalues: Floats) -> Floats:
        """The band kernels ``g_b`` at some eigenvalues of ``L``, ``[bands, len(eigenvalues)]``."""
        return self.bank.bands(eigenvalues * (np.pi / self.graph.lambda_max), self.levels)

    @cached_property
    def coefficients(self) -> Floats:
        """Chebyshev coefficients ``c_{b,k}``, ``[bands, degree + 1]``."""
        interpolate: Any = chebinterpolate  # its type hints know single functions only
        half = self.graph.lambda_max / 2
        return np.asarray(interpolate(lambda t: self.kernels((t + 1) * half).T, self.degree).T)

    @cached_property
    def _eigen(self) -> tuple[Floats, Floats]:
        eigenvalues, vectors = np.linalg.eigh(self.graph.laplacian.toarray())
        return np.maximum(eigenvalues, 0.0), vectors

    def analysis(self, x: torch.Tensor) -> torch.Tensor:
        """Framelet coefficients ``W x`` of ``x`` ``[n, d]``: ``[bands, n, d]``."""
        _check(x, "x", "[nodes, features]", self.num_nodes)
        if self.method == "exact":
            g, vectors = self._exact_operators(x)
            return vectors @ (g.unsqueeze(-1) * (vectors.T @ x))
        c = torch.as_tensor(self.coefficients, dtype=x.dtype, device=x.device)
        shifted = self.graph.operator("shifted", x)
        before, current = x, sparse_product(shifted, shifted, x)
        bands = c[:, 0, None, None] * before + c[:, 1, None, None] * current
        for k in range(2, self.degree + 1):
            before, current = current, _twice_minus(shifted, current, before)
            if needs_gradient(bands):
                bands = bands + c[:, k, None, None] * current
            else:
                for band, factor in zip(bands, self.coefficients[:, k], strict=True):
                    band.add_(current, alpha=float(factor))
        return bands

    def synthesis(self, coefficients: torch.Tensor) -> torch.Tensor:
        """The adjoint ``W^T v`` of ``v`` ``[bands, n, d]``: ``[n, d]``; it inverts :meth:`analysis`."""
        _check(coefficients, "coefficients", "[bands, nodes, features]", self.num_bands, self.num_nodes)
        if self.method == "exact":
            g, vectors = self._exact_operators(coefficients)
            return vectors @ (g.unsqueeze(-1) * (vectors.T @ coefficients)).sum(0)
        c = torch.as_tensor(self.coefficients, dtype=coefficients.dtype, device=coefficients.device)
        shifted = self.graph.operator("shifted", coefficients)

        def mixed(k: int) -> torch.Tensor:
            return torch.tensordot(c[:, k], coefficients, dims=1)

        later, current = torch.zeros_like(coefficients[0]), mixed(self.degree)
        for k in range(self.degree - 1, 0, -1):
            later, current = current, mixed(k) + _twice_minus(shifted, current, later)
        return mixed(0) + sparse_product(shifted, shifted, current) - later

    def frame_bounds(self) -> tuple[float, float]:
        """The largest A and smallest B found with ``A |x|^2 <= |W x|^2 <= B |x|^2``; (1, 1) is tight.

        For ``"chebyshev"`` they are taken over the whole interval [0, lambda_max], for ``"exact"`` over
        the eigenvalues.
        """
        if self.method == "exact":
            energy = (self.kernels(self._eigen[0]) ** 2).sum(0)
        else:
            angles = np.linspace(0.0, np.pi, BOUND_ANGLES * (self.degree + 1))
            energy = (chebval(np.cos(angles), self.coefficients.T) ** 2).sum(0)
        return float(energy.min()), float(energy.max())

    def adjoint_error(self, seed: int = 0, dtype: torch.dtype = torch.float64) -> float:
        """``|<W x, v> - <x, W^T v>| / (|W x| |v|)`` for a random pair: rounding error if the two match."""
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(self.num_nodes, 4, generator=generator, dtype=dtype)
        v = torch.randn(self.num_bands, self.num_nodes, 4, generator=generator, dtype=dtype)
        forward = self.analysis(x)
        gap = (forward * v).sum() - (x * self.synthesis(v)).sum()
        return float(gap.abs() / (forward.norm() * v.norm()))

    def _exact_operators(self, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        eigenvalues, vectors = self._eigen
        g = torch.as_tensor(self.kernels(eigenvalues), dtype=like.dtype, device=like.device)
        return g, torch.as_tensor(vectors, dtype=like.dtype, device=like.device)

    def __repr__(self) -> str:
        return (
            f"FrameletTransform({self.graph!r}, bank={self.bank.name!r}, levels={self.levels}, "
            f"degree={self.degree}, method={self.method!r})"
        )


def _check(value: torch.Tensor, name: str, axes: str, *leading: int) -> None:
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        raise ValueError(f"{name} must be a floating-point tensor {axes}")
    if tuple(value.shape[:-1]) != leading:
        found, wanted = list(value.shape), ", ".join(map(str, leading))
        raise ValueError(f"{name} has shape {found}; it must be {axes} = [{wanted}, features]")


class _Product(torch.autograd.Function):
    """``S @ x`` for a fixed sparse ``S``, whose transpose carries the gradient back."""

    @staticmethod
    def forward(ctx: Any, matrix: torch.Tensor, transposed: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        ctx.matrix, ctx.transposed = matrix, transposed
        return matrix @ x

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[None, None, torch.Tensor]:
        return None, None, sparse_product(ctx.transposed, ctx.matrix, grads[0].contiguous())


def sparse_product(matrix: torch.Tensor, transposed: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """``matrix @ x`` for a fixed sparse matrix with a known transpose, differentiable in the dense ``x`` ``[n, d]``."""
    if needs_gradient(x):
        return _Product.apply(matrix, transposed, x)  # type: ignore[no-untyped-call]
    return matrix @ x
