"""What a user of ``recover`` may rely on."""

import numpy as np
import pytest
import torch

from magnet import FrameletTransform, recover
from magnet.recovery.problem import PRESETS


def relative(a, b):
    return float((a - b).norm() / b.norm())


def test_columns_are_solved_as_if_alone(W, problem):
    x, trust = problem
    for backend in ("torch", "numba"):
        together = recover(x, trust, W, tol=1e-3, backend=backend)
        assert len(set(together.column_iterations.tolist())) > 1  # they do stop at different times
        for j in range(x.shape[1]):
            alone = recover(x[:, [j]], trust[:, [j]], W, tol=1e-3, backend=backend)
            assert alone.iterations == together.column_iterations[j]
            assert torch.allclose(alone.x[:, 0], together.x[:, j], atol=1e-12)


@pytest.mark.parametrize("backend", ["torch", "numba"])
@pytest.mark.parametrize("width", [1, 7, 16, 33])
def test_result_does_not_depend_on_the_block_size(W, new_problem, backend, width):
    x, trust = new_problem(40, 50 if backend == "numba" else 9)
    whole = recover(x, trust, W, backend=backend, tol=1e-2)
    parts = recover(x, trust, W, backend=backend, tol=1e-2, block_columns=width)
    assert torch.allclose(parts.x, whole.x, atol=1e-12)
    assert np.allclose(parts.objective, whole.objective)
    assert parts.column_iterations.tolist() == whole.column_iterations.tolist()


def test_isolated_nodes_are_unchanged(W, problem):
    x, trust = problem
    for coordinates in ("plain", "degree"):
        r = recover(x, trust, W, coordinates=coordinates)
        assert torch.equal(r.x[38:], x[38:])
        assert not torch.allclose(r.x[:38], x[:38], atol=1e-3)


def test_plain_coordinates_keep_the_smoothest_signal(W):
    # proportional to sqrt(d_i), with its own factor in every component
    factor = torch.as_tensor(W.graph.components % 3 + 1.0)
    x = (factor * torch.as_tensor(np.sqrt(W.graph.degree_weights))).unsqueeze(1)
    assert relative(recover(x, None, W, nu0=5.0).x, x) < 1e-8


def test_degree_coordinates_keep_and_fill_constants(W):
    x = torch.full((40, 2), 40.0, dtype=torch.float64)
    trust = torch.ones_like(x)
    missing = torch.rand(40, generator=torch.Generator().manual_seed(0)) < 0.3
    x[missing, 1], trust[missing, 1] = float("nan"), 0.0
    filled = recover(x, trust, W, coordinates="degree").x
    assert torch.allclose(filled, torch.full_like(filled, 40.0), atol=1e-9)
    plain = recover(x, trust, W, coordinates="plain", nu0=5.0).x
    assert (plain[:, 1] - 40).abs().max() > 1  # why degree coordinates exist


def test_numbers_whose_squares_overflow_are_recovered(W, problem):
    x, trust = problem
    usual, huge = (recover(scale * x.double(), trust, W) for scale in (1.0, 1e300))
    assert relative(huge.x / 1e300, usual.x) < 1e-6
    assert float(huge.primal[-1]) == pytest.approx(float(usual.primal[-1]), rel=0.2)  # columns weigh alike


@pytest.mark.parametrize("scale", [1e-3, 250.0])
@pytest.mark.parametrize(("p", "q"), [(1.0, 2.0), (1.0, 1.0), (0.5, 1.5), (0.0, 2.0)])
@pytest.mark.parametrize("coordinates", ["plain", "degree"])
def test_scaling_x_scales_the_result(W, problem, scale, p, q, coordinates):
    x, trust = problem
    options = {"p": p, "q": q, "coordinates": coordinates, "max_iter": 25, "tol": 0}
    assert relative(recover(scale * x, trust, W, **options).x, scale * recover(x, trust, W, **options).x) < 1e-8


def test_scaling_holds_for_the_group_penalty(W, problem):
    x, trust = problem
    one = recover(x, trust, W, penalty="group", max_iter=25, tol=0).x
    assert relative(recover(7 * x, trust, W, penalty="group", max_iter=25, tol=0).x, 7 * one) < 1e-8


