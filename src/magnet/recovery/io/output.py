"""Where recovered columns go: into memory, an array of the user's, or a file that survives a kill."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeGuard

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.framelets import FrameletTransform
from magnet.graph import Graph
from magnet.recovery.io.columns import Columns

Mapped: TypeAlias = np.memmap[Any, Any]

#: Bytes hashed at a time: a memory map is never read as a whole.
HASHED_AT_ONCE = 1 << 24


@dataclass(frozen=True)
class Record:
    """Record of a finished range of columns.

    Attributes:
        iterations, converged: of each column.
        sums: ``[6, iterations]``, see :class:`~magnet.recovery.driver.History`.
        residual: the final relative residual of each column, without a history.
    """

    iterations: NDArray[np.int64]
    converged: NDArray[np.bool_]
    sums: NDArray[np.float64] = field(default_factory=lambda: np.zeros((6, 0)))
    residual: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name).tolist() for name in ("iterations", "converged", "sums", "residual")}

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Record:
        return cls(
            np.array(entry["iterations"], dtype=np.int64),
            np.array(entry["converged"], dtype=bool),
            np.array(entry["sums"], dtype=np.float64).reshape(6, -1),
            np.array(entry["residual"], dtype=np.float64),
        )


class Output(Protocol):
    def finished(self, first: int) -> Record | None:
        """The record of the range that starts at ``first`` if it is already there."""

    def write(self, first: int, values: Tensor, record: Record) -> None: ...

    def result(self) -> Any: ...


class Memory:
    """Collects the columns in one tensor or array."""

    def __init__(self, shape: tuple[int, int], dtype: torch.dtype, device: torch.device, tensor: bool):
        self._whole: Tensor | None = None
        self._shape, self._dtype, self._device, self._tensor = shape, dtype, device, tensor

    def finished(self, first: int) -> Record | None:
        return None

    def write(self, first: int, values: Tensor, record: Record) -> None:
        values = values.to(self._dtype)
        if values.shape == self._shape:
            self._whole = values
            return
        if self._whole is None:
            self._whole = torch.empty(self._shape, dtype=self._dtype, device=self._device)
        self._whole[:, first : first + values.shape[1]] = values

    def result(self) -> Any:
        assert self._whole is not None
        return self._whole if self._tensor else self._whole.detach().cpu().numpy()


class Given:
    """Fills an array or memory map of the user's."""

    def __init__(self, array: NDArray[Any], shape: tuple[int, int]) -> None:
        if array.shape != shape or array.dtype.kind != "f" or not array.flags.writeable:
            raise ValueError(
                f"out is an array {list(array.shape)} of {array.dtype}; it must be {list(shape)}, of floating-point "
                "numbers and writeable"
            )
        self._array = array

    def finished(self, first: int) -> Record | None:
        return None

    def write(self, first: int, values: Tensor, record: Record) -> None:
        self._array[:, first : first + values.shape[1]] = values.detach().cpu().numpy()

    def result(self) -> Any:
        if isinstance(self._array, np.memmap):
            self._array.flush()
        return self._array


class File:
    """Writes a ``.npy`` file range by range.

    ``PATH.partial`` holds the columns and ``PATH.journal`` one line for each finished range, written only
    after the columns are on disk. A run with the same fingerprint continues from there; the file gets its
    real name when it is complete. Its space is reserved first: a disk that is too small is an error at the start.
    """

    def __init__(self, path: str | os.PathLike[str], shape: tuple[int, int], dtype: Any, fingerprint: str):
        self._path = Path(path)
        self._partial = self._path.with_name(self._path.name + ".partial")
        self._journal = self._path.with_name(self._path.name + ".journal")
        try:
            self._array, self._records = self._continue(shape, dtype, fingerprint) or self._begin(
                shape, dtype, fingerprint
            )
        except OSError as error:
            size = f" ({shape[0] * shape[1] * np.dtype(dtype).itemsize / 2**20:.1f} MiB are needed)"
            raise ValueError(f"out: {self._path} cannot be written: {error.strerror}{size}") from None

    def finished(self, first: int) -> Record | None:
        return self._records.get(first)

    def write(self, first: int, values: Tensor, record: Record) -> None:
        self._array[:, first : first + values.shape[1]] = values.detach().cpu().numpy()
        self._array.flush()
        self._append({"first": first, **record.to_json()})

    def result(self) -> Any:
        del self._array
        os.replace(self._partial, self._path)
        self._journal.unlink()
        return np.load(self._path, mmap_mode="r")

    def _begin(self, shape: tuple[int, int], dtype: Any, fingerprint: str) -> tuple[Mapped, dict[int, Record]]:
        self._journal.unlink(missing_ok=True)
        self._partial.unlink(missing_ok=True)
        try:
            array = np.lib.format.open_memmap(self._partial, mode="w+", dtype=dtype, shape=shape)
            # a memory map on a full disk is not an error that can be caught but a signal that kills
            _reserve(self._partial)
            self._append({"fingerprint": fingerprint})
        except OSError:
            self._partial.unlink(missing_ok=True)
            self._journal.unlink(missing_ok=True)
            raise
        return array, {}

    def _continue(
        self, shape: tuple[int, int], dtype: Any, fingerprint: str
    ) -> tuple[Mapped, dict[int, Record]] | None:
        """The array and the finished ranges of an earlier run with the same fingerprint; ``None`` to start anew."""
        if not (self._journal.exists() and self._partial.exists()):
            return None
        records: dict[int, Record] = {}
        whole = 0
        for number, line in enumerate(self._journal.read_bytes().splitlines(keepends=True)):
            try:
                entry = json.loads(line) if line.endswith(b"\n") else None
                if number == 0 and (entry is None or entry["fingerprint"] != fingerprint):
                    return None
                if number > 0 and entry is not None:
                    records[int(entry["first"])] = Record.from_json(entry)
            except (ValueError, KeyError, TypeError):
                entry = None
            if entry is None:
                break
            whole += len(line)
        if whole == 0:
            return None
        try:
            array = np.lib.format.open_memmap(self._partial, mode="r+")
        except ValueError:
            return None
        if array.shape != shape or array.dtype != dtype:
            return None
        # a kill can leave half a line, which the next one must not be written behind
        os.truncate(self._journal, whole)
        return array, records

    def _append(self, line: dict[str, Any]) -> None:
        with self._journal.open("a", encoding="utf-8") as journal:
            journal.write(json.dumps(line) + "\n")
            journal.flush()
            os.fsync(journal.fileno())


def is_path(out: Any) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(out, str | os.PathLike)


def output_for(out: Any, x: Columns, fingerprint: str) -> Output:
    """Where the result for ``x`` goes: a file, the user's array, or (``None``) memory."""
    if out is None:
        return Memory(x.shape, x.dtype, x.device, x.is_tensor)
    if is_path(out):
        return File(out, x.shape, torch.zeros(0, dtype=x.dtype).numpy().dtype, fingerprint)
    if isinstance(out, np.ndarray):
        return Given(out, x.shape)
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
    """The bytes of a value, each kind marked by its name, so that no two values have the same ones by accident."""
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


def _reserve(path: Path) -> None:
    """Take the space of a file on the disk, not only its length."""
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
