"""Outputs for recovered columns: memory, an array of the user, or a file that can be resumed after a crash."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.framelets import FrameletTransform
from magnet.graph import Graph
from magnet.recovery.io.columns import Columns, is_path
from magnet.recovery.result import Record

#: Bytes hashed at a time: a memory map is never read as a whole.
HASHED_AT_ONCE = 1 << 24


class MemoryOutput:
    """Collects the columns in one tensor or array; ``records`` holds the record of each range by its first column."""

    def __init__(self, x: Columns):
        self._x = x
        self._whole: Tensor | None = None
        self.records: dict[int, Record] = {}

    def write(self, first: int, values: Tensor, record: Record) -> None:
        self.records[first] = record
        values = values.to(self._x.dtype)
        if values.shape == self._x.shape:
            self._whole = values
            return
        if self._whole is None:
            self._whole = torch.empty(self._x.shape, dtype=self._x.dtype, device=self._x.device)
        self._whole[:, first : first + values.shape[1]] = values

    def result(self) -> Any:
        assert self._whole is not None
        return self._whole if self._x.is_tensor else self._whole.detach().cpu().numpy()


class ArrayOutput:
    """Fills an array or memory map that the user gave."""

    def __init__(self, array: NDArray[Any], shape: tuple[int, int]) -> None:
        if array.shape != shape or array.dtype.kind != "f" or not array.flags.writeable:
            raise ValueError(
                f"out is an array {list(array.shape)} of {array.dtype}; it must be {list(shape)}, of floating-point "
                "numbers and writeable"
            )
        self._array: Any = array
        self.records: dict[int, Record] = {}

    def write(self, first: int, values: Tensor, record: Record) -> None:
        self.records[first] = record
        self._array[:, first : first + values.shape[1]] = values.detach().cpu().numpy()

    def result(self) -> Any:
        if isinstance(self._array, np.memmap):
            self._array.flush()
        return self._array


class FileOutput(ArrayOutput):
    """Writes a ``.npy`` file range by range.

    ``PATH.partial`` holds the columns and ``PATH.journal`` one line for each finished range, written only
    after the columns are on disk. A run with the same fingerprint continues from there; the file gets its
    real name when it is complete. Its space is reserved first: a disk that is too small is an error at the start.
    """

    def __init__(self, path: str | os.PathLike[str], shape: tuple[int, int], dtype: Any, fingerprint: str):
        self._path = Path(path)
        self._partial = self._path.with_name(self._path.name + ".partial")
        self._journal = self._path.with_name(self._path.name + ".journal")
        self.records = {}
        try:
            array = self._continued(fingerprint)
            if array is None or array.shape != shape or array.dtype != dtype:
                array = self._begun(shape, dtype, fingerprint)
        except OSError as error:
            size = f" ({shape[0] * shape[1] * np.dtype(dtype).itemsize / 2**20:.1f} MiB are needed)"
            raise ValueError(f"out: {self._path} cannot be written: {error.strerror}{size}") from None
        self._array = array

    def write(self, first: int, values: Tensor, record: Record) -> None:
        super().write(first, values, record)
        self._array.flush()
        self._append({"first": first, **{name: value.tolist() for name, value in vars(record).items()}})

    def result(self) -> Any:
        del self._array
        os.replace(self._partial, self._path)
        self._journal.unlink()
        return np.load(self._path, mmap_mode="r")

    def _begun(self, shape: tuple[int, int], dtype: Any, fingerprint: str) -> NDArray[Any]:
        """The array of a new run."""
        self.records = {}
        self._remove()
        try:
            array = np.lib.format.open_memmap(self._partial, mode="w+", dtype=dtype, shape=shape)
            # on a full disk, writing to a memory map kills the process instead of raising an error
            if hasattr(os, "posix_fallocate"):
                with self._partial.open("r+b") as file:
                    os.posix_fallocate(file.fileno(), 0, self._partial.stat().st_size)
            self._append({"fingerprint": fingerprint})
        except OSError:
            self._remove()
            raise
        return array

    def _remove(self) -> None:
        self._journal.unlink(missing_ok=True)
        self._partial.unlink(missing_ok=True)

    def _continued(self, fingerprint: str) -> NDArray[Any] | None:
        """The array of an earlier run with the same fingerprint, and its records; ``None`` to start again."""
        lines = self._journal.read_bytes().splitlines(keepends=True) if self._journal.exists() else []
        if lines[:1] != [_line({"fingerprint": fingerprint})]:
            return None
        try:
            array = np.lib.format.open_memmap(self._partial, mode="r+")
        except (FileNotFoundError, ValueError):
            return None
        whole = len(lines[0])
        for line in lines[1:]:
            try:
                entry = json.loads(line if line.endswith(b"\n") else b"")
                first = int(entry.pop("first"))
                self.records[first] = Record(**{name: np.array(value) for name, value in entry.items()})
            except (ValueError, KeyError, TypeError):
                break
            whole += len(line)
        # a killed process can leave half a line; the next line must not be appended to it
        os.truncate(self._journal, whole)
        return array

    def _append(self, entry: dict[str, Any]) -> None:
        with self._journal.open("ab") as journal:
            journal.write(_line(entry))
            journal.flush()
            os.fsync(journal.fileno())


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry).encode() + b"\n"


Output: TypeAlias = MemoryOutput | FileOutput | ArrayOutput


def output_for(out: Any, x: Columns, fingerprint: str) -> Output:
    """Where the result for ``x`` goes: a file, the user's array, or (``None``) memory."""
    if out is None:
        return MemoryOutput(x)
    if is_path(out):
        return FileOutput(out, x.shape, torch.zeros(0, dtype=x.dtype).numpy().dtype, fingerprint)
    if isinstance(out, np.ndarray):
        return ArrayOutput(out, x.shape)
    raise ValueError(f"out is a {type(out).__name__}; it must be the path of a .npy file or an array")


