"""Arrays from untrusted files, checked before anything computes with them.

scipy and torch trust the index arrays of a sparse matrix; with indices out of range ``toarray`` writes outside of its
memory. Tiny compressed or sparse files can also expand to any size. Every reader goes through this module.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import struct
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

MEMORY_SHARE = 0.5  # of the machine's memory that one input may take; the rest is for working on it
MOST_MEMORY = 64 << 30  # bytes, where the memory of the machine is not known or larger
MAX_SIDE = 2**40  # rows or columns of a sparse matrix
# the local header of a ZIP member has 30 bytes, of which the last four are the lengths of what follows it
ZIP_HEADER, ZIP_LENGTHS = 30, "<HH"


@cache
def memory_limit() -> int:
    """Bytes that one input may expand to: half of the memory, or ``$MAGNET_MAX_BYTES``."""
    override = os.environ.get("MAGNET_MAX_BYTES", "")
    if override.isdigit():
        return int(override)
    sizes = [MOST_MEMORY]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        sizes.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    group = Path("/sys/fs/cgroup/memory.max")  # what a container may use
    if group.is_file() and (text := group.read_text().strip()).isdigit():
        sizes.append(int(text))
    return int(MEMORY_SHARE * min(sizes))


def check_size(size: int, what: str) -> None:
    """Refuse an input that would expand beyond :func:`memory_limit`."""
    if size > memory_limit():
        raise ValueError(
            f"{what} would take {size / 2**30:.3g} GiB of memory; the limit is {memory_limit() / 2**30:.3g} GiB "
            "(set by MAGNET_MAX_BYTES)"
        )


@contextmanager
def open_npz(path: str | os.PathLike[str]) -> Iterator[Any]:
    """``np.load`` of an ``.npz`` file, without pickles and only where its arrays fit into memory and are as large as
    their headers say."""
    with zipfile.ZipFile(path) as archive:
        check_size(sum(member.file_size for member in archive.infolist()), f"the arrays in {Path(path).name}")
        for member in archive.infolist():
            if member.filename.endswith(".npy"):
                _check_header(archive, member)
    with np.load(path, allow_pickle=False) as arrays:
        yield arrays


def map_npz(path: str | os.PathLike[str], names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Arrays of an ``.npz`` file as memory maps, which may be larger than memory. Compressed ones are unpacked to
    temporary files (in ``TMPDIR``), which are gone when the arrays are."""
    with zipfile.ZipFile(path) as archive:
        return {name: _map_member(Path(path), archive, archive.getinfo(f"{name}.npy")) for name in names}


def _map_member(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    shape, dtype, header = _check_header(archive, member)
    if dtype.hasobject or len(shape) > 1:
        raise ValueError(f"{member.filename} has shape {list(shape)} and holds {dtype}; it must be a list of numbers")
    if not math.prod(shape):
        return np.zeros(shape, dtype)
    if member.compress_type == zipfile.ZIP_STORED:
        with path.open("rb") as file:  # the array follows the names and its own header
            size = struct.calcsize(ZIP_LENGTHS)
            file.seek(member.header_offset + ZIP_HEADER - size)
            names = sum(struct.unpack(ZIP_LENGTHS, file.read(size)))
        return np.memmap(path, dtype, "r", member.header_offset + ZIP_HEADER + names + header, shape)
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if member.file_size > free:
        needed = f"{member.file_size / 2**30:.3g} GiB of temporary files"
        raise ValueError(f"{member.filename} needs {needed}; {free / 2**30:.3g} GiB are free (set TMPDIR)")
    with archive.open(member) as packed, tempfile.TemporaryFile() as file:
        shutil.copyfileobj(packed, file, 1 << 20)
        return np.memmap(file, dtype, "r", header, shape)


def _check_header(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Shape and type of an array, and where it begins. One whose header promises more than is there is refused: numpy
    would reserve memory for all of it."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
        promised = math.prod(shape) * dtype.itemsize
        if not dtype.hasobject and promised > member.file_size:
            raise ValueError(f"{member.filename} declares {promised} bytes but has {member.file_size}")
        return shape, dtype, file.tell()


def read_object(text: str | bytes) -> dict[str, Any]:
    """The JSON object in a text."""
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError(f"it holds a JSON {type(content).__name__}, not an object")
    return content


def read_csr(values: Any, indices: Any, indptr: Any, shape: Any) -> sp.csr_matrix:
    """A CSR matrix of arrays from a file, every index of it checked."""
    values, indices, indptr, shape = (np.asarray(part) for part in (values, indices, indptr, shape))
    size = check_csr(values, indices, indptr, shape)
    return sp.csr_matrix((values, indices.astype(np.int64), indptr.astype(np.int64)), shape=size)


def check_csr(
    values: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: NDArray[Any]
) -> tuple[int, int]:
    """The shape of a CSR matrix of arrays from a file (or memory maps), every index of which is checked."""
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 0).any() or (shape > MAX_SIDE).any():
        raise ValueError(f"the shape of a sparse matrix is {str(shape.tolist())[:80]}; it must be two whole numbers")
    for name, part, kinds in (("data", values, "biuf"), ("indices", indices, "iu"), ("indptr", indptr, "iu")):
        if part.ndim != 1 or part.dtype.kind not in kinds:
            raise ValueError(
                f"{name} of a sparse matrix is {part.dtype} of shape {list(part.shape)}; it must be a list of numbers"
            )
    size = (int(shape[0]), int(shape[1]))
    _check_indices(len(values), indices, indptr, size)
    return size


def checked_csr(matrix: sp.csr_matrix) -> sp.csr_matrix:
    """Check the index arrays of an unpickled CSR matrix."""
    if not {"data", "indices", "indptr"} <= vars(matrix).keys():
        raise ValueError("a sparse matrix lacks its values or its indices")
    _check_indices(len(matrix.data), matrix.indices, matrix.indptr, matrix.shape)
    matrix.check_format(full_check=True)
    return matrix


def _check_indices(values: int, indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]) -> None:
    rows, columns = shape
    what = f"a sparse matrix of shape [{rows}, {columns}]"
    if indptr.shape != (rows + 1,) or indptr[0] != 0 or (np.diff(indptr.astype(np.int64)) < 0).any():
        raise ValueError(f"{what} has invalid row pointers; they must be {rows + 1} numbers in increasing order from 0")
    if int(indptr[-1]) > min(len(indices), values):
        raise ValueError(f"{what} has {min(len(indices), values)} values; its row pointers end at {indptr[-1]}")
    if indices.size and (indices.min() < 0 or indices.max() >= columns):
        raise ValueError(f"{what} has column indices from {indices.min()} to {indices.max()}")


def to_dense(matrix: sp.csr_matrix) -> NDArray[Any]:
    """``toarray`` of a checked matrix, where that fits into memory."""
    check_size(matrix.shape[0] * matrix.shape[1] * matrix.dtype.itemsize, "the dense form of a sparse matrix")
    return np.asarray(matrix.toarray())
