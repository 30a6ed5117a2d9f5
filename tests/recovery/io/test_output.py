"""Out of core: files in, a file out, and a kill in between."""

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from magnet import FrameletTransform, Graph, propagate, recover
from magnet.recovery.io.output import FileOutput

SETUP = """
import sys
import numpy as np
from magnet import FrameletTransform, recover

rng = np.random.default_rng(0)
W = FrameletTransform(rng.integers(0, 200, (2, 500)), 200)
"""


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    W = FrameletTransform(rng.integers(0, 200, (2, 500)), 200)
    x = rng.normal(size=(200, 100)).astype(np.float32)
    trust = (rng.random((200, 100)) > 0.2).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "trust.npy", trust)
    return W, x, trust, tmp_path


def test_files_and_memory_maps_give_what_arrays_give(files):
    W, x, trust, folder = files
    expected = recover(x, trust, W)
    r = recover(folder / "x.npy", str(folder / "trust.npy"), W, out=folder / "u.npy", block_columns=32)
    assert np.array_equal(np.load(folder / "u.npy"), expected.x)
    assert isinstance(r.x, np.memmap)
    assert np.allclose(r.objective, expected.objective)
    assert sorted(path.name for path in folder.iterdir()) == ["trust.npy", "u.npy", "x.npy"]
    mapped = np.load(folder / "x.npy", mmap_mode="r")
    assert np.array_equal(recover(mapped, trust, W, block_columns=50).x, expected.x)


def test_a_killed_run_continues_and_does_not_redo_finished_columns(files):
    W, x, trust, folder = files
    script = SETUP + textwrap.dedent("""
        recover(sys.argv[1] + "/x.npy", sys.argv[1] + "/trust.npy", W, out=sys.argv[1] + "/u.npy",
                block_columns=16, max_iter=5000, tol=1e-30)
    """)
    process = subprocess.Popen([sys.executable, "-c", script, str(folder)])
    journal = folder / "u.npy.journal"
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.read_text().count("\n") >= 3) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (folder / "u.npy").exists()
    finished = [json.loads(line)["first"] for line in journal.read_text().splitlines()[1:3]]
    # mark what is finished: a run that redid it would write over the mark
    partial = np.lib.format.open_memmap(folder / "u.npy.partial", mode="r+")
    partial[:, finished[0]] = 123.0
    del partial
    r = recover(
        str(folder / "x.npy"),
        str(folder / "trust.npy"),
        W,
        out=str(folder / "u.npy"),
        block_columns=16,
        max_iter=5000,
        tol=1e-30,
    )
    assert (r.x[:, finished[0]] == 123.0).all()
    expected = recover(x, trust, W, max_iter=5000, tol=1e-30)
    assert np.array_equal(r.x[:, finished[0] + 1 :], expected.x[:, finished[0] + 1 :])
    assert r.objective[-1] == pytest.approx(expected.objective[-1])
    assert not journal.exists()


def test_the_result_can_go_into_an_array_or_memory_map_of_the_user(files):
    W, x, trust, folder = files
    expected = recover(x, trust, W, max_iter=5).x
    mapped = np.lib.format.open_memmap(folder / "mine.npy", mode="w+", dtype=np.float32, shape=x.shape)
    r = recover(folder / "x.npy", trust, W, max_iter=5, out=mapped, block_columns=30)
    assert r.x is mapped
    assert np.array_equal(np.load(folder / "mine.npy"), expected)
    with pytest.raises(ValueError, match=r"out is an array \[3, 3\] of float32; it must be \[200, 100\]"):
        recover(x, trust, W, out=np.zeros((3, 3), np.float32))


def test_other_settings_start_anew(files):
    W, x, trust, folder = files
    out = folder / "u.npy"
    (folder / "u.npy.journal").write_text('{"fingerprint": "of another run"}\n{"first": 0, "itera')
    np.save(folder / "u.npy.partial.npy", np.zeros(3))
    os.replace(folder / "u.npy.partial.npy", folder / "u.npy.partial")
    recover(x, trust, W, out=out, max_iter=5)
    assert np.array_equal(np.load(out), recover(x, trust, W, max_iter=5).x)


def test_progress_bar_is_shown_when_asked_for(files, capfd):
    W, x, trust, folder = files
    recover(x, trust, W, out=folder / "u.npy", block_columns=20, max_iter=2, progress=True)
    assert "recovering columns" in capfd.readouterr().err


