"""``recover``: the framelet-sparse features that stay close to the trusted observations."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.checks import one_of
from magnet.framelets import FrameletTransform, needs_gradient
from magnet.recovery import admm, driver
from magnet.recovery.io.columns import column_scales, columns, trust_columns
from magnet.recovery.kernels import Backend, choose_backend
from magnet.recovery.problem import PRESETS, Settings, prepare
from magnet.recovery.ranges import run_ranges
from magnet.recovery.result import Record, RecoveryResult, add_histories

#: Squared norms are at most this, so that the sum over columns is finite.
LARGEST_SQUARE = 1e250


def recover(
    x: Any,
    trust: Any,
    transform: FrameletTransform,
    *,
    p: float = 1.0,
    q: float = 2.0,
    nu0: float | Tensor | Literal["auto"] | None = None,
    strength: float = 1.0,
    gamma: float | Tensor | Literal["auto"] | None = None,
    inertia: float | None = None,
    max_iter: int | None = None,
    tol: float | None = None,
    preset: Literal["default", "paper"] = "default",
    penalty: Literal["element", "group"] = "element",
    coordinates: Literal["plain", "degree"] = "plain",
    degree_weights: bool = True,
    start: Literal["observed", "propagated"] = "observed",
    keep_trusted: bool = False,
    hard: Literal["exact", "paper"] = "exact",
    inner: Literal["closed", "cg", "gd"] = "closed",
    inner_steps: int = 10,
    balance: bool = False,
    variant: Literal["exact", "released"] = "exact",
    backend: Backend = "auto",
    history: bool = True,
    callback: driver.Callback | None = None,
    warm_start: Any = None,
    keep_state: bool = False,
    out: str | os.PathLike[str] | NDArray[Any] | None = None,
    block_columns: int | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    cluster: str | None = None,
) -> RecoveryResult:
    r"""Recover features from partly wrong ones ("Robust Graph Representation Learning for Local Corruption
    Recovery", Zhou et al., WWW 2023).

    .. math::
        \min_U \sum_b \nu_b \| W_b U \|_{p,G}^p + \tfrac12 \| M \odot (U - X) \|_{q,G}^q,
        \qquad \|v\|_{k,G}^k = \sum_i d_i |v_i|^k

    by an inertial ADMM; columns are independent.

    Args:
        x: observed features ``[n, d]``: tensor (dense or sparse), array, memory map, SciPy sparse matrix or the
            path of a ``.npy`` file or of an ``.npz`` file of ``scipy.sparse.save_npz``. Files may be larger than memory
            (with ``out``, as the result is dense). Cells with trust 0 may be NaN.
        trust: ``M`` in [0, 1], 1 = trusted; any of the same types, or ``[n]`` for whole rows, or ``None`` for all
            ones. Unstored cells of a sparse trust are 0.
        transform: the framelet transform of the graph.
        p: exponent of the penalty, in [0, 1]. (default: ``1``)
        q: exponent of the fidelity, in [1, 2]. (default: ``2``)
        nu0: penalty weight. A number gives ``4^(-l-1) nu0`` at level l as in the paper; ``"auto"`` is relative to
            the scale of the data; a tensor ``[bands]`` or ``[bands, d]`` sets every band. (default: ``"auto"``)
        strength: the dimensionless factor of ``nu0="auto"``. (default: ``1``)
        gamma: step parameter, a number, a tensor ``[d]``, or ``"auto"``. (default: ``"auto"``)
        inertia: ``a_k`` from the second step on, in [0, 1/3). (default: ``0.15``; none for p < 1)
        max_iter: maximum number of iterations. (default: ``200``)
        tol: stop a column when both relative residuals are at most this. (default: ``1e-3``)
        preset: ``"paper"`` sets 15 iterations, ``tol=0``, ``nu0=10``, ``gamma=10`` and no inertia; arguments given
            explicitly take precedence.
        penalty: ``"element"``, or ``"group"`` for whole rows of a band (p = 1).
        coordinates: ``"plain"`` solves on X as the paper does; ``"degree"`` on ``D^1/2 (X - median)``, where constant
            columns are fixed points.
        degree_weights: weight the norms by the degree. (default: ``True``; off in degree coordinates)
        start: ``"observed"`` (with ``tol`` above 0, untrusted cells within the range of the trusted ones of their
            column), or ``"propagated"``: untrusted cells start at their harmonic extension.
        keep_trusted: leave cells with trust 1 unchanged.
        hard: threshold of p = 0: ``"exact"`` prox, or ``"paper"``.
        inner: how the U-step is solved for q = 2: in ``"closed"`` form for tight transforms, or by ``"cg"`` or
            ``"gd"`` for loose ones.
        inner_steps: steps of ``"cg"`` or ``"gd"``.
        balance: adapt gamma to balance the residuals during the first 50 iterations.
        variant: ``"released"`` uses the thresholds and weights of the authors' code.
        backend: ``"torch"``, ``"numba"``, ``"triton"`` or ``"auto"``.
        history: keep objective and residuals of every iteration; ``False`` with ``tol=0`` is about twice as fast.
        callback: called with the :class:`~magnet.recovery.admm.State` after each iteration (torch backend).
        warm_start: features ``[n, d]`` to start from, or a :class:`RecoveryResult` with a state.
        keep_state: return the final iterates (torch backend).
        out: write the result to this ``.npy`` file in blocks of columns (an interrupted run resumes), or into
            this array or memory map.
        block_columns: columns processed at a time. The result does not depend on it.
        threads: CPU threads of the numba backend. (default: all)
        progress: show a progress bar. (default: when writing to a file from a terminal)
        cluster: solve blocks of columns on a Ray cluster (extra ``cluster``): its address, or ``"auto"`` for a running
            cluster, or else a new one on this machine. The result is bit-identical. (default: none)

    Example:
        >>> W = FrameletTransform([[0, 1, 2, 3], [1, 2, 3, 0]], num_nodes=4)
        >>> x = torch.tensor([[1.0], [1.0], [9.0], [1.0]])
        >>> trust = torch.tensor([[1.0], [1.0], [0.0], [1.0]])
        >>> r = recover(x, trust, W, max_iter=500, tol=1e-6)
        >>> round(float(r.x[2]), 2)
        1.0
    """
    given = {"nu0": nu0, "gamma": gamma, "inertia": inertia, "max_iter": max_iter, "tol": tol}
    one_of("preset", preset, PRESETS)
    chosen = PRESETS[preset] | {name: value for name, value in given.items() if value is not None}
    if p < 1 and inertia is None:
        chosen["inertia"] = 0.0  # the inertial step is only proved safe for the convex problem
    settings = Settings(
        p=p,
        q=q,
        strength=strength,
        penalty=penalty,
        coordinates=coordinates,
        degree_weights=degree_weights,
        start=start,
        keep_trusted=keep_trusted,
        hard=hard,
        inner=inner,
        inner_steps=inner_steps,
        balance=balance,
        variant=variant,
        **chosen,
    )
    if variant == "released":
        settings = replace(settings, hard="paper", inertia=0.0)
    if not isinstance(transform, FrameletTransform):
        raise ValueError(f"transform is a {type(transform).__name__}; it must be a FrameletTransform")
    X = columns(x, "x")
    if X.shape[0] != transform.num_nodes:
        raise ValueError(f"x has {X.shape[0]} rows; the graph of the transform has {transform.num_nodes} nodes")
    M = trust_columns(trust, X)
    gradient = needs_gradient(x, trust, nu0, gamma)
    stateful = keep_state or callback is not None or isinstance(warm_start, RecoveryResult)
    whole = gradient or stateful or settings.penalty == "group"
    torch_only = {
        "gradients, callback and states": gradient or stateful,
        "penalty='group'": settings.penalty == "group",
        "balance=True": settings.balance,
        f"inner={settings.inner!r}": settings.inner != "closed",
        "method='exact'": transform.method == "exact",
    }
    name = choose_backend(backend, X.device.type, torch_only)
    if whole and (out is not None or block_columns is not None):
        raise ValueError(
            "out and block_columns process columns separately; they cannot be combined with penalty='group', "
            "gradients, callback, keep_state or a warm start from a result"
        )
    if cluster is not None and (whole or X.device.type != "cpu"):
        raise ValueError(
            "cluster needs independent columns on the CPU; it cannot be combined with penalty='group' or keep_state"
        )
    rescale = not (gradient or stateful)
    job = _Recovery(transform, settings, name, history, callback, warm_start, threads, rescale)
    identity = (vars(settings), transform, x, trust, warm_start, history, name)
    width = X.shape[1] if whole else block_columns
    (result,) = run_ranges(job, X, M, width, identity=identity, out=out, progress=progress, cluster=cluster)
    return replace(result, state=job.state) if keep_state else result


@dataclass
class _Recovery:
    """Recovers a range of columns; keeps the final iterates of the last one."""

    transform: FrameletTransform
    settings: Settings
    backend: str
    history: bool
    callback: driver.Callback | None
    warm_start: Any
    threads: int | None
    rescale: bool
    state: admm.State | None = None

    def solve(self, x: Tensor, trust: Tensor, first: int) -> list[tuple[Tensor, Record]]:
        settings = _columns_of(self.settings, slice(first, first + x.shape[1]))
        start = self._start(x, first)
        scales = column_scales(x, trust, together=settings.penalty == "group") if self.rescale else None
        if scales is None:
            return [self._solve(x, trust, settings, start, first)]
        U = torch.empty_like(x)
        steps, converged = np.zeros(x.shape[1], dtype=np.int64), np.zeros(x.shape[1], dtype=bool)
        tables = []
        for scale in scales.unique().tolist():
            at = (scales == scale).nonzero().flatten()
            part = start[:, at] / scale if isinstance(start, Tensor) else None
            scaled = _scaled(_columns_of(settings, at), scale)
            U_at, record = self._solve(x[:, at] / scale, trust[:, at], scaled, part, first)
            U[:, at] = U_at * scale
            steps[at.cpu().numpy()], converged[at.cpu().numpy()] = record.iterations, record.converged
            with np.errstate(over="ignore"):  # the squares of numbers beyond 1e154 are infinite; ratios of them are not
                fidelity, primal, dual = np.float64(scale) ** np.array([settings.q, 2.0, 2 * (settings.q - 1)])
                primal, dual = min(primal, LARGEST_SQUARE), min(dual, LARGEST_SQUARE)
                tables.append(record.sums * np.array([fidelity, primal, dual, primal, primal, dual])[:, None])
        return [(U, Record(steps, converged, add_histories(tables)))]

    def for_workers(self) -> _Recovery:
        if self.backend == "numba":
            from magnet.recovery.kernels.blocks import kernel_matrix

            kernel_matrix(self.transform.graph, "shifted")
        return replace(self, threads=1)

    def _solve(
        self, x: Tensor, trust: Tensor, settings: Settings, start: Tensor | admm.State | None, first: int
    ) -> tuple[Tensor, Record]:
        prepared = prepare(x, trust, self.transform, settings, first)
        problem = prepared.problem
        if start is None:
            start = prepared.start
        elif isinstance(start, Tensor):
            start = prepared.to_solver(start)
        if self.backend == "torch" or isinstance(start, admm.State):
            began = start if isinstance(start, admm.State) else admm.initial(problem, start)
            self.state, record = driver.solve(problem, began, history=self.history, callback=self.callback)
            return prepared.to_user(self.state.U), record
        if self.backend == "numba":
            from magnet.recovery.kernels import admm as fused

            U, record = fused.solve(problem, start, history=self.history, threads=self.threads)
        else:
            from magnet.recovery.kernels import gpu

            U, record = gpu.solve(problem, start, history=self.history)
        return prepared.to_user(U), record

    def _start(self, x: Tensor, first: int) -> Tensor | admm.State | None:
        if isinstance(self.warm_start, RecoveryResult):
            if self.warm_start.state is None:
                raise ValueError("warm_start has no state; make the result with keep_state=True")
            return self.warm_start.state
        if self.warm_start is None:
            return None
        start = columns(self.warm_start, "warm_start")
        last = first + x.shape[1]
        if start.shape[0] != x.shape[0] or start.shape[1] < last:
            found = list(start.shape)
            raise ValueError(f"warm_start has shape {found}; x has {x.shape[0]} rows and at least {last} columns")
        return start.read(first, last).to(x)


def _columns_of(settings: Settings, at: slice | Tensor) -> Settings:
    """Weights given for every column, cut to some columns."""
    nu0, gamma = settings.nu0, settings.gamma
    if isinstance(nu0, Tensor) and nu0.dim() == 2 and nu0.shape[1] > 1:
        nu0 = nu0[:, at]
    if isinstance(gamma, Tensor) and gamma.dim() == 1 and gamma.shape[0] > 1:
        gamma = gamma[at]
    return replace(settings, nu0=nu0, gamma=gamma)


def _scaled(settings: Settings, scale: float) -> Settings:
    r"""The settings with which ``x / scale`` gives the result divided by ``scale``.

    Dividing the objective by :math:`s^q` leaves :math:`\nu s^{p-q}`, and :math:`\gamma s^{2-q}` in the augmented term;
    ``"auto"`` follows the data anyway.
    """
    nu0 = settings.nu0 if isinstance(settings.nu0, str) else settings.nu0 * scale ** (settings.p - settings.q)
    gamma = settings.gamma if isinstance(settings.gamma, str) else settings.gamma * scale ** (2 - settings.q)
    return replace(settings, nu0=nu0, gamma=gamma)
