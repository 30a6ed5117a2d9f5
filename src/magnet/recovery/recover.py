"""``recover``: the framelet-sparse features that stay close to the trusted observations."""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.framelets import FrameletTransform
from magnet.recovery import admm, driver
from magnet.recovery.io.columns import Columns, columns, range_width, read_columns, trust_columns
from magnet.recovery.io.output import File, Given, Memory, Output, Record, fingerprint
from magnet.recovery.problem import PRESETS, Inner, Prepared, Settings, prepare
from magnet.recovery.result import RecoveryResult

log = logging.getLogger("magnet")

Backend = Literal["auto", "torch", "numba", "triton"]


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
    inner: Inner = "closed",
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
) -> RecoveryResult:
    r"""Recover features from partly wrong ones ("Robust Graph Representation Learning for Local Corruption
    Recovery", Zhou et al., WWW 2023).

    .. math::
        \min_U \sum_b \nu_b \| W_b U \|_{p,G}^p + \tfrac12 \| M \odot (U - X) \|_{q,G}^q,
        \qquad \|v\|_{k,G}^k = \sum_i d_i |v_i|^k

    by an inertial ADMM, every column for itself.

    Args:
        x: observed features ``[n, d]``: tensor (dense or sparse), array, memory map, SciPy sparse matrix or the
            path of a ``.npy`` file. Cells with trust 0 may be NaN: unknown.
        trust: ``M`` in [0, 1], 1 = believed; any of the same kinds, or ``[n]`` for whole rows, or ``None`` for all
            ones. Unstored cells of a sparse trust are 0.
        transform: the framelet transform of the graph.
        p, q: exponents of the penalty, in [0, 1], and of the fidelity, in [1, 2]. (default: ``1``, ``2``)
        nu0: penalty weight. A number gives ``4^(-l-1) nu0`` at level l as in the paper; ``"auto"`` is relative to
            the spread of the data; a tensor ``[bands]`` or ``[bands, d]`` sets every band. (default: ``"auto"``)
        strength: the dimensionless factor of ``nu0="auto"``. (default: ``1``)
        gamma: step parameter, a number, a tensor ``[d]``, or ``"auto"``. (default: ``"auto"``)
        inertia: ``a_k`` from the second step on, in [0, 1/3). (default: ``0.15``; none for p < 1)
        max_iter, tol: stop a column when both relative residuals are at most ``tol``. (default: ``200``, ``1e-3``)
        preset: ``"paper"`` sets 15 iterations, ``tol=0``, ``nu0=10``, ``gamma=10`` and no inertia; what is given
            explicitly wins.
        penalty: ``"element"``, or ``"group"`` for whole rows of a band (p = 1).
        coordinates: ``"plain"`` solves on X as the paper does; ``"degree"`` on ``D^1/2 (X - median)``, where constant
            columns are fixed points.
        degree_weights: weight the norms by the degree. (default: ``True``; off in degree coordinates)
        start: ``"observed"``, or ``"propagated"``: untrusted cells start at their harmonic extension.
        keep_trusted: keep cells of trust 1 exactly.
        hard: threshold of p = 0: ``"exact"`` prox, or ``"paper"``.
        inner: how the U-step is solved for q = 2: ``"closed"`` form for tight transforms, or ``inner_steps`` steps
            of ``"cg"`` or ``"gd"`` for loose ones.
        balance: adapt gamma to balance the residuals during the first 50 iterations.
        variant: ``"released"`` uses the thresholds and weights of the authors' code.
        backend: ``"torch"``, ``"numba"``, ``"triton"`` or ``"auto"``.
        history: keep objective and residuals of every iteration; ``False`` with ``tol=0`` is about twice as fast.
        callback: called with the :class:`~magnet.recovery.admm.State` after each iteration (torch backend).
        warm_start: features ``[n, d]`` to start from, or a :class:`RecoveryResult` with a state.
        keep_state: return the final iterates (torch backend).
        out: write the result to this ``.npy`` file range by range (a killed run continues where it was), or into
            this array or memory map.
        block_columns: columns handled at a time. The result does not depend on it.
        threads: CPU threads of the numba backend. (default: all)
        progress: show a progress bar. (default: when writing to a file from a terminal)

    Example:
        >>> W = FrameletTransform([[0, 1, 2, 3], [1, 2, 3, 0]], num_nodes=4)
        >>> x = torch.tensor([[1.0], [1.0], [9.0], [1.0]])
        >>> trust = torch.tensor([[1.0], [1.0], [0.0], [1.0]])
        >>> r = recover(x, trust, W, max_iter=500, tol=1e-6)
        >>> round(float(r.x[2]), 2)
        1.0
    """
    given = {"nu0": nu0, "gamma": gamma, "inertia": inertia, "max_iter": max_iter, "tol": tol}
    if preset not in PRESETS:
        raise ValueError(f"preset is {preset!r}; it must be one of {', '.join(map(repr, PRESETS))}")
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
    ).resolved()
    if not isinstance(transform, FrameletTransform):
        raise ValueError(f"transform is a {type(transform).__name__}; it must be a FrameletTransform")
    X = columns(x, "x")
    if X.shape[0] != transform.num_nodes:
        raise ValueError(f"x has {X.shape[0]} rows; the graph of the transform has {transform.num_nodes} nodes")
    M = trust_columns(trust, X)
    if block_columns is not None and block_columns < 1:
        raise ValueError(f"block_columns is {block_columns}; at least 1 is needed")

    gradient = any(isinstance(v, Tensor) and v.requires_grad for v in (x, trust, nu0, gamma))
    gradient = gradient and torch.is_grad_enabled()
    stateful = keep_state or callback is not None or isinstance(warm_start, RecoveryResult)
    whole = gradient or stateful or settings.penalty == "group"
    name = _choose_backend(backend, X, transform, settings, gradient or stateful)
    if whole and (out is not None or block_columns is not None):
        raise ValueError(
            "out and block_columns handle columns separately; they do not go with penalty='group', gradients, "
            "callback, keep_state or a warm start from a result"
        )
    width = X.shape[1] if whole else range_width(X, name, out is not None, block_columns)
    if out is None:
        target: Output = Memory(X.shape, X.dtype, X.device, X.is_tensor)
    elif isinstance(out, np.ndarray):
        target = Given(out, X.shape)
    else:
        key = fingerprint(
            asdict(settings),
            repr(transform),
            transform.graph.shifted.data,
            transform.graph.shifted.indices,
            width,
            x,
            trust,
        )
        target = File(out, X.shape, torch.zeros(0, dtype=X.dtype).numpy().dtype, key)

    show = sys.stderr.isatty() and out is not None if progress is None else progress
    records: list[Record] = []
    state = None
    for first in _ranges(X.shape[1], width, show):
        last = min(first + width, X.shape[1])
        record = target.finished(first)
        if record is None:
            prepared = prepare(*read_columns(X, M, first, last), transform, _columns_of(settings, first, last), first)
            began = _begin(prepared, warm_start, first, last)
            solution = _solve(name, prepared.problem, began, history, callback, threads)
            state = solution.state if keep_state else None
            record = (solution.iterations, solution.converged, solution.history.sums)
            target.write(first, prepared.to_user(solution.U), record)
        records.append(record)
    total = driver.History(_add_histories([sums for _, _, sums in records]))
    return RecoveryResult(
        x=target.result(),
        objective=total.objective,
        primal=total.primal,
        dual=total.dual,
        column_iterations=np.concatenate([iterations for iterations, _, _ in records]),
        converged=np.concatenate([converged for _, converged, _ in records]),
        backend=name,
        state=state,
    )


