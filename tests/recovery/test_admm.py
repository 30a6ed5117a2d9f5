"""The solver finds what an independent convex solver finds, and says truthfully how far it got."""

import cvxpy as cp
import numpy as np
import pytest
import torch

from magnet import FrameletTransform, recover


def bands_as_matrices(W):
    """W_b as dense matrices, by the exact transform."""
    eye = torch.eye(W.num_nodes, dtype=torch.float64)
    return FrameletTransform(W.graph, levels=W.levels, method="exact").analysis(eye).numpy()


def convex_minimum(W, x, trust, q, nu, degree_weights):
    d = W.graph.degree_weights if degree_weights else np.ones(W.num_nodes)
    total = 0.0
    matrices = bands_as_matrices(W)
    for j in range(x.shape[1]):
        u = cp.Variable(W.num_nodes)
        penalty = sum(nu[b] * cp.sum(cp.multiply(d, cp.abs(matrices[b] @ u))) for b in range(1, W.num_bands))
        weight = d * trust[:, j].numpy() ** q
        fidelity = 0.5 * cp.sum(cp.multiply(weight, cp.power(cp.abs(u - x[:, j].numpy()), q)))
        problem = cp.Problem(cp.Minimize(penalty + fidelity))
        options = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
        total += problem.solve(solver=cp.CLARABEL, **options)
    return total


