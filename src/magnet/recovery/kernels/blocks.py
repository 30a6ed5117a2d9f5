"""Column blocks on the CPU: their threads, their memory, and the sparse matrix in the form that the kernels read.

A block is ``LANES`` columns, stored ``[n, LANES]``: one cache line per node for float32. A thread takes a block, runs
all iterations on it while it stays in cache, and takes the next one. This is the only level of parallelism, and threads
synchronize only at the end: a core that another process keeps busy delays only its own block.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from magnet.arrays import Ints
from magnet.graph import Graph
from magnet.recovery.kernels.simd import LANES, jit, load, prefetch

#: How many edges ahead rows are prefetched; the index array is padded by as many entries.
AHEAD = 24

#: Below this number of cells times iterations one thread is enough: 2 ms of work, against 0.2 ms for starting threads.
WORTH_A_THREAD = 1 << 20

#: Rows summed in the working precision before they are added to float64 totals.
FLUSH = 64

Space = TypeVar("Space")
Done = TypeVar("Done")


class Matrix(NamedTuple):
    """A sparse matrix with rows in the order of the kernels; the last index of each row is stored as ``~index``."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[Any]


def run_blocks(
    columns: int, make_space: Callable[[], Space], work: Callable[[int, Space], Done], *, threads: int | None, cost: int
) -> list[Done]:
    """``work(first, space)`` for every block (multiples of ``LANES``), several at a time.

    Args:
        make_space: makes the arrays of one thread, which are used again for every block that it takes.
        work: handles one block; it must release the interpreter lock.
        threads: None for as many as torch uses and at most one per core; one where the work is small.
        cost: cells times iterations.
    """
    starts = range(0, columns, LANES)
    if threads is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        threads = min(cores, torch.get_num_threads()) if cost >= WORTH_A_THREAD else 1
    threads = min(threads, len(starts))
    free: SimpleQueue[Space] = SimpleQueue()
    for _ in range(threads):
        free.put(make_space())

    def one(first: int) -> Done:
        space = free.get()
        try:
            return work(first, space)
        finally:
            free.put(space)

    if threads == 1:
        return [one(first) for first in starts]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, starts))


def aligned(size: int, dtype: Any) -> NDArray[Any]:
    """Zeros that begin at a cache line, so that a row of a block is one line and not parts of two."""
    line = 64
    raw = np.zeros(size * np.dtype(dtype).itemsize + line, np.uint8)
    shift = -raw.ctypes.data % line
    return raw[shift : shift + size * np.dtype(dtype).itemsize].view(dtype)


def kernel_matrix(graph: Graph, name: Literal["shifted", "normalized"]) -> tuple[Ints, Matrix]:
    """The order in which the kernels keep the nodes, and a matrix of the graph in that order (cached).

    Neighbors are brought close together (reverse Cuthill-McKee), so that they are in the nearest cache when they are
    gathered. The last index of a row is stored as its complement, a negative number that ends the loop: the compiler
    does not unroll such a loop, which is faster for short rows. Every row stores something: the isolated nodes of
    ``"normalized"`` get a 1 on the diagonal, which nothing reads.
    """
    key = ("kernel", name)
    if key not in graph.cache:
        order = sp.csgraph.reverse_cuthill_mckee(graph.shifted, symmetric_mode=True).astype(np.int64)
        matrix = graph.shifted
        if name == "normalized":
            matrix = graph.normalized + sp.diags(graph.isolated.astype(np.float64))
        matrix = matrix[order][:, order].tocsr()
        matrix.sort_indices()
        # positions are counted in elements of a block, so that they must fit with LANES in the product
        small = graph.num_nodes * LANES < 2**31
        indices = matrix.indices.astype(np.int32 if small else np.int64)
        last = matrix.indptr[1:] - 1
        indices[last] = ~indices[last]
        indices = np.concatenate([indices, np.zeros(AHEAD + 1, indices.dtype)])
        graph.cache[key] = (order, Matrix(matrix.indptr.astype(np.int64), indices, matrix.data))
    cached: tuple[Ints, Matrix] = graph.cache[key]
    return cached


@jit
def gather(indptr, indices, values, source, i):
    """Row i of the sparse product with a block.

    Rows are prefetched some edges ahead: the processor cannot look that far through loops of unknown length.
    """
    edge = indptr[i]
    j = indices[edge]
    soon = indices[edge + AHEAD]
    prefetch(source, max(soon, ~soon) * LANES)
    if j < 0:
        return load(source, ~j * LANES) * values[edge]
    total = load(source, j * LANES) * values[edge]
    edge += 1
    j = indices[edge]
    while j >= 0:
        soon = indices[edge + AHEAD]
        prefetch(source, max(soon, ~soon) * LANES)
        total = total + load(source, j * LANES) * values[edge]
        edge += 1
        j = indices[edge]
    soon = indices[edge + AHEAD]
    prefetch(source, max(soon, ~soon) * LANES)
    return total + load(source, ~j * LANES) * values[edge]
