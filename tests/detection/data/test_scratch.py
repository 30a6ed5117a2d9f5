"""Features larger than memory: matrices of their size are in temporary files, and the verdict is the same."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from magnet.corruption import inject_attributes
from magnet.datasets import synthetic
from magnet.detection import make
from magnet.detection.data.scratch import CACHED_CELLS, columns_on_disk, over_cached_rows, row_ranges, scratch


def test_a_scratch_matrix_holds_what_is_written_and_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    x = scratch(300, 4)
    x[7, 2] = 5
    assert x.sum() == 5
    assert list(tmp_path.iterdir()) == []
    assert scratch(0, 4).shape == (0, 4)


@pytest.mark.parametrize("threads", [1, 3])
def test_ranges_of_rows_on_several_threads_give_what_one_operation_gives(monkeypatch, threads):
    monkeypatch.setattr("magnet.detection.data.scratch.CELLS_PER_THREAD", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    x = torch.rand(5 * CACHED_CELLS // 64 + 3, 64, generator=torch.Generator().manual_seed(0))
    out, seen = torch.zeros_like(x), torch.zeros(len(x))

    def work(rows: slice) -> None:
        out[rows] = torch.log1p(x[rows])
        seen[rows] += 1

    over_cached_rows(x, work)
    assert torch.equal(out, torch.log1p(x))
    assert (seen == 1).all()


def test_rows_are_copied_in_blocks_without_loss(monkeypatch):
    monkeypatch.setattr("magnet.detection.data.scratch.CELLS_PER_BLOCK", 12)
    assert row_ranges(5, 6) == [slice(0, 2), slice(2, 4), slice(4, 5)]
    x = np.arange(30, dtype=np.int16).reshape(5, 6)
    assert torch.equal(columns_on_disk(torch.from_numpy(x)), torch.from_numpy(x).float())


@pytest.mark.parametrize("detector", ["auto", "context", "cell"])
@pytest.mark.parametrize("features", [24, 160])
def test_features_on_disk_are_judged_like_those_in_memory(tmp_path, monkeypatch, detector, features):
    data = inject_attributes(synthetic(400, features, kind="continuous", seed=0), 0.1, select="random", seed=0).data
    data.x[::7, 3] = float("nan")
    data.x[:, 5] = data.x[:, 5].exp()  # on the asinh scale
    data.x[4, 8] = 60.0
    expected = make(detector).fit(data)
    np.save(tmp_path / "x.npy", data.x.double().numpy())
    monkeypatch.setattr("magnet.detection.data.scratch.CELLS_PER_BLOCK", 1000)
    data.x = tmp_path / "x.npy"
    found = make(detector).fit(data)
    assert found.verdict_.data.on_disk
    for name in ("node_scores_", "node_probability_", "probability_", "trust_", "soft_trust_"):
        assert torch.allclose(getattr(found, name), getattr(expected, name), atol=1e-6), name
    assert torch.equal(found.flagged_, expected.flagged_)


FIT_WITHIN = """
import resource, sys
import numpy as np, torch
from magnet.datasets import synthetic
from magnet.detection import make, options
from magnet.detection.data import scratch

torch.set_num_threads(1)
path, limit = sys.argv[1], int(sys.argv[2])
# what does not grow with the features: blocks and samples, as small as these features are
scratch.CELLS_PER_BLOCK = 1 << 18
object.__setattr__(options.DATA, "cells_per_block", 1 << 18)
object.__setattr__(options.ROWS, "max_pairs", 1 << 16)
object.__setattr__(options.CONTEXT, "mixture_events", 1 << 13)
make("auto").fit(synthetic(300, 40, kind="continuous", seed=0)).flagged_  # imports and compiles
data = synthetic(1000, 2, seed=0)
data.x = np.load(path) if limit < 0 else path
held = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData")) << 10
resource.setrlimit(resource.RLIMIT_DATA, (held + abs(limit),) * 2)
found = make("auto").fit(data)
print(found.flagged_.shape, found.trust_.shape)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux")
def test_memory_does_not_grow_with_the_features(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", rng.normal(size=(1000, 4000)).astype(np.float32))  # 16 MB, and ten such at once

    def fits(limit: int) -> bool:
        command = [sys.executable, "-c", FIT_WITHIN, str(tmp_path / "x.npy"), str(limit)]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
        return done.returncode == 0

    limit = 100 << 20
    assert fits(limit)
    assert not fits(-limit)  # the same limit is too small for features in memory
