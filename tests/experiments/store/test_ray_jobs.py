from __future__ import annotations

import functools
import os
import threading
import time
from pathlib import Path

import pytest

import magnet
from magnet.experiments.store import Store

SOURCE = Path(magnet.__file__).parents[1]
PRETEND = """
import os, time
from pathlib import Path

def run(configs, folder, slow):
    import ray
    for config in configs:
        node = ray.get_runtime_context().get_node_id()
        (Path(folder) / f"{config['seed']}-{node}-{time.time_ns()}").touch()
        time.sleep(60 if node == slow else 0.2)
        yield config, {"value": config["seed"] ** 2, "node": node}
"""


def starts(folder: Path) -> list[tuple[str, str]]:
    """The seed and the node of everything that was started."""
    return [(path.name.split("-")[0], path.name.split("-")[1]) for path in folder.iterdir()]


@pytest.mark.slow
def test_a_node_is_killed_and_its_work_is_done_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    from magnet.experiments.store.ray_jobs import execute_on_ray

    (tmp_path / "ray_pretend.py").write_text(PRETEND)
    (tmp_path / "started").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    import ray_pretend

    soon = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 3}
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, "_system_config": soon}
    )
    cluster.add_node(num_cpus=1)
    dies = cluster.add_node(num_cpus=1)
    ray.init(
        address=cluster.address,
        runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(map(str, (tmp_path, SOURCE)))}},
        log_to_driver=False,
        configure_logging=False,
    )
    jobs = [[{"seed": seed}] for seed in range(8)]
    killed = threading.Event()

    def kill_when_both_work() -> None:
        while len({node for _, node in starts(tmp_path / "started")}) < 2:
            time.sleep(0.05)
        cluster.remove_node(dies, allow_graceful=False)
        killed.set()

    killer = threading.Thread(target=kill_when_both_work, daemon=True)
    killer.start()
    try:
        with Store(tmp_path / "a.sqlite") as store:
            run = functools.partial(ray_pretend.run, folder=tmp_path / "started", slow=dies.node_id)
            execute_on_ray(store, jobs, run, address=cluster.address)
            rows = list(store.runs())
            assert store.failed() == {}
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert killed.is_set()
    assert {row.config["seed"]: row.result["value"] for row in rows} == {seed: seed**2 for seed in range(8)}
    assert dies.node_id not in {row.result["node"] for row in rows}
    lost = {seed for seed, node in starts(tmp_path / "started") if node == dies.node_id}
    assert lost, "the killed node must have had work under way"
    assert all(len([s for s, _ in starts(tmp_path / "started") if s == seed]) == 2 for seed in lost)
