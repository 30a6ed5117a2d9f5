from __future__ import annotations

import errno
import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from magnet.files import cache_folder, complete_or_absent, damaged, exit_on_sigterm, sha256_of


def test_a_writer_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "kept.npz"
    np.savez(path, a=1)
    before = path.read_bytes()

    def fail() -> None:
        with complete_or_absent(path) as part:
            part.write_bytes(b"half")
            raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError, match="interrupted"):
        fail()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_blamed_on_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"No space left on device: '.*a.txt'"), complete_or_absent(tmp_path / "a.txt"):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_the_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.delenv("MAGNET_CACHE", raising=False)
    assert cache_folder() == tmp_path / "user/magnet"
    monkeypatch.setenv("MAGNET_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"


def test_a_damaged_file_is_named_once(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"

    def read() -> None:
        with damaged(path), damaged(path):
            raise KeyError("attr_data")

    with pytest.raises(ValueError, match=r"^damaged file .*x\.npz \(KeyError: 'attr_data'\); replace it") as error:
        read()
    assert str(error.value).count("damaged file") == 1
    assert isinstance(error.value.__cause__, KeyError)


@pytest.mark.parametrize(
    "error", [PermissionError, MemoryError, AttributeError, NameError, AssertionError, ImportError]
)
def test_errors_of_the_code_or_the_machine_are_not_blamed_on_the_file(error: type[Exception], tmp_path: Path) -> None:
    with pytest.raises(error, match="other"), damaged(tmp_path / "x.npz"):
        raise error("other")


def test_checksum_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert sha256_of(tmp_path / "empty").startswith("e3b0c44298fc1c149afb")


def test_a_process_that_is_asked_to_end_leaves_through_its_blocks() -> None:
    before, left = signal.getsignal(signal.SIGTERM), []

    def ended() -> None:
        with exit_on_sigterm():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            finally:
                left.append(True)

    with pytest.raises(SystemExit) as exit:
        ended()
    assert (exit.value.code, left) == (143, [True])
    assert signal.getsignal(signal.SIGTERM) is before

    def in_a_thread() -> None:
        with exit_on_sigterm():
            left.append(signal.getsignal(signal.SIGTERM) is before)

    thread = threading.Thread(target=in_a_thread)
    thread.start()
    thread.join()
    assert left == [True, True]
