"""The ADMM over blocks of columns: options, threads, and a last block that is not full."""

import torch

from magnet import FrameletTransform, recover


def test_options_reach_the_kernels(relative, graph, new_problem):
    W = FrameletTransform(graph)
    x, trust = new_problem(305, 18)
    for options in (
        {"coordinates": "degree"},
        {"degree_weights": False},
        {"p": 0.0, "hard": "paper", "nu0": 2.0},
        {"keep_trusted": True},
        {"start": "propagated"},
        {"gamma": torch.linspace(1, 3, 18, dtype=torch.float64)},
        {"q": 1.0, "keep_trusted": True},
    ):
        both = options | {"max_iter": 12, "tol": 0}
        reference = recover(x, trust, W, backend="torch", **both).x
        for history in (True, False):
            assert relative(recover(x, trust, W, backend="numba", history=history, **both).x, reference) < 1e-6


def test_threads_do_not_change_the_bits(graph, new_problem):
    W = FrameletTransform(graph)
    x, trust = new_problem(305, 90, dtype=torch.float32)
    one = recover(x, trust, W, threads=1)
    assert torch.equal(recover(x, trust, W, threads=4).x, one.x)


def test_columns_do_not_depend_on_their_block(graph, new_problem):
    W = FrameletTransform(graph)
    x, trust = new_problem(305, 17, dtype=torch.float32)  # a full block of 16 columns, and one column
    options = {"nu0": 3.0, "gamma": 2.0, "max_iter": 8, "tol": 0, "history": False, "backend": "numba"}
    whole = recover(x, trust, W, **options).x
    for at in (0, 15, 16):
        assert torch.equal(recover(x[:, at : at + 1], trust[:, at : at + 1], W, **options).x, whole[:, at : at + 1])
