from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from magnet.datasets.download import Source, download, find, find_or_download, known_checksums

CONTENT = bytes(range(256)) * 400


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/"), content)
    return buffer.getvalue()


class Server(BaseHTTPRequestHandler):
    """Serves a few files, one of which breaks off half way."""

    def do_GET(self) -> None:
        content = {
            "/whole": CONTENT,
            "/cut": CONTENT,
            "/bad.npz": b"this is not an archive",
            "/all.zip": zipped(inside__one=b"1", inside__two=b"2"),
        }.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if self.path == "/cut" else content)

    def log_message(self, *args: object) -> None:
        pass


@pytest.mark.parametrize(
    ("asked", "led"), [("http://data.org/x", "http://data.org/x"), ("https://a.org/x", "http://b.org/x")]
)
def test_only_https_is_used_also_behind_a_redirection(
    asked: str, led: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Answer(io.BytesIO):
        headers: dict[str, str] = {}  # noqa: RUF012

        def geturl(self) -> str:
            return led

    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: Answer(CONTENT))
    with pytest.raises(ConnectionError, match="only https is allowed"):
        download(asked, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_what_never_ends_is_given_up(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("magnet.datasets.download.LARGEST_UNPACKED", -1)
    with pytest.raises(ConnectionError, match="sends more than"):
        download(f"{server}/whole", tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    http = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{http.server_address[1]}"
    http.shutdown()
    http.server_close()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAGNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MAGNET_DATA", raising=False)


def left_over(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_download_is_verified_and_complete(server: str, tmp_path: Path) -> None:
    download(f"{server}/whole", tmp_path / "file", hashlib.sha256(CONTENT).hexdigest())
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert left_over(tmp_path) == [tmp_path / "file"]


@pytest.mark.parametrize(
    ("path", "checksum", "message"),
    [
        ("cut", None, "was interrupted|incomplete|IncompleteRead"),
        ("whole", "0" * 64, "does not match the published checksum"),
        ("bad.npz", None, "damaged archive"),
        ("nowhere", None, "404"),
    ],
)
def test_a_failed_download_leaves_nothing(
    path: str, checksum: str | None, message: str, server: str, tmp_path: Path
) -> None:
    with pytest.raises(OSError, match=message):
        download(f"{server}/{path}", tmp_path / path, checksum)
    assert left_over(tmp_path) == []


def test_a_source_is_downloaded_once_into_the_cache(server: str, tmp_path: Path) -> None:
    source = Source(("Some/raw",), {"whole": f"{server}/whole"})
    assert find(source) is None
    folder = find_or_download("some", source)
    assert folder == tmp_path / "cache/Some/raw"
    again = Source(("Some/raw",), {"whole": "http://127.0.0.1:1/gone"})
    assert find_or_download("some", again) == folder


def test_a_half_finished_set_of_files_is_not_found(server: str, tmp_path: Path) -> None:
    source = Source(("Some/raw",), {"whole": f"{server}/whole", "cut": f"{server}/cut"})
    with pytest.raises(FileNotFoundError, match="some: download failed"):
        find_or_download("some", source)
    assert left_over(tmp_path) == [tmp_path / "cache/Some/raw/whole"]
    assert find(source) is None


def test_an_archive_is_unpacked_and_removed(server: str, tmp_path: Path) -> None:
    source = Source(("Set",), {"one": "", "two": ""}, (f"{server}/all.zip", "inside"))
    folder = find_or_download("set", source)
    assert ((folder / "one").read_bytes(), (folder / "two").read_bytes()) == (b"1", b"2")
    assert not (folder / "all.zip").exists()
    missing = Source(("Other",), {"three": ""}, (f"{server}/all.zip", "inside"))
    with pytest.raises(FileNotFoundError, match="holds no inside/three"):
        find_or_download("set", missing)


def test_root_comes_before_the_environment_and_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source(("Some/raw", "raw"), {"file": ""})
    for base in ("cache", "shared", "root"):
        (tmp_path / base / "raw").mkdir(parents=True)
        (tmp_path / base / "raw/file").touch()
    assert find(source) == tmp_path / "cache/raw"
    monkeypatch.setenv("MAGNET_DATA", str(tmp_path / "shared"))
    assert find(source) == tmp_path / "shared/raw"
    assert find(source, tmp_path / "root") == tmp_path / "root/raw"
    assert find(source, tmp_path / "elsewhere") == tmp_path / "shared/raw"


def test_without_a_network_the_message_says_what_to_put_where(tmp_path: Path) -> None:
    source = Source(("Some/raw",), {"a.txt": "http://127.0.0.1:1/a.txt", "b.txt": "http://127.0.0.1:1/b.txt"})
    with pytest.raises(FileNotFoundError) as error:
        find_or_download("some", source)
    text = str(error.value)
    assert "a.txt, b.txt not found" in text
    assert f"Put the files into {tmp_path / 'cache/Some/raw'}" in text
    assert "MAGNET_DATA" in text
    assert "\n" not in text


def test_checksums_cover_what_is_downloaded_file_by_file() -> None:
    from magnet.datasets import DATASETS

    known = known_checksums()
    for name in ("cora", "citeseer", "pubmed", "wisconsin", "texas", "bsd68/1"):
        source = DATASETS[name].source
        assert source is not None
        for file in source.files:
            assert len(known[f"{source.folders[0]}/{file}"]) == 64


def test_an_archive_that_unpacks_without_end_is_not_unpacked(tmp_path: Path) -> None:
    from magnet.datasets.download import LARGEST_UNPACKED, _check_unpacked

    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x", b"")
        archive.infolist()[0].file_size = LARGEST_UNPACKED + 1
        with pytest.raises(ConnectionError, match="no dataset is larger"):
            _check_unpacked(archive, "https://example.org/a.zip")