def fingerprint(*parts: Any) -> str:
    """A checksum of what decides a result: matrices, graphs and files by their contents, the rest by its text.

    Example:
        >>> a, b = torch.zeros(3000), torch.zeros(3000)
        >>> b[1500] = 1
        >>> fingerprint(a) == fingerprint(b), fingerprint(a) == fingerprint(torch.zeros(3000))
        (False, True)
    """
    digest = hashlib.blake2b(digest_size=32)
    for part in parts:
        for piece in _pieces(part):
            digest.update(piece)
    return digest.hexdigest()


def _pieces(part: Any) -> Iterator[Any]:
    """The bytes of a value, after the name of its type, so that values of different types do not collide."""
    yield f"<{type(part).__name__}>".encode()
    if is_path(part) and os.path.isfile(part):
        with open(part, "rb") as file:
            while piece := file.read(HASHED_AT_ONCE):
                yield piece
    elif isinstance(part, Tensor):
        tensor = part.detach().cpu()
        if tensor.layout == torch.strided:
            tensor = tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor
            yield from _pieces(tensor.numpy())
        else:
            coo = tensor.to_sparse_coo().coalesce()
            yield from _pieces([tuple(coo.shape), coo.indices().numpy(), coo.values()])
    elif isinstance(part, np.ndarray):
        yield f"{part.dtype} {part.shape}".encode()
        step = max(1, HASHED_AT_ONCE // max(1, part[:1].nbytes))
        for first in range(0, part.shape[0] if part.ndim else 0, step):
            yield np.ascontiguousarray(part[first : first + step]).tobytes()
    elif sp.issparse(part):
        csc = part.tocsc().sorted_indices()
        yield from _pieces([csc.shape, csc.indptr, csc.indices, csc.data])
    elif isinstance(part, FrameletTransform):
        yield from _pieces([repr(part), part.coefficients, part.graph])
    elif isinstance(part, Graph):
        yield from _pieces([part.lambda_max, part.adjacency])
    elif isinstance(part, Mapping):
        yield from _pieces([list(part), *part.values()])
    elif isinstance(part, list | tuple):
        for each in part:
            yield from _pieces(each)
    else:
        yield repr(part).encode()
