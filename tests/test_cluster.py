"""Pieces of work on a Ray cluster of two nodes give what one process gives, also when one of them is lost."""

import threading
import time

import numpy as np
import pandas as pd
import pytest
import torch
from pandas.testing import assert_frame_equal
from typer.testing import CliRunner

from magnet import MAGnet, clean, cluster
from magnet.cli import app
from magnet.cluster import results_in_order
from magnet.datasets import synthetic


def test_without_a_cluster_pieces_are_worked_on_when_they_are_asked_for():
    seen = []

    def work(shared, piece):
        seen.append(piece)
        return shared + piece

    results = results_in_order(work, 10, [(1,), (2,)], None)
    assert next(results) == 11
    assert seen == [1]
    assert list(results) == [12]


def test_results_come_in_the_order_of_the_pieces(monkeypatch):
    def backwards(work, shared, pieces, address):
        yield from ((key, work(shared, *arguments)) for key, arguments in reversed(list(pieces)))

    monkeypatch.setattr(cluster, "run_tasks", backwards)
    assert list(results_in_order(pow, 2, [(k,) for k in range(5)], "auto")) == [1, 2, 4, 8, 16]


def test_a_cluster_that_does_not_answer_is_named(tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")

    def init(**options):
        raise ConnectionError

    monkeypatch.setattr(ray, "init", init)
    file = tmp_path / "a.csv"
    file.write_text("a,b\n1,2\n")
    said = CliRunner().invoke(app, ["clean", str(file), "-o", str(tmp_path / "out"), "--ray", "nowhere:1"])
    assert said.exit_code != 0
    assert "no Ray cluster answers" in said.output
    assert not (tmp_path / "out").exists()


def linked_table():
    """Texts, codes, numbers and blanks; links within groups; some misspellings, slips and swapped rows."""
    rng = np.random.default_rng(0)
    rows = 240
    group = rng.integers(6, size=rows)
    city = np.array(["Columbus", "Cincinnati", "Portland", "Trenton", "Lansing", "Augusta"])[group]
    nodes = pd.DataFrame({"id": [f"r{i}" for i in range(rows)], "city": city, "state": [c[:2].upper() for c in city]})
    nodes["height"] = 10.0 * group + rng.normal(size=rows).round(2)
    nodes["width"] = (2 * nodes["height"] + rng.normal(size=rows)).round(2)
    nodes.loc[[5, 77], "city"] = ["Cincinati", "Portlnd"]
    nodes.loc[[9, 120], "height"] *= 100
    nodes.loc[[30, 31], "state"] = None
    own = np.arange(rows)
    other = np.array([rng.choice(np.flatnonzero(group == g)) for g in np.repeat(group, 3)])
    edges = pd.DataFrame({"source": nodes["id"].to_numpy()[np.repeat(own, 3)], "target": nodes["id"].to_numpy()[other]})
    return nodes, edges


@pytest.mark.slow
def test_clean_equals_one_process_when_a_node_is_lost(monkeypatch):
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    nodes, edges = linked_table()
    expected = {fill: clean(nodes, edges, id="id", fill=fill) for fill in (False, True)}
    assert len(expected[False].suspicious_cells) >= 4
    options = {"num_cpus": 1, "object_store_memory": 80 << 20}
    machines = Cluster(initialize_head=True, head_node_args={**options, "include_dashboard": False})
    try:
        second = machines.add_node(**options)
        machines.wait_for_nodes()
        original, seen = cluster.run_tasks, []

        def run_tasks(*arguments):
            for key, result in original(*arguments):
                seen.append(key)
                if len(seen) == 3:  # in the middle of a pass: some columns are done, some under way
                    threading.Thread(target=machines.remove_node, args=(second, False)).start()
                    time.sleep(1)
                yield key, result

        monkeypatch.setattr(cluster, "run_tasks", run_tasks)
        for fill, alone in expected.items():
            found = clean(nodes, edges, id="id", fill=fill, cluster=machines.address)
            assert_frame_equal(found.suspicious_cells, alone.suspicious_cells)
            assert_frame_equal(found.cleaned, alone.cleaned)
        assert len(seen) > 10
        data = synthetic(nodes=80, features=40, seed=0)
        trust = (torch.rand(80, 40, generator=torch.Generator().manual_seed(0)) > 0.1).float()
        shared = MAGnet(detector=trust, cluster=machines.address, recovery_options={"block_columns": 16}).fit(data)
        assert torch.equal(shared.x_, MAGnet(detector=trust).fit(data).x_)
    finally:
        ray.shutdown()
        machines.shutdown()
