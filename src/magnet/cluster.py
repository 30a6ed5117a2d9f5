"""Independent pieces of work as tasks of a Ray cluster (extra ``cluster``).

What the pieces share goes into the object store once. A task gets its own arguments and returns its result, which the
caller uses as it comes. Ray repeats the tasks of a lost worker or node on another one. Tasks use one core each, so that
a cluster works on as many pieces as it has cores.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from magnet.threads import in_threads, threads_for

#: Tasks under way for each core: one in work, one waiting, so that no core waits for the caller and the arguments of
#: few tasks are in memory.
UNDER_WAY = 2
#: A lost node may be lost again while the same task is repeated.
RETRIES = 5

Key = TypeVar("Key")


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Connect to a cluster while the block runs; an existing connection is used and left open.

    Args:
        address: of a running cluster; ``"auto"`` is the one that runs here, or a new one on this machine; None for
            none.
    """
    if address is not None and importlib.util.find_spec("ray") is None:
        raise ValueError("cluster needs Ray: pip install 'magnet-gnn[cluster]'")
    if address is None:
        yield
        return
    import ray

    if ray.is_initialized():
        yield
        return
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except ConnectionError:
        if address != "auto":
            raise ValueError(f"cluster is {address!r}: no Ray cluster answers there") from None
        ray.init(log_to_driver=False, logging_level="error", include_dashboard=False)
    try:
        yield
    finally:
        ray.shutdown()


def run_tasks(
    work: Callable[..., Any],
    shared: Any,
    pieces: Iterable[tuple[Key, tuple[Any, ...]]],
    address: str,
    gpus: float = 0.0,
) -> Iterator[tuple[Key, Any]]:
    """``work(shared, *arguments)`` of every piece; yields keys and results as tasks finish.

    Args:
        work: the nodes must be able to import it.
        shared: what all pieces need; the nodes keep a copy.
        pieces: keys and arguments; the next is requested when a core is free.
        address: see :func:`connected`.
        gpus: GPUs that one piece needs. (default: ``0``)
    """
    with connected(address):
        import ray

        task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(_with_one_thread)
        stored = ray.put((work, shared))
        most = UNDER_WAY * max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting = iter(pieces)
        running: dict[Any, Key] = {}
        while True:
            while len(running) < most and (piece := next(waiting, None)) is not None:
                running[task.remote(stored, *piece[1])] = piece[0]
            if not running:
                return
            (finished,), _ = ray.wait(list(running), num_returns=1)
            key = running.pop(finished)
            try:
                result = ray.get(finished)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except ray.exceptions.RayError as error:
                lines = str(error).splitlines() or [type(error).__name__]
                raise RuntimeError(f"the Ray cluster gave up a task after {RETRIES} retries: {lines[0]}") from None
            yield key, result


def results_in_order(
    work: Callable[..., Any], shared: Any, arguments: Sequence[tuple[Any, ...]], address: str | None, threads: int = 1
) -> Iterator[Any]:
    """``work(shared, *arguments)`` of every piece, in the order of the pieces; without a cluster, on some threads, or
    on one thread each when it is requested."""
    if address is None:
        yield from in_threads(lambda piece: work(shared, *piece), arguments, threads)
        return
    results: dict[int, Any] = {}
    tasks = run_tasks(work, shared, enumerate(arguments), address)
    for number in range(len(arguments)):
        while number not in results:
            key, result = next(tasks)
            results[key] = result
        yield results.pop(number)


def _with_one_thread(stored: tuple[Callable[..., Any], Any], *arguments: Any) -> Any:
    work, shared = stored
    with threads_for(0):
        return work(shared, *arguments)
