"""The same jobs on a Ray cluster: workers compute, this process writes, so that the nodes need no common disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from magnet.cluster import connected, run_tasks
from magnet.experiments.store import RESULT_VERSIONS, Store
from magnet.experiments.store.jobs import NO_RESULT, Config, Job, Runner, heartbeat, message_of, rounds


def execute_on_ray(store: Store, jobs: Sequence[Job], run: Runner, address: str, gpus: float = 0.0) -> None:
    """Execute missing runs on a Ray cluster and store every result immediately.

    A job whose node dies is run again on another one. Nodes whose result versions differ from ours are refused, since
    their results would stand under the wrong key.

    Args:
        store: the store; only this process touches it.
        jobs: what should be in it.
        run: computes one job; the nodes must be able to import it.
        address: of the cluster, see :func:`magnet.cluster.connected`.
        gpus: GPUs that one job needs. (default: ``0``)
    """
    tried: set[str] = set()
    shared = (run, dict(RESULT_VERSIONS))
    try:
        with connected(address), heartbeat(store):
            for claims in rounds(store, jobs, tried):
                tasks = ((waiting, (list(waiting.values()),)) for waiting in claims)
                for waiting, (results, message) in run_tasks(_compute, shared, tasks, address, gpus):
                    for config, result in results:
                        store.add(config, result)
                        waiting.pop(store.key(config), None)
                    for config in waiting.values():
                        store.fail(config, message or NO_RESULT)
    finally:
        store.release(tried)


def _compute(
    shared: tuple[Runner, dict[str, int]], configs: Sequence[Config]
) -> tuple[list[tuple[Config, dict[str, Any]]], str]:
    """On a node: what could be computed, and the error that ended it, if any."""
    run, versions = shared
    if versions != dict(RESULT_VERSIONS):
        return [], f"this node has result versions {dict(RESULT_VERSIONS)}, the driver {versions}"
    results = []
    try:
        for config, result in run(configs):
            results.append((config, result))
    except Exception as error:
        return results, message_of(error)
    return results, ""
