"""Detection on a Ray cluster of two nodes gives what one process gives, also when one of them is lost."""

import threading
import time

import pytest
import torch

from magnet import cluster
from magnet.corruption import corrupt_cells
from magnet.datasets import synthetic
from magnet.detection import make
from magnet.detection.data import dataset

ray = pytest.importorskip("ray")


@pytest.mark.slow
def test_equal_to_one_process_when_a_node_is_lost(monkeypatch):
    from ray.cluster_utils import Cluster

    data = corrupt_cells(
        synthetic(nodes=300, features=600, kind="binary", seed=0), ratio=0.02, kind="flip", seed=0
    ).data
    monkeypatch.setattr(dataset, "DATA", dataset.DATA.__class__(max_block_width=40))  # 15 ranges
    expected = make("auto").fit(data)
    options = {"num_cpus": 1, "object_store_memory": 80 << 20}
    nodes = Cluster(initialize_head=True, head_node_args={**options, "include_dashboard": False})
    try:
        second = nodes.add_node(**options)
        nodes.wait_for_nodes()
        original, seen = cluster.run_tasks, []

        def run_tasks(*arguments):
            for key, result in original(*arguments):
                seen.append(key)
                if len(seen) == 3:  # in the middle: some ranges are done, some under way
                    threading.Thread(target=nodes.remove_node, args=(second, False)).start()
                    time.sleep(1)
                yield key, result

        monkeypatch.setattr(cluster, "run_tasks", run_tasks)
        found = make("auto").fit(data, cluster=nodes.address)
        assert len(seen) >= 14
        assert torch.allclose(found.node_probability_, expected.node_probability_, atol=1e-6)
        assert torch.allclose(found.probability_, expected.probability_, atol=1e-6)
        assert torch.equal(found.flagged_, expected.flagged_)
    finally:
        ray.shutdown()
        nodes.shutdown()
