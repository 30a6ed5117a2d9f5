"""Blocks of columns and the sparse product on them, on four nodes."""

import threading

import numpy as np
import pytest
from numba import njit

from magnet.graph import Graph
from magnet.recovery.kernels.blocks import aligned, gather, kernel_matrix, run_blocks
from magnet.recovery.kernels.simd import LANES, store


@njit
def product(indptr, indices, values, source, out):
    for i in range(indptr.size - 1):
        store(out, i * LANES, gather(indptr, indices, values, source, i))


@pytest.mark.parametrize("name", ["shifted", "normalized"])
def test_a_gathered_row_is_a_row_of_the_product(name):
    graph = Graph.from_edges([[0, 1, 1], [1, 2, 3]], num_nodes=5, edge_weight=[1.0, 2.0, 3.0])  # node 4 is isolated
    order, matrix = kernel_matrix(graph, name)
    assert sorted(order) == [0, 1, 2, 3, 4]
    assert kernel_matrix(graph, name)[1] is matrix  # cached
    x = np.random.default_rng(0).normal(size=(5, LANES))
    source, out = aligned(5 * LANES, np.float64), aligned(5 * LANES, np.float64)
    source[:] = x[order].ravel()
    product(*matrix, source, out)
    expected = (getattr(graph, name) @ x)[order].reshape(5, LANES)
    rows = order != 4 if name == "normalized" else order >= 0  # the diagonal 1 of an isolated node is never read
    assert np.allclose(out.reshape(5, LANES)[rows], expected[rows], atol=1e-14)


def test_blocks_begin_at_cache_lines():
    for dtype in (np.float32, np.float64):
        array = aligned(100, dtype)
        assert array.ctypes.data % 64 == 0
        assert (array.size, array.dtype, array.any()) == (100, dtype, False)


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_the_order_of_the_columns_and_space_is_reused(threads):
    made, lock = [], threading.Lock()

    def make_space():
        with lock:
            made.append(object())
        return made[-1]

    def work(first, space):
        assert space in made
        return first

    starts = run_blocks(5 * LANES + 1, make_space, work, threads=threads, cost=1)
    assert starts == [k * LANES for k in range(6)]
    assert len(made) == threads
