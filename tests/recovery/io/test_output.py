"""Out of core: files in, a file out, and a kill in between."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from magnet import FrameletTransform, recover

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
