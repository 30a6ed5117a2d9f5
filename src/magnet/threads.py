"""The number of threads for a stage, by the size of its arrays.

Array libraries split every operation over all cores and wait for the slowest. For operations of microseconds that
costs more than it brings, and when another process keeps one core busy each of them waits until the scheduler has its
turn: detection on Cora took 45 s instead of 2.3. So the threads are bounded by the size of the work, once per stage.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Done = TypeVar("Done")

#: Array elements of a stage for each thread: an operation on this many takes about half a millisecond, a hundred times
#: the cost of starting it in parallel.
CELLS_PER_THREAD = 1 << 20
#: Rows of a table from which its columns are judged on several threads: an operation takes tens of microseconds then,
#: during which another thread can run. (With 100 000 linked rows the passes over the texts take 7.3 s instead of 10.3.)
THREADED_ROWS = 20_000


@contextmanager
def threads_for(cells: int) -> Iterator[int]:
    """Bound the threads of torch and of the linear algebra below it, as long as the block runs.

    Args:
        cells: how many numbers the arrays hold that the stage works on.

    Example:
        >>> with threads_for(1000) as threads:
        ...     threads
        1
    """
    torch = sys.modules.get("torch")
    # if torch is not imported yet, this stage does not use it
    before = torch.get_num_threads() if torch is not None else most_threads()
    threads = max(1, min(before, cells // CELLS_PER_THREAD))
    if threads == before:
        yield threads
        return
    with _libraries(len(sys.modules)).limit(limits=threads):
        if torch is not None:
            torch.set_num_threads(threads)
        try:
            yield threads
        finally:
            if torch is not None:
                torch.set_num_threads(before)


def map_threads(work: Callable[[Item], Done], items: Sequence[Item], threads: int) -> list[Done]:
    """``work`` of every item, several at a time, each on one thread."""
    return list(in_threads(work, items, threads))


def in_threads(work: Callable[[Item], Done], items: Sequence[Item], threads: int) -> Iterator[Done]:
    """The results of :func:`map_threads`, each as soon as it and those before it are there."""
    if threads == 1 or len(items) < 2:
        yield from map(work, items)
        return
    with threads_for(0), ThreadPoolExecutor(min(threads, len(items))) as pool:
        yield from pool.map(work, items)


def threads_for_rows(rows: int) -> int:
    """The threads on which the columns of a table are judged."""
    return most_threads() if rows >= THREADED_ROWS else 1


def most_threads() -> int:
    """The threads that the libraries of linear algebra would use now."""
    return max((int(pool["num_threads"]) for pool in _libraries(len(sys.modules)).info()), default=1)


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:
    """The libraries with threads of their own. To look for them takes milliseconds, which thousands of small stages
    would feel; so only where another module was imported since, which may have brought one."""
    return ThreadpoolController()
