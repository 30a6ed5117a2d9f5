"""Ranges of columns as tasks of a Ray cluster (extra ``cluster``).

The graph and the settings go into the object store once. A task gets the columns of its range and returns them solved;
the caller writes them as they come. What Ray loses with a worker or a node it runs again elsewhere: that costs one
range. Tasks use one core each, so that a cluster works on as many ranges as it has cores.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.recovery.io.columns import Columns, read_columns
from magnet.recovery.io.output import Record

#: Ranges under way for each core: one in work, one waiting, so that no core waits for the caller and the columns
#: of few ranges are in memory.
UNDER_WAY = 2

Solved = Sequence[tuple[Tensor, Record]]


def solve_on_cluster(
    job: Any, x: Columns, trust: Columns, starts: Sequence[int], width: int, address: str
) -> Iterator[tuple[int, Solved]]:
    """Solve ranges on a cluster; yields them in the order in which they are done.

    Args:
        job: a :class:`~magnet.recovery.ranges.Job`.
        x, trust: where the columns are read from.
        starts, width: the ranges.
        address: of a running cluster; ``"auto"`` is the one that runs here, or a new one on this machine.
    """
    if importlib.util.find_spec("ray") is None:
        raise ValueError("cluster needs Ray: pip install 'magnet-gnn[cluster]'")
    import ray

    ours = not ray.is_initialized()
    if ours:
        _connect(address)
    try:
        # a lost node may be lost again while the same range is repeated
        task = ray.remote(num_cpus=1, max_retries=5)(_solve)
        shared = ray.put(job.for_workers())
        most = UNDER_WAY * max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting = list(starts)
        running: dict[Any, int] = {}
        while waiting or running:
            while waiting and len(running) < most:
                first = waiting.pop(0)
                block, weights = read_columns(x, trust, first, min(first + width, x.shape[1]))
                same = weights.shape[1] > 1 and weights.stride(1) == 0  # one trust for the whole row
                columns = (_array(block), _array(weights[:, :1] if same else weights))
                running[task.remote(shared, *columns, first)] = first
            (done,), _ = ray.wait(list(running), num_returns=1)
            first = running.pop(done)
            try:
                solved = ray.get(done)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            # arrays in the object store cannot be written to, and torch wants to be able to
            yield first, [(torch.from_numpy(values.copy()), record) for values, record in solved]
    finally:
        if ours:
            ray.shutdown()


def _connect(address: str) -> None:
    import ray

    try:
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except ConnectionError:
        if address != "auto":
            raise ValueError(f"cluster is {address!r}: no Ray cluster answers there") from None
        ray.init(log_to_driver=False, logging_level="error", include_dashboard=False)


def _array(values: Tensor) -> NDArray[Any]:
    return np.ascontiguousarray(values.detach().numpy())


def _solve(job: Any, x: NDArray[Any], trust: NDArray[Any], first: int) -> list[tuple[NDArray[Any], Record]]:
    torch.set_num_threads(1)
    block, weights = torch.from_numpy(x.copy()), torch.from_numpy(trust.copy())
    return [(_array(values), record) for values, record in job.solve(block, weights.expand_as(block), first)]
