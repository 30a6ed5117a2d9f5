"""Feature matrices of any kind, read and checked a few columns at a time as dense tensors."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeGuard
from zipfile import BadZipFile

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from magnet.arrays import to_scipy
from magnet.checks import at_least
from magnet.recovery.io.sparse import SparseFile, open_sparse

#: Bytes of one array of a range of columns. On a CPU the temporaries of torch should stay in cache; the kernels have
#: blocks of their own, and only the preparation needs temporaries. Files should be read few times, CUDA launches should
#: be large, and a cluster needs more ranges than cores.
RANGE_BYTES = {"torch": 3 << 19, "numba": 32 << 20, "file": 128 << 20, "cuda": 256 << 20, "cluster": 4 << 20}


#: Ranges are multiples of this many columns: whole lines of cache, and whole blocks of the kernels.
COLUMN_STEP = 64

#: An untrusted number this many times larger than every trusted one of its column is treated as missing. Conjugate
#: gradients in float32 gain about seven digits over their start: this leaves four of them.
FAR_OUT = 1024.0

#: Columns whose largest trusted number lies between 2 to plus and minus this power are solved as they are.
ORDINARY_BITS = {torch.float32: 40, torch.float64: 400}


@dataclass(frozen=True)
class Columns:
    """A matrix ``[n, d]`` that hands out dense column ranges: ``read(first, last)`` gives ``[n, last - first]``."""

    shape: tuple[int, int]
    dtype: torch.dtype  # in which it is handed out
    device: torch.device  # where the results are wanted
    is_tensor: bool  # whether the user gave a tensor (and expects one back)
    read: Callable[[int, int], Tensor]


def is_path(value: Any) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(value, str | os.PathLike)


def columns(value: Any, name: str) -> Columns:
    """Wrap a tensor (dense or sparse), array, memory map, SciPy sparse matrix or path of a ``.npy`` file or of an
    ``.npz`` file with a sparse matrix."""
    if is_path(value):
        suffix = ".npz" if os.fspath(value).endswith(".npz") else ".npy"
        try:
            value = open_sparse(value) if suffix == ".npz" else np.load(value, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, KeyError, BadZipFile) as error:
            raise ValueError(f"{name}: {os.fspath(value)!r} cannot be read as a {suffix} file ({error})") from None
    elif not isinstance(value, Tensor | np.ndarray) and not sp.issparse(value):
        value = np.asarray(value)
    given_tensor = isinstance(value, Tensor)
    if value.is_complex() if given_tensor else value.dtype.kind not in "fiub":
        raise ValueError(f"{name} has dtype {value.dtype}; it must hold real numbers")
    if len(value.shape) != 2:
        raise ValueError(f"{name} has shape {list(value.shape)}; it must be [nodes, features]")
    if 0 in value.shape:
        raise ValueError(f"{name} has shape {list(value.shape)}; at least one node and one feature are needed")
    shape = (int(value.shape[0]), int(value.shape[1]))
    if given_tensor and value.layout == torch.strided:
        kind = value.dtype if value.is_floating_point() else torch.get_default_dtype()
        return Columns(shape, kind, value.device, True, lambda first, last: value[:, first:last].to(kind))
    device = value.device if given_tensor else torch.device("cpu")
    matrix: Any = to_scipy(value).tocsc() if given_tensor else value.tocsc() if sp.issparse(value) else value
    # whole numbers and booleans become float32, as PyG features are
    dtype = torch.from_numpy(np.zeros(1, matrix.dtype)).dtype if matrix.dtype.kind == "f" else torch.float32

    def read(first: int, last: int) -> Tensor:
        if isinstance(matrix, SparseFile):
            return torch.from_numpy(matrix.dense(first, last)).to(dtype=dtype)
        block = matrix[:, first:last]
        dense = block.toarray(order="C") if sp.issparse(block) else np.array(block, order="C")
        return torch.from_numpy(dense).to(device=device, dtype=dtype)

    return Columns(shape, dtype, device, given_tensor, read)


def trust_columns(value: Any, x: Columns) -> Columns:
    """The trust that belongs to ``x``; ``None`` is all ones, ``[n]`` and ``[n, 1]`` hold for whole rows."""
    n, d = x.shape
    if value is None:
        value = torch.ones(1, 1, dtype=x.dtype, device=x.device).expand(n, 1)
    if isinstance(value, Tensor | np.ndarray) and value.ndim == 1:
        value = value[:, None]
    wrapped = columns(value, "trust")
    if wrapped.shape not in ((n, d), (n, 1)):
        raise ValueError(f"trust has shape {list(wrapped.shape)}; x has {[n, d]}, and one per row is [{n}, 1]")
    whole_rows = wrapped.shape[1] == 1 and d != 1

    def read(first: int, last: int) -> Tensor:
        block = wrapped.read(0, 1).expand(n, last - first) if whole_rows else wrapped.read(first, last)
        return block.to(device=x.device, dtype=x.dtype)

    return Columns(x.shape, x.dtype, x.device, x.is_tensor, read)


def read_columns(x: Columns, trust: Columns, first: int, width: int) -> tuple[Tensor, Tensor]:
    """At most ``width`` columns of x and trust, in float32 at least."""
    last = min(first + width, x.shape[1])
    block, weights = x.read(first, last), trust.read(first, last)
    if block.dtype in (torch.float16, torch.bfloat16):
        block, weights = block.float(), weights.float()
    return block, weights


def column_scales(x: Tensor, trust: Tensor, together: bool = False) -> Tensor | None:
    """A power of two for each column ``[d]`` by which to divide it, or ``None`` where all are of an ordinary size.

    Norms are sums of squares: beyond about 1e18 (float32) they overflow, below 1e-19 they vanish. Dividing by a power
    of two is exact. What counts is the largest trusted number of a column (of all columns ``together``).
    """
    with torch.no_grad():
        usable = torch.where(torch.isfinite(x) & (trust > 0), x, torch.zeros((), dtype=x.dtype, device=x.device))
        largest = usable.abs().amax(dim=0)
        if together:
            largest = largest.amax().expand_as(largest)
        bits = ORDINARY_BITS[x.dtype]
        odd = (largest > 2.0**bits) | ((largest > 0) & (largest < 2.0**-bits))
        if not bool(odd.any()):
            return None
        return torch.where(odd, torch.exp2(torch.log2(largest).floor()), torch.ones_like(largest))


def range_width(X: Columns, backend: str, to_file: bool, block_columns: int | None, cluster: bool) -> int:
    """How many columns are handled at a time, in multiples of 64 (``block_columns`` where it is given)."""
    if block_columns is not None:
        at_least("block_columns", block_columns, 1)
        return min(block_columns, X.shape[1])
    kind = "cuda" if X.device.type == "cuda" else "cluster" if cluster else "file" if to_file else backend
    width = RANGE_BYTES[kind] // (X.shape[0] * X.dtype.itemsize)
    return int(min(X.shape[1], max(COLUMN_STEP, width // COLUMN_STEP * COLUMN_STEP)))


def fill_missing(x: Tensor, trust: Tensor, first: int, always: bool = False) -> tuple[Tensor, Tensor | None]:
    """Check x and trust; put the trusted column median where an untrusted cell holds no usable number.

    An untrusted number that is ``FAR_OUT`` times as large as every trusted one of its column is treated as missing: it
    has no weight, and as the start of the iteration it would cost precision.

    Returns the filled x and the medians (``None`` where nothing was filled, unless ``always``).
    """
    lowest, highest = torch.aminmax(trust.detach())
    if not (lowest >= 0 and highest <= 1):
        bad = trust[~((trust >= 0) & (trust <= 1))][0].item()
        raise ValueError(f"trust holds {bad:g}; every trust must lie in [0, 1]")
    usable = torch.isfinite(x)
    if not bool(usable.all()) and bool((~usable & (trust > 0)).any()):
        row, column = (~usable & (trust > 0)).nonzero()[0].tolist()
        raise ValueError(
            f"x holds {x[row, column].item()} at node {row}, feature {first + column}, whose trust is "
            f"{trust[row, column].item():g}; a cell without a finite number needs trust 0"
        )
    if lowest == 0:
        size = torch.where(usable, x.detach(), torch.zeros((), dtype=x.dtype, device=x.device)).abs()
        largest = torch.where(trust > 0, size, torch.zeros_like(size)).amax(dim=0)
        usable &= (trust > 0) | (size / FAR_OUT <= largest) | (largest == 0)
    complete = bool(usable.all())
    if complete and not always:
        return x, None
    median = trusted_median(x, trust, usable)
    return (x if complete else torch.where(usable, x, median)), median


def trusted_median(x: Tensor, trust: Tensor, finite: Tensor) -> Tensor:
    """Median of each column ``[d]`` over the cells with trust above 1/2, or any trust, or 0."""
    with torch.no_grad():
        nothing = torch.full_like(x, torch.nan)
        strict = torch.where(finite & (trust > 0.5), x, nothing).nanmedian(dim=0).values
        loose = torch.where(finite & (trust > 0), x, nothing).nanmedian(dim=0).values
        return torch.where(strict.isnan(), loose, strict).nan_to_num(0.0)
