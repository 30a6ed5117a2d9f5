"""Where recovered columns go: into memory, an array of the user's, or a file that survives a kill."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

#: What is noted of a finished range of columns: iterations, converged, history sums.
Record = tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.float64]]


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
    real name when it is complete.
    """

    def __init__(self, path: str | os.PathLike[str], shape: tuple[int, int], dtype: Any, fingerprint: str):
        self._path = Path(path)
        self._partial = self._path.with_name(self._path.name + ".partial")
        self._journal = self._path.with_name(self._path.name + ".journal")
        self._records = self._read_journal(fingerprint)
        mode: Any = "r+" if self._records is not None else "w+"
        try:
            if self._records is None:
                self._journal.unlink(missing_ok=True)
            self._array = np.lib.format.open_memmap(self._partial, mode=mode, dtype=dtype, shape=shape)
            if self._records is None:
                self._append({"fingerprint": fingerprint})
                self._records = {}
        except OSError as error:
            raise ValueError(f"out: {self._path} cannot be written ({error.strerror})") from None

    def finished(self, first: int) -> Record | None:
        assert self._records is not None
        return self._records.get(first)

    def write(self, first: int, values: Tensor, record: Record) -> None:
        self._array[:, first : first + values.shape[1]] = values.detach().cpu().numpy()
        self._array.flush()
        iterations, converged, sums = record
        self._append(
            {
                "first": first,
                "iterations": iterations.tolist(),
                "converged": converged.tolist(),
                "sums": sums.tolist(),
            }
        )

    def result(self) -> Any:
        del self._array
        os.replace(self._partial, self._path)
        self._journal.unlink()
        return np.load(self._path, mmap_mode="r")

    def _append(self, line: dict[str, Any]) -> None:
        with self._journal.open("a", encoding="utf-8") as journal:
            journal.write(json.dumps(line) + "\n")
            journal.flush()
            os.fsync(journal.fileno())

    def _read_journal(self, fingerprint: str) -> dict[int, Record] | None:
        """The finished ranges of an earlier run with the same fingerprint; ``None`` to start anew."""
        if not (self._journal.exists() and self._partial.exists()):
            return None
        lines = self._journal.read_text(encoding="utf-8").splitlines(keepends=True)
        # a kill can leave the last line without its end
        whole = [json.loads(line) for line in lines if line.endswith("\n")]
        if not whole or whole[0].get("fingerprint") != fingerprint:
            return None
        return {
            entry["first"]: (
                np.array(entry["iterations"], dtype=np.int64),
                np.array(entry["converged"], dtype=bool),
                np.array(entry["sums"], dtype=np.float64).reshape(6, -1),
            )
            for entry in whole[1:]
        }


def fingerprint(*parts: Any) -> str:
    """A checksum of what decides a result: arrays by content, files by name, size and time, the rest by text."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, str | os.PathLike) and os.path.exists(part):
            stat = os.stat(part)
            part = f"{os.path.abspath(part)} {stat.st_size} {stat.st_mtime_ns}"
        elif isinstance(part, np.memmap) and part.filename is not None:
            stat = os.stat(part.filename)
            part = f"{part.filename} {part.offset} {part.shape} {stat.st_size} {stat.st_mtime_ns}"
        if isinstance(part, np.ndarray):
            digest.update(np.ascontiguousarray(part).view(np.uint8).data)
        else:
            digest.update(repr(part).encode())
    return digest.hexdigest()
