"""Ranges of columns: solved here or on a Ray cluster, also when one of its nodes is lost."""

import threading
import time

import numpy as np
import pytest

from magnet import FrameletTransform, propagate, recover
from magnet.recovery.io.output import FileOutput

ray = pytest.importorskip("ray")


@pytest.fixture
def cluster():
    from ray.cluster_utils import Cluster

    options = {"num_cpus": 1, "object_store_memory": 80 << 20}
    nodes = Cluster(initialize_head=True, head_node_args={**options, "include_dashboard": False})
    second = nodes.add_node(**options)
    nodes.wait_for_nodes()
    yield nodes, second
    ray.shutdown()
    nodes.shutdown()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    W = FrameletTransform(rng.integers(0, 200, (2, 500)), 200)
    x = rng.normal(size=(200, 160)).astype(np.float32)
    return W, x, (rng.random((200, 160)) > 0.2).astype(np.float32)


@pytest.mark.slow
def test_equal_to_one_process_when_a_node_is_lost(cluster, data, tmp_path, monkeypatch):
    nodes, second = cluster
    W, x, trust = data
    written = []
    original = FileOutput.write

    def write(self, first, values, record):
        original(self, first, values, record)
        written.append(first)
        if len(written) == 3:  # in the middle: some ranges are done, some under way
            threading.Thread(target=nodes.remove_node, args=(second,), kwargs={"allow_graceful": False}).start()
            time.sleep(1)

    monkeypatch.setattr(FileOutput, "write", write)
    options = {"max_iter": 300, "tol": 0.0}
    out = tmp_path / "u.npy"
    r = recover(x, trust, W, block_columns=16, out=out, cluster=nodes.address, **options)
    assert sorted(written) == list(range(0, 160, 16))  # every range once
    expected = recover(x, trust, W, **options)
    assert np.array_equal(np.load(out), expected.x)
    assert np.allclose(r.objective, expected.objective)
    smooth = propagate(x, trust[:, 0], W, lam=[0.0, 3.0], block_columns=16, cluster=nodes.address)
    for found, alone in zip(smooth, propagate(x, trust[:, 0], W, lam=[0.0, 3.0]), strict=True):
        assert np.array_equal(found.x, alone.x)
        assert np.array_equal(found.column_iterations, alone.column_iterations)
    bad = x.copy()
    bad[5, 150] = np.nan
    with pytest.raises(ValueError, match="x holds nan at node 5, feature 150"):
        recover(bad, None, W, block_columns=16, cluster=nodes.address)


def test_finished_ranges_are_not_sent_again(data, tmp_path, monkeypatch):
    W, x, trust = data
    sent = []

    def solve_on_cluster(job, X, M, starts, width, address):
        sent.append(list(starts))
        for first in starts:
            yield first, job.solve(X.read(first, first + width), M.read(first, first + width), first)
            if len(sent) == 1 and first == 32:
                raise KeyboardInterrupt

    monkeypatch.setattr("magnet.recovery.ranges.solve_on_cluster", solve_on_cluster)
    options = {"block_columns": 32, "out": tmp_path / "u.npy", "cluster": "auto", "max_iter": 5}
    with pytest.raises(KeyboardInterrupt):
        recover(x, trust, W, **options)
    assert np.array_equal(recover(x, trust, W, **options).x, recover(x, trust, W, max_iter=5).x)
    assert sent == [[0, 32, 64, 96, 128], [64, 96, 128]]


def test_what_does_not_go_with_a_cluster_is_refused(data):
    W, x, trust = data
    with pytest.raises(ValueError, match="cluster needs independent columns on the CPU"):
        recover(x, trust, W, penalty="group", cluster="auto")