def test_bad_files_are_named(files):
    W, x, trust, folder = files
    (folder / "bad.npy").write_bytes(b"not an array")
    with pytest.raises(ValueError, match=r"x: .*bad.npy.* cannot be read as a .npy file"):
        recover(folder / "bad.npy", None, W)
    with pytest.raises(ValueError, match=r"x: .*none.npy.* cannot be read"):
        recover(folder / "none.npy", None, W)
    with pytest.raises(ValueError, match=r"out: .* cannot be written"):
        recover(x, trust, W, out=folder / "no" / "folder" / "u.npy")
    np.save(folder / "objects.npy", np.array([["a", 1]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"cannot be read as a \.npy file"):
        recover(folder / "objects.npy", None, W)


def interrupted(monkeypatch, after, *arguments, **options):
    """Run ``recover`` until so many ranges are written, then fail as a lost machine would."""
    written = []
    original = FileOutput.write

    def write(self, first, values, record):
        if len(written) == after:
            raise KeyboardInterrupt
        written.append(first)
        original(self, first, values, record)

    with monkeypatch.context() as patch:
        patch.setattr(FileOutput, "write", write)
        with pytest.raises(KeyboardInterrupt):
            recover(*arguments, **options)
    return written


@pytest.mark.parametrize("torn", [b'{"first": 64, "itera', b"\x00\x00\x00\n", b'{"first": 64}\n', b"[]\n"])
def test_a_torn_journal_line_is_cut_off_and_written_anew(files, monkeypatch, torn):
    W, x, trust, folder = files
    options = {"out": folder / "u.npy", "block_columns": 16, "max_iter": 5}
    interrupted(monkeypatch, 2, x, trust, W, **options)
    journal = folder / "u.npy.journal"
    with journal.open("ab") as file:
        file.write(torn)
    assert interrupted(monkeypatch, 1, x, trust, W, **options) == [32]
    assert [json.loads(line).get("first") for line in journal.read_text().splitlines()] == [None, 0, 16, 32]
    r = recover(x, trust, W, **options)
    assert np.array_equal(r.x, recover(x, trust, W, max_iter=5).x)


def test_a_damaged_partial_file_starts_anew(files, monkeypatch):
    W, x, trust, folder = files
    options = {"out": folder / "u.npy", "block_columns": 16, "max_iter": 5}
    interrupted(monkeypatch, 2, x, trust, W, **options)
    os.truncate(folder / "u.npy.partial", 100)
    assert np.array_equal(recover(x, trust, W, **options).x, recover(x, trust, W, max_iter=5).x)


@pytest.mark.parametrize("change", ["x", "tensor", "trust", "sparse", "warm_start", "graph", "file"])
def test_other_contents_are_never_mixed_with_old_ones(files, monkeypatch, change):
    W, x, trust, folder = files
    options = {"out": folder / "u.npy", "block_columns": 16, "max_iter": 5}
    if change == "tensor":
        x, trust = torch.tensor(x), torch.tensor(trust)
    if change == "sparse":
        x = sp.csr_matrix(np.where(x > 0, x, 0))
    if change == "warm_start":
        options["warm_start"] = np.zeros_like(x)
    given = folder / "x.npy" if change == "file" else x
    interrupted(monkeypatch, 2, given, trust, W, **options)
    if change in ("x", "tensor"):
        x[100, 3] += 1
    if change == "trust":
        trust[100, 3] = 1 - trust[100, 3]
    if change == "sparse":
        x = sp.csr_matrix((x.data, x.indices, x.indptr), copy=True)
        x.data[0] += 1
    if change == "warm_start":
        options["warm_start"] = np.ones_like(x)
    if change == "graph":
        adjacency = W.graph.adjacency.copy()
        W = FrameletTransform(Graph(adjacency[::-1][:, ::-1].tocsr()))
    if change == "file":
        x[100, 3] += 1
        stat = os.stat(given)
        np.save(given, x)
        os.utime(given, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    r = recover(given if change == "file" else x, trust, W, **options)
    options.pop("out")
    assert np.array_equal(r.x, recover(x, trust, W, **options).x)


def test_a_full_disk_is_an_error_before_any_work(files, monkeypatch):
    W, x, trust, folder = files

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(ValueError, match=r"out: .*u\.npy cannot be written: No space left.*\(0\.1 MiB are needed\)"):
        recover(x, trust, W, out=folder / "u.npy")
    assert sorted(path.name for path in folder.iterdir()) == ["trust.npy", "x.npy"]


def test_space_is_taken_not_only_announced(files, monkeypatch):
    W, x, trust, folder = files
    interrupted(monkeypatch, 0, x, trust, W, out=folder / "u.npy", block_columns=16)
    stat = os.stat(folder / "u.npy.partial")
    assert stat.st_blocks * 512 >= stat.st_size > x.nbytes


def test_propagation_goes_to_a_file_and_continues_too(files, monkeypatch):
    W, x, trust, folder = files
    expected = propagate(x, trust, W, lam=2.0)
    r = propagate(folder / "x.npy", trust, W, lam=2.0, out=folder / "u.npy", block_columns=16)
    assert np.array_equal(r.x, expected.x)
    assert np.array_equal(r.column_iterations, expected.column_iterations)
    assert r.primal == expected.primal
    with pytest.raises(ValueError, match="out is for one lam at a time"):
        propagate(x, trust, W, lam=[1.0, 2.0], out=folder / "u.npy")
    with pytest.raises(ValueError, match="out is a int"):
        propagate(x, trust, W, out=3)
