"""The same jobs on a Ray cluster: workers compute, this process writes, so that the nodes need no common disk."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from magnet.experiments.store import RESULT_VERSIONS, Store
from magnet.experiments.store.jobs import NO_RESULT, Config, Job, Runner, heartbeat, message_of, missing

#: How often Ray tries a job again whose node or process was lost.
RETRIES = 5


def execute_on_ray(store: Store, jobs: Sequence[Job], run: Runner, address: str, gpus: float = 0.0) -> None:
    """Execute missing runs on a Ray cluster and store every result immediately.

    A job whose node dies is run again on another one. Nodes whose result versions differ from ours are refused, since
    their results would stand under the wrong key.

    Args:
        store: the store; only this process touches it.
        jobs: what should be in it.
        run: computes one job; the nodes must be able to import it.
        address: of the cluster, as ``ray.init`` takes it (``"auto"``, ``"ray://host:10001"``, ``"local"``).
        gpus: GPUs that one job needs. (default: ``0``)
    """
    try:
        import ray
    except ImportError:
        raise ImportError("--ray needs ray: pip install 'magnet-gnn[cluster]'") from None
    started = not ray.is_initialized()
    if started:
        ray.init(address=None if address == "local" else address, log_to_driver=False, configure_logging=False)
    remote = ray.remote(_compute).options(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)
    tried: set[str] = set()
    flying: dict[Any, dict[str, Config]] = {}
    try:
        with heartbeat(store):
            while True:
                left = missing(store, jobs)
                slots = 2 * max(1, int(ray.cluster_resources().get("CPU", 1))) - len(flying)
                for job in left:
                    if slots <= 0:
                        break
                    configs = {store.key(config): config for config in job.configs}
                    granted = store.claim(key for key in configs if key not in tried)
                    if granted:
                        tried.update(granted)
                        chosen = {key: configs[key] for key in granted}
                        flying[remote.remote(run, list(chosen.values()), dict(RESULT_VERSIONS))] = chosen
                        slots -= 1
                if flying:
                    ready, _ = ray.wait(list(flying), timeout=1.0)
                    for future in ready:
                        _collect(store, flying.pop(future), future, ray)
                elif any(store.key(config) not in tried for job in left for config in job.configs):
                    time.sleep(0.2)
                else:
                    return
    finally:
        for configs in flying.values():
            store.release(configs)
        if started:
            ray.shutdown()


def _collect(store: Store, waiting: dict[str, Config], future: Any, ray: Any) -> None:
    try:
        results, message = ray.get(future)
    except ray.exceptions.RayError as error:
        results, message = [], f"{type(error).__name__}: {str(error).splitlines()[0]}"
    for config, result in results:
        store.add(config, result)
        waiting.pop(store.key(config), None)
    for config in waiting.values():
        store.fail(config, message or NO_RESULT)


def _compute(
    run: Runner, configs: Sequence[Config], versions: dict[str, int]
) -> tuple[list[tuple[Config, dict[str, Any]]], str]:
    """On a node: what could be computed, and the error that ended it, if any."""
    if versions != dict(RESULT_VERSIONS):
        return [], f"this node has result versions {dict(RESULT_VERSIONS)}, the driver {versions}"
    results = []
    try:
        for config, result in run(configs):
            results.append((config, result))
    except Exception as error:
        return results, message_of(error)
    return results, ""