def test_permuting_nodes_permutes_the_result(W, problem):
    x, trust = problem
    order = torch.randperm(40, generator=torch.Generator().manual_seed(1))
    A = W.graph.adjacency[order.numpy()][:, order.numpy()].tocoo()
    permuted = FrameletTransform(np.stack([A.row, A.col]), 40, A.data, degree=16)
    assert relative(recover(x[order], trust[order], permuted).x, recover(x, trust, W).x[order]) < 1e-10


@pytest.mark.parametrize("backend", ["torch", "numba"])
def test_two_runs_give_identical_bits(W, new_problem, backend):
    x, trust = new_problem(40, 70, dtype=torch.float32)
    first, second = (recover(x, trust, W, backend=backend) for _ in range(2))
    assert torch.equal(first.x, second.x)
    assert np.array_equal(first.objective, second.objective)


def test_trusted_cells_can_be_kept_exactly(W, problem):
    x, trust = problem
    for q in (1.0, 1.5, 2.0):
        for backend in ("torch", "numba"):
            r = recover(x, trust, W, q=q, keep_trusted=True, backend=backend)
            assert torch.equal(r.x[trust == 1], x[trust == 1])
            assert not torch.allclose(r.x[trust < 1], x[trust < 1], atol=1e-2)
            assert np.isfinite(r.objective).all()


def test_missing_cells_are_unknown_not_zero(W, problem):
    x, trust = problem
    holes = trust == 0
    with_numbers = recover(x, trust, W, start="propagated", max_iter=3000, tol=1e-10, nu0=2.0)
    with_nan = recover(x.masked_fill(holes, torch.nan), trust, W, max_iter=3000, tol=1e-10, nu0=2.0)
    assert torch.isfinite(with_nan.x).all()
    assert with_nan.objective[-1] == pytest.approx(with_numbers.objective[-1], rel=1e-6)


def test_propagated_start_is_nearer_to_the_answer():
    edges = [list(range(29)), list(range(1, 30))]
    W = FrameletTransform(edges, 30)
    truth = torch.linspace(1, 2, 30, dtype=torch.float64).unsqueeze(1)
    trust = torch.ones_like(truth)
    trust[5:25:2] = 0
    bad = torch.where(trust == 0, 50.0, truth)
    few = {"max_iter": 2, "tol": 0, "nu0": 0.5}
    observed = recover(bad, trust, W, **few).x
    propagated = recover(bad, trust, W, start="propagated", **few).x
    assert (propagated - truth).norm() < 0.1 * (observed - truth).norm()


def test_kind_and_dtype_of_the_input_come_back(W, problem):
    x, trust = problem
    assert recover(x.float(), trust.float(), W).x.dtype == torch.float32
    assert recover(x.half(), trust.half(), W).x.dtype == torch.float16
    array = recover(x.numpy(), trust.numpy(), W).x
    assert isinstance(array, np.ndarray)
    assert array.dtype == np.float64
    counts = recover((x > 0).long(), trust, W).x
    assert counts.dtype == torch.float32
    assert np.allclose(recover(x, (trust > 0.5), W).x, recover(x, (trust > 0.5).double(), W).x)


def test_row_trust_holds_for_the_whole_row(W, problem):
    x, trust = problem
    whole = recover(x, trust[:, :1].expand_as(x), W)
    for rows in (trust[:, 0], trust[:, :1], trust[:, 0].numpy()):
        assert torch.equal(recover(x, rows, W).x, whole.x)


def test_paper_preset_is_fifteen_plain_iterations(W, problem):
    x, trust = problem
    r = recover(x, trust, W, preset="paper")
    assert r.iterations == 15 == len(r.objective) == len(r.primal) == len(r.dual)
    explicit = recover(x, trust, W, nu0=10.0, gamma=10.0, inertia=0.0, max_iter=15, tol=0)
    assert torch.equal(r.x, explicit.x)
    assert recover(x, trust, W, preset="paper", nu0=50.0).objective[-1] > r.objective[-1]
    assert set(PRESETS) == {"default", "paper"}


def test_a_low_pass_weight_can_be_given(W, problem):
    x, trust = problem
    nu = torch.tensor([0.5, 0.2, 0.1], dtype=torch.float64)
    r = recover(x, trust, W, nu0=nu, max_iter=40, tol=0, history=False)
    assert torch.allclose(r.x, recover(x, trust, W, nu0=nu, max_iter=40, tol=0, backend="torch").x, atol=1e-10)
    assert r.x.norm() < recover(x, trust, W, nu0=nu * torch.tensor([0.0, 1, 1])).x.norm()