@pytest.mark.parametrize("q", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("inertia", [0.0, 0.3])
@pytest.mark.parametrize("degree_weights", [True, False])
def test_objective_equals_the_convex_optimum(new_problem, q, inertia, degree_weights):
    rng = np.random.default_rng(4)
    W = FrameletTransform(rng.integers(0, 14, (2, 24)), 15, degree=16)
    x, trust = new_problem(15, 3, seed=int(10 * q))
    # q = 1 is a linear program, around whose solutions ADMM spirals for long when the penalty is strong
    nu0 = 1.0 if q == 1 else 3.0
    options = {"inertia": inertia, "degree_weights": degree_weights, "max_iter": 100_000, "tol": 1e-9}
    r = recover(x, trust, W, q=q, nu0=nu0, gamma=1.0, **options)
    expected = convex_minimum(W, x, trust, q, [0.0, nu0 / 16, nu0 / 64], degree_weights)
    assert r.primal[-1] < 1e-6
    assert abs(r.objective[-1] - expected) < 1e-6


def test_group_penalty_reaches_the_convex_optimum(W, new_problem):
    x, trust = new_problem(40, 3, seed=5)
    nu0 = 3.0
    r = recover(x, trust, W, penalty="group", nu0=nu0, gamma=1.0, max_iter=20_000, tol=1e-9)
    d, matrices = W.graph.degree_weights, bands_as_matrices(W)
    u = cp.Variable((40, 3))
    penalty = sum(
        nu * cp.sum(cp.multiply(d, cp.norm(matrix @ u, 2, axis=1)))
        for nu, matrix in zip([nu0 / 16, nu0 / 64], matrices[1:], strict=True)
    )
    fidelity = 0.5 * cp.sum(cp.multiply(d[:, None] * trust.numpy() ** 2, cp.square(u - x.numpy())))
    expected = cp.Problem(cp.Minimize(penalty + fidelity)).solve(solver=cp.CLARABEL)
    assert r.objective[-1] == pytest.approx(expected, rel=1e-6)


def augmented_lagrangian(problem, state):
    """h(Z) + f(U) + <Y, WU - Z> + gamma / 2 |WU - Z|^2."""
    gap = state.WU - state.Z
    coupling = (state.Y * gap + problem.gamma / 2 * gap**2).sum()
    return float(problem.penalty(state.Z).sum() + problem.fidelity(state.U).sum() + coupling)


@pytest.mark.parametrize("p", [0.0, 0.5, 0.8])
def test_nonconvex_lagrangian_does_not_end_above_its_start(W, problem, p):
    x, trust = problem
    states = []
    r = recover(x, trust, W, p=p, nu0=2.0, gamma=20.0, max_iter=300, tol=0, callback=states.append)
    settings_problem = _problem_of(W, x, trust, p)
    values = [augmented_lagrangian(settings_problem, state) for state in states]
    assert values[-1] <= values[0] + 1e-9
    # the reported residuals are those of the iterates
    last = states[-1]
    primal = (last.WU - last.Z).norm() / max(last.WU.norm(), last.Z.norm())
    dual = 20.0 * (last.WU - states[-2].WU).norm() / last.Y.norm()
    assert r.primal[-1] == pytest.approx(float(primal), rel=1e-10)
    assert r.dual[-1] == pytest.approx(float(dual), rel=1e-10)
    assert r.objective[-1] == pytest.approx(
        float((settings_problem.penalty(last.Z) + settings_problem.fidelity(last.U)).sum()), rel=1e-10
    )


def _problem_of(W, x, trust, p):
    from magnet.recovery.problem import Settings, prepare

    return prepare(x, trust, W, Settings(p=p, nu0=2.0, gamma=20.0, inertia=0.0)).problem


@pytest.mark.parametrize("inner", ["cg", "gd"])
def test_inexact_solvers_solve_the_step_of_a_loose_transform(inner):
    rng = np.random.default_rng(0)
    loose = FrameletTransform(rng.integers(0, 30, (2, 60)), 30, degree=3, bank="quadratic")
    lower, upper = loose.frame_bounds()
    assert upper - lower > 0.05
    x, trust = torch.randn(30, 3, dtype=torch.float64), torch.rand(30, 3, dtype=torch.float64)
    steps = 30 if inner == "cg" else 3000
    states = []
    options = {"nu0": 3.0, "gamma": 2.0, "inertia": 0.0, "max_iter": 2, "tol": 0}
    recover(x, trust, loose, inner=inner, inner_steps=steps, callback=states.append, **options)
    # stationarity: d M^2 (U - X) + W^T (gamma W U + V) = 0
    d = torch.as_tensor(loose.graph.degree_weights).unsqueeze(1)
    after = states[-1]
    gradient = d * trust**2 * (after.U - x) + loose.synthesis(after.V + 2.0 * loose.analysis(after.U))
    assert gradient.abs().max() < 1e-8
    closed = recover(x, trust, loose, **options).x
    assert (closed - after.U).abs().max() > 1e-4


def test_closed_step_agrees_with_cg_on_a_tight_transform(W, problem):
    x, trust = problem
    options = {"nu0": 3.0, "gamma": 2.0, "max_iter": 30, "tol": 0, "backend": "torch"}
    closed = recover(x, trust, W, **options).x
    assert (recover(x, trust, W, inner="cg", inner_steps=40, **options).x - closed).abs().max() < 1e-8


def test_gradients_of_the_unrolled_solver(W):
    # away from the kinks of the thresholds, where finite differences are wrong
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(40, 1, dtype=torch.float64, generator=generator)
    trust = torch.rand(40, 1, dtype=torch.float64, generator=generator) * 0.8 + 0.1
    nu = torch.tensor([0.0, 0.3, 0.2], dtype=torch.float64)
    gamma = torch.tensor(1.5, dtype=torch.float64)
    inputs = [value.requires_grad_() for value in (x, trust, nu, gamma)]

    def unrolled(x, trust, nu, gamma):
        return recover(x, trust, W, nu0=nu, gamma=gamma, max_iter=4, tol=0, inertia=0.2, history=False).x[:7]

    assert torch.autograd.gradcheck(unrolled, inputs, atol=1e-6)


def test_released_variant_uses_its_weights_and_thresholds(W, problem):
    x, trust = problem
    options = {"gamma": 2.0, "max_iter": 15, "tol": 0, "inertia": 0.0}
    released = recover(x, trust, W, variant="released", nu0=1.0, **options).x
    # nu0 / 4^(l-1) is 16 times the paper's 4^(-l-1) nu0
    assert torch.allclose(released, recover(x, trust, W, nu0=16.0, **options).x)
    hard = recover(x, trust, W, p=0, variant="released", nu0=1.0, **options).x
    assert torch.allclose(hard, recover(x, trust, W, p=0, hard="paper", nu0=16.0, **options).x)
    assert not torch.allclose(hard, recover(x, trust, W, p=0, nu0=16.0, **options).x)
    # q = 1: threshold gamma d / 2 in place of d / (2 gamma)
    for backend in ("torch", "numba"):
        wrong = recover(x, trust, W, q=1, variant="released", nu0=1.0, backend=backend, **options).x
        d = torch.as_tensor(W.graph.degree_weights).unsqueeze(1)
        states = []
        recover(x, trust, W, q=1, variant="released", nu0=1.0, callback=states.append, **options)
        S = W.synthesis(states[-1].V)
        expected = x + torch.sign(-x - S / 2) * torch.relu((-x - S / 2).abs() - 2.0 * d * trust / 2)
        assert torch.allclose(wrong[:38], expected[:38], atol=1e-6)
