"""Matrices of node features in any layout: numpy, SciPy CSR, torch dense or torch sparse CSR.

``Data.x`` is dense for all datasets but ``coauthor-cs``, whose 18 333 x 6 805 binary matrix is a torch sparse
CSR tensor (0.5 GB dense, 14 MB sparse). Everything in :mod:`magnet.corruption` takes both and returns the layout
that it was given. torch is imported only when a tensor is created, so that tables do not need it.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch
    from torch_geometric.data import Data

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

CELLS_PER_BLOCK = 1 << 22  # dense rows are read in pieces of this many cells, so that temporaries stay small

MAX_INT = (1 << 31) - 1  # the largest 32-bit index


def to_scipy(x: Any) -> sp.csr_matrix:
    """Features as a scipy CSR matrix with sorted indices and no stored zeros; never shares memory with ``x``.

    Example:
        >>> import torch
        >>> to_scipy(torch.tensor([[0.0, 2.0], [0.0, 0.0]])).indices.tolist()
        [1]
    """
    if is_tensor(x):
        import torch

        x = x.detach().cpu()
        if x.layout == torch.strided:
            x = x.numpy()
        elif x.layout == torch.sparse_csr:
            parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
            x = sp.csr_matrix(parts, shape=tuple(x.shape), copy=True)
        else:
            cells = x.to_sparse_coo().coalesce()
            x = sp.csr_matrix((cells.values().numpy(), tuple(cells.indices().numpy())), shape=tuple(x.shape))
    matrix = sp.csr_matrix(x, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def to_torch_csr(matrix: Any, dtype: torch.dtype | None = None, device: Any = None) -> torch.Tensor:
    """A SciPy sparse matrix as a torch sparse CSR tensor with sorted indices. (default dtype: ``torch.float32``)"""
    import torch

    return csr_tensor(sp.csr_matrix(matrix).sorted_indices(), dtype or torch.float32, device)


def csr_tensor(matrix: sp.csr_matrix, dtype: torch.dtype, device: Any = None, as_stored: bool = False) -> torch.Tensor:
    """A SciPy CSR matrix as a torch CSR tensor, without torch's warning that the layout is beta. Its indices are copied
    to int64, or shared ``as_stored``."""
    import torch

    indptr, indices = (a if as_stored else a.astype(np.int64) for a in (matrix.indptr, matrix.indices))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse", UserWarning)
        return torch.sparse_csr_tensor(
            torch.from_numpy(indptr),
            torch.from_numpy(indices),
            torch.from_numpy(np.ascontiguousarray(matrix.data)).to(dtype),
            size=matrix.shape,
            device=device,
            check_invariants=False,
        )


def is_tensor(x: Any) -> TypeGuard[torch.Tensor]:
    """Whether ``x`` is a torch tensor, without importing torch: where it was never imported, nothing is one."""
    module = sys.modules.get("torch")
    return module is not None and isinstance(x, module.Tensor)


def _is_strided(x: torch.Tensor) -> bool:
    import torch

    return x.layout == torch.strided


def is_sparse(x: Any) -> bool:
    """Whether ``x`` is a SciPy matrix or a torch tensor in one of the sparse layouts."""
    return sp.issparse(x) or (is_tensor(x) and not _is_strided(x))


def dense(x: torch.Tensor) -> torch.Tensor:
    """A tensor in dense layout on its own device (the same tensor if it is dense already)."""
    return x.to_dense() if is_sparse(x) else x


def dense_x(data: Data) -> torch.Tensor:
    """``data.x`` as a dense tensor."""
    return dense(data.x)


def like(values: Any, x: torch.Tensor) -> torch.Tensor:
    """``values`` (numpy or scipy) as a tensor with the layout, dtype and device of ``x``."""
    import torch

    if _is_strided(x):
        dense = values.toarray() if sp.issparse(values) else np.asarray(values)
        return torch.from_numpy(np.ascontiguousarray(dense)).to(dtype=x.dtype, device=x.device)
    return to_torch_csr(values, x.dtype, x.device)


def row_blocks(x: Any) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Consecutive pieces of the rows as dense numpy arrays."""
    nodes, columns = x.shape
    step = max(1, CELLS_PER_BLOCK // max(1, columns))
    source: Any = to_scipy(x) if is_sparse(x) else np.asarray(x.detach().cpu() if is_tensor(x) else x)
    for start in range(0, nodes, step):
        piece = source[start : start + step]
        rows = slice(start, min(nodes, start + step))
        yield rows, piece.toarray() if sp.issparse(piece) else np.asarray(piece)


def is_binary(x: Any) -> bool:
    """Whether every value is 0 or 1."""
    if is_sparse(x):
        return bool((to_scipy(x).data == 1).all())
    return all(bool(((block == 0) | (block == 1)).all()) for _, block in row_blocks(x))


def density(x: Any) -> float:
    """Share of the cells that are not zero."""
    filled = to_scipy(x).nnz if is_sparse(x) else x.count_nonzero() if is_tensor(x) else np.count_nonzero(x)
    return int(filled) / max(1, x.shape[0] * x.shape[1])


def checksum(x: Any) -> str:
    """SHA-256 of the values (as float32) and their places: the same for a sparse and a dense copy of ``x``.

    Example:
        >>> import torch
        >>> x = torch.eye(3)
        >>> checksum(x) == checksum(x.to_sparse_csr()), checksum(x) == checksum(2 * x)
        (True, False)
    """
    digest = hashlib.sha256(np.asarray(x.shape, dtype="<i8").tobytes())
    for places, values in _nonzeros(x):
        digest.update(places.astype("<i8").tobytes())
        digest.update(values.astype("<f4").tobytes())
    return digest.hexdigest()


def _nonzeros(x: Any) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Flat places and values of the non-zero cells, a block of rows at a time."""
    columns = x.shape[1]
    if not is_sparse(x):
        for rows, block in row_blocks(x):
            places = np.flatnonzero(block)
            yield places + rows.start * columns, block.reshape(-1)[places]
        return
    matrix = to_scipy(x)
    step = max(1, CELLS_PER_BLOCK // max(1, columns))
    for start in range(0, x.shape[0], step):
        piece = matrix[start : start + step].tocoo()
        yield (piece.row.astype(np.int64) + start) * columns + piece.col, piece.data