def test_callback_sees_every_iteration(W, problem):
    x, trust = problem
    seen = []
    r = recover(x, trust, W, max_iter=9, tol=0, callback=lambda state: seen.append(state.k))
    assert seen == list(range(1, 10))
    assert r.backend == "torch"


def test_one_node_and_no_edges():
    W = FrameletTransform(np.zeros((2, 0), int), num_nodes=1)
    assert recover(torch.tensor([[3.0]]), None, W).x.item() == 3.0
    lonely = FrameletTransform(np.zeros((2, 0), int), num_nodes=3)
    x = torch.tensor([[1.0], [2.0], [float("nan")]])
    assert recover(x, torch.tensor([1.0, 1.0, 0.0]), lonely).x.flatten().tolist() == [1.0, 2.0, 1.0]


nan = float("nan")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": torch.zeros(39, 5)}, "x has 39 rows; the graph of the transform has 40 nodes"),
        ({"x": torch.zeros(40)}, r"x has shape \[40\]; it must be \[nodes, features\]"),
        ({"x": torch.zeros(40, 0)}, r"x has shape \[40, 0\]; at least one node and one feature"),
        ({"x": np.array([["a"] * 5] * 40)}, "x has dtype"),
        ({"x": torch.full((40, 5), nan)}, "x holds nan at node 0, feature 0, whose trust is"),
        ({"x": torch.full((40, 5), float("inf"))}, "x holds inf at node 0"),
        ({"trust": torch.ones(40, 4)}, r"trust has shape \[40, 4\]; x has \[40, 5\]"),
        ({"trust": torch.full((40, 5), 1.5)}, r"trust holds 1.5; every trust must lie in \[0, 1\]"),
        ({"trust": torch.full((40, 5), -0.1)}, "trust holds -0.1"),
        ({"trust": torch.full((40, 5), nan)}, "trust holds nan"),
        ({"p": 1.2}, "p is 1.2"),
        ({"q": 2.5}, "q is 2.5"),
        ({"nu0": -1.0}, "nu0 is -1.0"),
        ({"nu0": "big"}, "nu0 is 'big'"),
        ({"nu0": torch.ones(2)}, r"nu0 has shape \[2\]; a tensor gives one weight per band \(3\)"),
        ({"gamma": 0.0}, "gamma is 0.0"),
        ({"inertia": 0.5}, r"inertia is 0.5; it must lie in \[0, 1/3\)"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"tol": -1.0}, "tol is -1.0"),
        ({"preset": "fast"}, "preset is 'fast'"),
        ({"penalty": "row"}, "penalty is 'row'"),
        ({"penalty": "group", "p": 0.5}, "p is 0.5 with penalty='group'"),
        ({"coordinates": "polar"}, "coordinates is 'polar'"),
        ({"inner": "cg", "q": 1.0}, "q is 1.0 with inner='cg'"),
        ({"backend": "cuda"}, "backend is 'cuda'"),
        ({"backend": "triton"}, "backend is 'triton' but x is on cpu"),
        ({"backend": "numba", "balance": True}, "balance=True runs on 'torch' only"),
        ({"penalty": "group", "block_columns": 2}, "out and block_columns process columns separately"),
        ({"block_columns": 0}, "block_columns is 0"),
        ({"transform": "graph"}, "transform is a str; it must be a FrameletTransform"),
        ({"warm_start": torch.zeros(3, 3)}, r"warm_start has shape \[3, 3\]"),
    ],
)
def test_bad_input_is_named(W, problem, change, message):
    arguments = {"x": problem[0], "trust": problem[1].clamp(min=0.1), "transform": W} | change
    with pytest.raises(ValueError, match=message):
        recover(**arguments)


@pytest.mark.parametrize("coordinates", ["plain", "degree"])
def test_how_far_off_an_untrusted_cell_is_does_not_matter(W, coordinates):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(40, 3, generator=generator)
    trust = torch.ones(40, 3)
    trust[5, 1] = trust[7, 2] = 0
    results = []
    for far in (10.0, 500.0):  # both outside the range of the trusted cells, neither so far that it counts as missing
        x[5, 1], x[7, 2] = far, -far
        results.append(recover(x, trust, W, coordinates=coordinates))
    assert all(r.converged.all() for r in results)
    assert torch.equal(results[0].x, results[1].x)
    near = recover(x, trust, W, coordinates=coordinates, start="propagated").x
    assert abs(float(results[1].x[5, 1] - near[5, 1])) < 0.05
