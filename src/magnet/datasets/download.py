"""Raw files: where they are searched, and how missing ones are downloaded.

A folder counts as found only when every file of the source is in it. Nothing is ever written under its
final name before it is complete and verified.
"""

from __future__ import annotations

import http.client
import os
import shutil
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from magnet.files import cache_folder, complete_or_absent, sha256_of

LARGEST_UNPACKED = 4 << 30  # bytes; the largest published archive, ogbn-arxiv, unpacks to a quarter of it
TIMEOUT = 20.0  # seconds without an answer before a download gives up


@dataclass(frozen=True)
class Source:
    """The raw files of one dataset."""

    folders: tuple[str, ...]  # where they may lie below a base folder; downloads go to the first
    files: Mapping[str, str]  # file name -> address (empty where it cannot be downloaded alone)
    archive: tuple[str, str] | None = None  # address of a zip file that holds all files, and their folder inside it
    remark: str = ""  # how to get the files if they cannot be downloaded

    @property
    def can_download(self) -> bool:
        return self.archive is not None or all(self.files.values())


def search_folders(root: str | os.PathLike[str] | None) -> dict[str, Path]:
    """The folders to look in, by name and in order: ``root``, ``$MAGNET_DATA``, the cache."""
    shared = os.environ.get("MAGNET_DATA")
    named = {"root": root, "$MAGNET_DATA": shared or None, "cache": cache_folder()}
    return {name: Path(base) for name, base in named.items() if base is not None}


def find(source: Source, root: str | os.PathLike[str] | None = None) -> Path | None:
    """The first folder that holds all files of ``source``, or None."""
    for base in search_folders(root).values():
        for folder in source.folders:
            if all((base / folder / name).is_file() for name in source.files):
                return base / folder
    return None


def find_or_download(name: str, source: Source, root: str | os.PathLike[str] | None = None) -> Path:
    """The folder with the raw files of dataset ``name``, downloading them into the cache if need be."""
    folder = find(source, root)
    if folder is not None:
        return folder
    target = cache_folder() / source.folders[0]
    missing = [file for file in source.files if not (target / file).is_file()]
    if not source.can_download:
        raise FileNotFoundError(f"{name}: {_where(source, root, missing)}")
    try:
        if source.archive is not None:
            _download_archive(*source.archive, target, missing)
        else:
            for file in missing:
                known = known_checksums().get(f"{source.folders[0]}/{file}")
                download(source.files[file], target / file, known)
    except OSError as error:
        reason = getattr(error, "reason", None) or error
        raise FileNotFoundError(f"{name}: download failed ({reason}); {_where(source, root, missing)}") from None
    return target


def download(url: str, path: Path, sha256: str | None = None) -> None:
    """Fetch ``url`` to ``path`` with a progress bar.

    The bytes go to a ``.part`` file beside it, which takes the final name only when it has the announced
    length, the expected checksum (where known) and, for archives, intact members.
    """
    from rich.console import Console
    from rich.progress import wrap_file

    path.parent.mkdir(parents=True, exist_ok=True)
    with complete_or_absent(path) as part:
        with _connection(url) as answer:
            length = int(answer.headers.get("Content-Length") or 0)
            what = f"downloading {path.name}"
            stream = wrap_file(answer, total=length, description=what, console=Console(stderr=True))
            with stream as reader, part.open("wb") as file:
                while block := reader.read(1 << 20):
                    if file.tell() > LARGEST_UNPACKED:
                        raise ConnectionError(f"{url} sends more than {LARGEST_UNPACKED >> 20} MiB")
                    file.write(block)
        received = part.stat().st_size
        if length and received != length:
            raise ConnectionError(f"{url} was interrupted after {received} of {length} bytes")
        if sha256 and sha256_of(part) != sha256:
            raise ConnectionError(f"{url} does not match the published checksum")
        if path.suffix in (".npz", ".zip"):
            _check_archive(part, url)


@contextmanager
def _connection(url: str) -> Iterator[Any]:
    """Open an address. Redirections must stay on https, since plain http could be tampered with."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
            address = urllib.parse.urlsplit(answer.geturl())
            if address.scheme != "https" and address.hostname not in ("127.0.0.1", "localhost"):
                raise ConnectionError(
                    f"{url} redirects to {address.scheme}://{address.hostname}; only https is allowed"
                )
            yield answer
    except http.client.HTTPException as error:
        raise ConnectionError(f"{url} was interrupted ({type(error).__name__})") from None


@cache
def known_checksums() -> dict[str, str]:
    """Published SHA-256 sums of raw files, by their path below a base folder."""
    lines = Path(__file__).with_name("checksums.txt").read_text(encoding="ascii").splitlines()
    return {path: digest for digest, path in (line.split(maxsplit=1) for line in lines)}


def _where(source: Source, root: str | os.PathLike[str] | None, missing: list[str]) -> str:
    looked = ", ".join(str(base / source.folders[0]) for base in search_folders(root).values())
    remark = f" {source.remark}" if source.remark else ""
    return (
        f"{', '.join(missing)} not found (looked in {looked}). "
        f"Put the file{'s' if len(missing) > 1 else ''} into {cache_folder() / source.folders[0]}, "
        f"or set MAGNET_DATA to a folder that holds {source.folders[0]}.{remark}"
    )


def _check_archive(path: Path, url: str) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            _check_unpacked(archive, url)
            damaged = archive.testzip()
    except zipfile.BadZipFile:
        raise ConnectionError(f"{url} is a damaged archive") from None
    if damaged is not None:
        raise ConnectionError(f"{url} is damaged at {damaged}")


def _check_unpacked(archive: zipfile.ZipFile, url: str) -> None:
    """Refuse an archive that declares more than any dataset holds; more than it declares is never read."""
    size = sum(member.file_size for member in archive.infolist())
    if size > LARGEST_UNPACKED:
        raise ConnectionError(f"{url} unpacks to {size >> 20} MiB; no dataset is larger than {LARGEST_UNPACKED >> 20}")


def _download_archive(url: str, inside: str, target: Path, missing: list[str]) -> None:
    packed = target / url.rsplit("/", 1)[-1]
    download(url, packed)
    with zipfile.ZipFile(packed) as archive:
        for file in missing:
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            try:
                member = archive.open(f"{inside}/{file}")
            except KeyError:
                raise ConnectionError(f"{url} holds no {inside}/{file}") from None
            with member, complete_or_absent(target / file) as part, part.open("wb") as out:
                shutil.copyfileobj(member, out)
    packed.unlink()
