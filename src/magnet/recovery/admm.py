r"""One step of the inertial ADMM for :math:`\min h(Z) + f(U)` subject to :math:`Z = W U`.

.. math::
    Z_{k+1} &= \mathrm{prox}_{\nu d |.|^p / \gamma}(W U_k + Y_k / \gamma) \\
    V_{k+1} &= Y_k - \gamma Z_{k+1} \\
    \tilde V_{k+1} &= V_{k+1} + a_k (V_{k+1} - V_k) \\
    U_{k+1} &= \arg\min_U f(U) + \tfrac\gamma2 \| W U + \tilde V_{k+1} / \gamma \|^2 \\
    Y_{k+1} &= \tilde V_{k+1} + \gamma W U_{k+1}

This is the reference: plain torch, any device, differentiable in everything. The fused kernels are tested
against it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from magnet import prox
from magnet.recovery.cg import conjugate_gradients
from magnet.recovery.problem import Problem


@dataclass(frozen=True)
class State:
    """The iterates after k steps. ``WU`` is ``W U``, kept because two places need it."""

    U: Tensor
    WU: Tensor
    Z: Tensor
    Y: Tensor
    V: Tensor
    k: int = 0


def initial(problem: Problem, U: Tensor) -> State:
    """``Y_0 = 0``, ``Z_0 = W U_0``."""
    WU = problem.transform.analysis(U)
    zero = torch.zeros_like(WU)
    return State(U=U, WU=WU, Z=WU, Y=zero, V=zero)


def step(problem: Problem, state: State, inertia: float) -> State:
    """One iteration; ``inertia`` is ``a_k`` (0 in the first)."""
    gamma = problem.gamma
    Z = shrink(problem, state.WU + state.Y / gamma)
    V = state.Y - gamma * Z
    Vt = V + inertia * (V - state.V) if inertia else V
    U = fit(problem, problem.transform.synthesis(Vt), state.U)
    WU = problem.transform.analysis(U)
    return State(U=U, WU=WU, Z=Z, Y=Vt + gamma * WU, V=V, k=state.k + 1)


def shrink(problem: Problem, coefficients: Tensor) -> Tensor:
    """The Z-step: the prox of the penalty divided by gamma."""
    settings = problem.settings
    threshold = problem.nu.unsqueeze(1) * problem.d / problem.gamma
    if settings.penalty == "group":
        return prox.group(coefficients, threshold[..., :1])
    return prox.lp(coefficients, threshold, settings.p, settings.hard)


def fit(problem: Problem, S: Tensor, U: Tensor) -> Tensor:
    r"""The U-step, given :math:`S = W^\top \tilde V`; ``U`` starts the inexact solvers.

    With :math:`W^\top W = I`: :math:`U = X + \mathrm{prox}_{\omega |.|^q / 2\gamma}(-S/\gamma - X)`; for q = 2
    that is :math:`(\omega X - S) / (\omega + \gamma)`.
    """
    settings, X, gamma = problem.settings, problem.X, problem.gamma
    omega = problem.omega
    if settings.inner == "cg":
        right, diagonal = omega * X - S, omega + gamma
        return conjugate_gradients(_normal(problem), right, U, diagonal, max_iter=settings.inner_steps)[0]
    if settings.inner == "gd":
        return _gradient_descent(problem, omega * X - S, U)
    if settings.q == 2:
        fitted = (omega * X - S) / (omega + gamma)
    else:
        t = gamma * omega / 2 if settings.q == 1 and settings.variant == "released" else omega / (2 * gamma)
        fitted = X + prox.lq(-S / gamma - X, t, settings.q)
    return torch.where(problem.M == 1, X, fitted) if settings.keep_trusted else fitted


def objective(problem: Problem, state: State) -> Tensor:
    """``h(W U) + f(U)`` per column; for p < 1 ``h(Z) + f(U)``, since ``W U`` is never exactly sparse."""
    coefficients = state.WU if problem.settings.p == 1 else state.Z
    return problem.penalty(coefficients) + problem.fidelity(state.U)


@torch.no_grad()
def measure(problem: Problem, before: State, after: State, inertia: float) -> Tensor:
    r"""Of each column ``[6, d]``: the objective, and the squared norms of primal, dual, WU, Z and Y.

    The primal residual is :math:`W U - Z`, the dual one :math:`\gamma W (U_{k+1} - U_k) + a_k (V_{k+1} - V_k)`.
    """
    dual = problem.gamma * (after.WU - before.WU) + inertia * (after.V - before.V)
    arrays = (after.WU - after.Z, dual, after.WU, after.Z, after.Y)
    return torch.stack([objective(problem, after).double(), *(a.double().square().sum(dim=(0, 1)) for a in arrays)])


def _normal(problem: Problem) -> Callable[[Tensor], Tensor]:
    r""":math:`U \mapsto (\omega + \gamma W^\top W) U`."""
    transform, omega, gamma = problem.transform, problem.omega, problem.gamma
    return lambda U: omega * U + gamma * transform.synthesis(transform.analysis(U))


def _gradient_descent(problem: Problem, right: Tensor, U: Tensor) -> Tensor:
    """The paper's I gradient steps, each of length ``1 / (max omega + gamma B)`` with frame bound B."""
    normal = _normal(problem)
    upper = problem.transform.frame_bounds()[1]
    length = 1 / (problem.omega.amax(dim=0) + problem.gamma * upper)
    for _ in range(problem.settings.inner_steps):
        U = U - length * (normal(U) - right)
    return U
