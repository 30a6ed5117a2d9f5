"""Matrices of the size of the features, where these are larger than memory: in temporary files."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable
from math import prod

import numpy as np
import torch
from torch import Tensor

from magnet.arrays import CELLS_PER_BLOCK
from magnet.threads import CELLS_PER_THREAD, map_threads

#: Cells of a matrix that stay in cache (512 kB).
CACHED_CELLS = 1 << 17


def scratch(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """A tensor of zeros in a temporary file (in ``TMPDIR``), which is gone when the tensor is. What is in
    memory of it is a cache that the system can drop.

    Example:
        >>> scratch(2, 3).shape
        torch.Size([2, 3])
    """
    size = prod(shape)
    if not size:
        return torch.zeros(shape, dtype=dtype)
    with tempfile.TemporaryFile() as file:
        file.truncate(size * dtype.itemsize)
        mapped = mmap.mmap(file.fileno(), 0)
    return torch.frombuffer(mapped, dtype=dtype).reshape(shape)


def columns_on_disk(x: Tensor | np.ndarray) -> Tensor:
    """Features ``[n, d]`` as float32 in a scratch file that holds them column after column, so that a range of features
    is read in one piece. They are copied a block of rows at a time."""
    n, d = x.shape
    by_column = scratch(d, n)
    for rows in row_ranges(n, d):
        by_column[:, rows] = torch.as_tensor(x[rows]).T.float()
    return by_column.T


def cached_rows(x: Tensor) -> list[slice]:
    """Consecutive ranges of rows of a matrix that stay in cache from one operation to the next; all on a GPU."""
    return row_ranges(x.shape[0], x.shape[1], CACHED_CELLS) if x.device.type == "cpu" else [slice(0, x.shape[0])]


def over_cached_rows(x: Tensor, work: Callable[[slice], None]) -> None:
    """``work(rows)`` of the ranges of :func:`cached_rows`, several at a time and each on one thread: a range is too
    small for its operations to be split, and on a busy machine they would wait for each other."""
    threads = max(1, min(torch.get_num_threads(), x.numel() // CELLS_PER_THREAD)) if x.device.type == "cpu" else 1
    map_threads(work, cached_rows(x), threads)


def row_ranges(rows: int, columns: int, cells: int | None = None) -> list[slice]:
    """Consecutive ranges of rows of a matrix, of so many cells at most. (default: 4 million)"""
    step = max(1, (cells or CELLS_PER_BLOCK) // max(1, columns))
    return [slice(start, min(rows, start + step)) for start in range(0, rows, step)]