def _columns_of(settings: Settings, first: int, last: int) -> Settings:
    """Weights given for every column, cut to the range at hand."""
    nu0, gamma = settings.nu0, settings.gamma
    if isinstance(nu0, Tensor) and nu0.dim() == 2 and nu0.shape[1] > 1:
        nu0 = nu0[:, first:last]
    if isinstance(gamma, Tensor) and gamma.dim() == 1 and gamma.shape[0] > 1:
        gamma = gamma[first:last]
    return replace(settings, nu0=nu0, gamma=gamma)


def _begin(prepared: Prepared, warm_start: Any, first: int, last: int) -> Tensor | admm.State:
    if warm_start is None:
        return prepared.start
    if isinstance(warm_start, RecoveryResult):
        if warm_start.state is None:
            raise ValueError("warm_start has no state; make the result with keep_state=True")
        return warm_start.state
    given = columns(warm_start, "warm_start")
    n = prepared.start.shape[0]
    if given.shape[0] != n or given.shape[1] < last:
        raise ValueError(f"warm_start has shape {list(given.shape)}; x has {n} rows and at least {last} columns")
    return prepared.to_solver(given.read(first, last).to(prepared.start))


def _solve(
    name: str,
    problem: Any,
    start: Tensor | admm.State,
    history: bool,
    callback: driver.Callback | None,
    threads: int | None,
) -> driver.Solution:
    if name == "torch" or isinstance(start, admm.State):
        began = start if isinstance(start, admm.State) else admm.initial(problem, start)
        return driver.solve(problem, began, history=history, callback=callback)
    if name == "numba":
        from magnet.recovery.kernels import blocks

        return blocks.solve(problem, start, history=history, threads=threads)
    from magnet.recovery.kernels import gpu

    return gpu.solve(problem, start, history=history)


_missing: set[str] = set()


def _importable(name: str) -> bool:
    """Whether a backend's package is there; says once, in one line, that it is not."""
    if importlib.util.find_spec(name) is not None:
        return True
    if name not in _missing:
        _missing.add(name)
        log.warning("%s is not installed: recovery falls back to the torch backend", name)
    return False


def _choose_backend(
    backend: str, X: Columns, transform: FrameletTransform, settings: Settings, needs_torch: bool
) -> str:
    if backend not in ("auto", "torch", "numba", "triton"):
        raise ValueError(f"backend is {backend!r}; it must be 'auto', 'torch', 'numba' or 'triton'")
    fused = "triton" if X.device.type == "cuda" else "numba"
    if backend not in ("auto", "torch", fused):
        raise ValueError(f"backend is {backend!r} but x is on {X.device}; it must be 'torch' or {fused!r}")
    reasons = {
        "gradients, callback and states": needs_torch,
        "penalty='group'": settings.penalty == "group",
        "balance=True": settings.balance,
        f"inner={settings.inner!r}": settings.inner != "closed",
        "method='exact'": transform.method == "exact",
    }
    reason = next((text for text, holds in reasons.items() if holds), None)
    if backend == fused and reason is not None:
        raise ValueError(f"backend is {backend!r}; {reason} runs on 'torch' only")
    if backend == "torch" or reason is not None or not _importable(fused):
        return "torch"
    return fused


def _ranges(columns: int, width: int, show: bool) -> Any:
    starts = range(0, columns, width)
    if not show:
        return starts
    from rich.console import Console
    from rich.progress import track

    return track(starts, description="recovering columns", console=Console(stderr=True))


def _add_histories(tables: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Sum of tables ``[6, iterations]``; the shorter ones stay at their last values."""
    longest = max(table.shape[1] for table in tables)
    total = np.zeros((6, longest))
    for table in tables:
        if table.shape[1]:
            total += np.concatenate([table, np.repeat(table[:, -1:], longest - table.shape[1], axis=1)], axis=1)
    return total
