"""What the columns of a feature matrix are."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args
from zipfile import BadZipFile

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from magnet.arrays import is_sparse, to_scipy
from magnet.detection.data.scratch import row_ranges, scratch
from magnet.detection.data.sparse_rows import read_rows, row_pieces
from magnet.detection.options import DATA, ROUNDING, ROWS

#: Columns that are worked on at a time, at most; bounds memory.
BLOCK_COLUMNS = 64
#: What the smallest value of a row-normalized bag of counts may stand for.
LEAST_COUNTS = (1, 2, 3)

Kind = Literal["binary", "count", "continuous", "categorical"]


@dataclass(frozen=True)
class Column:
    """One column of a table and its place in the feature matrix.

    Args:
        name: name of the column.
        kind: ``"binary"`` (0/1), ``"count"`` (whole numbers from 0), ``"continuous"``, or ``"categorical"``: a group of
            0/1 features, one per category, exactly one of which is 1.
        start: it is ``x[:, start:stop]``.
        stop: only a categorical column has more than one feature.
        unit: the value of a binary column that means 1. (default: ``1.0``)
    """

    name: str
    kind: Kind
    start: int
    stop: int
    unit: float = 1.0


def feature_matrix(x: Any) -> Tensor | sp.csr_matrix:
    """Features ``[n, d]`` as a dense floating-point tensor or a sparse SciPy matrix of its own (sorted indices, no
    stored zeros), from a tensor, a NumPy array or a SciPy matrix of numbers or bools, or from a file, which stays on
    the disk and is read where it is needed: ``.npy``, ``.npz`` (of ``scipy.sparse.save_npz``) or ``.parquet`` (numbers,
    one column for each feature).

    Example:
        >>> feature_matrix(np.array([[True, False]])).tolist()
        [[1.0, 0.0]]
    """
    if isinstance(x, str | os.PathLike):
        x = _read(Path(x))
    elif sp.issparse(x):
        x = to_scipy(sp.csr_matrix(x, dtype=np.float32))
    if isinstance(x, np.ndarray) and x.dtype.kind in "fiub":
        with warnings.catch_warnings():
            # a file that is mapped for reading: nothing is ever written to it
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")
            x = torch.from_numpy(np.ascontiguousarray(x))
    if not sp.issparse(x) and (not isinstance(x, Tensor) or x.is_complex()):
        held = "is missing" if x is None else f"is a {type(x).__name__} of {getattr(x, 'dtype', 'objects')}"
        raise ValueError(
            f"data.x {held}; it must be a tensor, NumPy array or SciPy matrix of numbers [nodes, features]"
        )
    if len(x.shape) != 2 or x.shape[1] == 0:
        raise ValueError(f"data.x has shape {tuple(x.shape)}; it must be [nodes, features] with at least one feature")
    if sp.issparse(x):
        return x
    x = x.detach()
    x = x if x.dtype in (torch.float32, torch.float64) else x.to(torch.float32)
    return to_scipy(x) if is_sparse(x) else x


def _read(path: Path) -> Any:
    """The features of a file."""
    try:
        if path.suffix == ".npy":
            return np.load(path, mmap_mode="r", allow_pickle=False)
        if path.suffix == ".npz":
            return read_rows(path)
        if path.suffix == ".parquet":
            from pyarrow import parquet

            with parquet.ParquetFile(path) as file:
                x, first = scratch(file.metadata.num_columns, file.metadata.num_rows).T, 0
                for batch in file.iter_batches():
                    for j, column in enumerate(batch.columns):
                        values = column.to_numpy(zero_copy_only=False).astype(np.float32)
                        x[first : first + batch.num_rows, j] = torch.from_numpy(values)
                    first += batch.num_rows
            return x
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise ValueError(f"data.x is {os.fspath(path)!r}, which cannot be read ({error})") from None
    raise ValueError(f"data.x is {os.fspath(path)!r}; files are .npy, .npz (sparse) or .parquet")


def infer_columns(x: Any) -> list[Column]:
    """One column per feature: binary where all values are 0 or one other value, a count where they are whole numbers
    from 0, else continuous. Missing values (NaN) do not matter. In a matrix of 0/1 columns a few other numbers
    (negative ones, fractions) do not make a column continuous: they are the errors.

    Example:
        >>> x = torch.tensor([[0.0, 0.0, 0.5], [0.2, 3.0, -1.0], [float("nan"), 1.0, 2.0]])
        >>> [c.kind for c in infer_columns(x)], round(infer_columns(x)[0].unit, 3)
        (['binary', 'count', 'continuous'], 0.2)
    """
    return matrix_columns(feature_matrix(x))


def matrix_columns(x: Tensor | sp.csr_matrix) -> list[Column]:
    """:func:`infer_columns` of what :func:`feature_matrix` gives."""
    features = int(x.shape[1])
    unit, binary, whole = np.ones(features), np.ones(features, bool), np.ones(features, bool)
    if sp.issparse(x):
        filled = np.zeros(features, bool)
        for _, piece in row_pieces(x):
            values, place = piece.data.astype(np.float32, copy=False), piece.indices
            first = unit.copy()
            first[place[::-1]] = values[::-1]  # of several values in a column, that of the first row
            unit = np.where(filled, unit, first)
            filled[place] = True
            binary[place[values != unit[place].astype(np.float32)]] = False
            whole[place[(values < 0) | (values % 1 != 0)]] = False
    else:
        for at in _column_blocks(x):
            block = x[:, at].float()
            missing = block.isnan()
            known = block.masked_fill(missing, 0.0)
            other = torch.where(known.amax(dim=0) > 0, known.amax(dim=0), known.amin(dim=0))
            binary[at] = ((block == 0) | (block == other) | missing).all(dim=0).cpu().numpy()
            whole[at] = (((block >= 0) & (block == block.round())) | missing).all(dim=0).cpu().numpy()
            unit[at] = torch.where(other == 0, torch.ones_like(other), other).cpu().numpy()
    invalid = ~binary & _binary_but_for_errors(x)
    binary, unit = binary | invalid, np.where(invalid, 1.0, unit)
    kinds: list[Kind] = ["binary" if b else "count" if w else "continuous" for b, w in zip(binary, whole, strict=True)]
    return [Column(str(j), kind, j, j + 1, float(unit[j]) if kind == "binary" else 1.0) for j, kind in enumerate(kinds)]


def _column_blocks(x: Tensor) -> list[slice]:
    width = max(1, min(BLOCK_COLUMNS, DATA.cells_per_block // max(1, x.shape[0])))
    return [slice(start, start + width) for start in range(0, x.shape[1], width)]


def row_units(x: Tensor | sp.csr_matrix) -> Tensor | None:
    """The unit ``[n]`` of each row of a row-normalized bag of words; None for other features.

    The rows of a bag of 0/1 or counts that was divided by row sums, norms or maxima have (nearly) all the same sum,
    norm or maximum, and hold whole multiples of a unit. Dividing by that unit gives the bag back.

    Example:
        >>> counts = torch.eye(16) + torch.ones(16, 16).triu(12)
        >>> units = row_units(counts / counts.sum(dim=1, keepdim=True))
        >>> units is None, row_units(counts) is None
        (False, True)
    """
    nodes, features = x.shape
    if features < DATA.min_bag_columns or nodes < ROWS.min_rows:
        return None
    if isinstance(x, Tensor):
        filled = sum(int(x[rows].count_nonzero()) for rows in row_ranges(nodes, features))
    else:
        filled = x.nnz
    if filled > DATA.max_bag_fill * nodes * features:
        return None
    parts = [_sizes_of_rows(piece.astype(np.float64)) for _, piece in row_pieces(x)]
    has_cells, least, largest, sums, norms, unit, whole = (np.concatenate(each) for each in zip(*parts, strict=True))
    if has_cells.sum() < ROWS.min_rows:
        return None
    same = [np.isclose(size, np.median(size), rtol=ROUNDING) for size in (sums, norms, largest)]
    normalized = max((whole & each).mean() for each in same) >= 1 - DATA.max_exceptions
    if not normalized or np.isclose(least, np.median(least), rtol=ROUNDING).mean() >= 1 - DATA.max_exceptions:
        return None
    out = np.ones(nodes)
    out[has_cells] = unit
    return torch.from_numpy(out).to(x.device if isinstance(x, Tensor) else "cpu")


def _sizes_of_rows(matrix: sp.csr_matrix) -> tuple[NDArray[Any], ...]:
    """Which rows have cells ``[n]``, and of these the least and largest value, sum, norm, the unit of which all values
    are multiples, and whether there is one."""
    has_cells = np.diff(matrix.indptr) > 0
    if not has_cells.any():
        nothing = np.zeros(0)
        return has_cells, *[nothing] * 5, np.zeros(0, bool)
    lengths = np.diff(matrix.indptr)[has_cells]
    starts, row = matrix.indptr[:-1][has_cells], np.repeat(np.arange(lengths.size), lengths)
    least, largest = np.minimum.reduceat(matrix.data, starts), np.maximum.reduceat(matrix.data, starts)
    sums, norms = np.add.reduceat(matrix.data, starts), np.sqrt(np.add.reduceat(matrix.data**2, starts))
    unit, whole = np.abs(largest), np.zeros(least.size, bool)
    for count in LEAST_COUNTS:
        ratio = matrix.data / (least / count)[row]
        fits = np.logical_and.reduceat(np.isclose(ratio, np.round(ratio), rtol=ROUNDING), starts) & (least > 0)
        unit[fits & ~whole] = least[fits & ~whole] / count
        whole |= fits
    return has_cells, least, largest, sums, norms, unit, whole


def _binary_but_for_errors(x: Tensor | sp.csr_matrix) -> NDArray[np.bool_]:
    """Bool ``[d]``: columns of a 0/1 matrix in which some cells hold neither 0 nor 1, and no other whole number."""
    features = int(x.shape[1])
    ones, invalid, counts = (np.zeros(features) for _ in range(3))
    if sp.issparse(x):
        for _, piece in row_pieces(x):
            values, place = piece.data, piece.indices
            not_count = (values < 0) | (values % 1 != 0)
            for total, which in ((ones, values == 1), (invalid, not_count), (counts, (values > 1) & ~not_count)):
                total += np.bincount(place[which], minlength=features)
    else:
        for at in _column_blocks(x):
            block = x[:, at].nan_to_num()
            not_count = (block < 0) | (block != block.round())
            for total, which in ((ones, block == 1), (invalid, not_count), (counts, (block > 1) & ~not_count)):
                total[at] = which.sum(dim=0).cpu().numpy()
    if features < DATA.min_bag_columns or ones.sum() < DATA.min_binary_share * (ones + invalid + counts).sum():
        return np.zeros(features, bool)
    return (counts == 0) & (invalid > 0) & (ones >= invalid)


def check_columns(columns: Sequence[Column], features: int) -> list[Column]:
    """The columns in order; an error if they are invalid."""
    ordered = sorted(columns, key=lambda c: c.start)
    at = 0
    for c in ordered:
        if c.kind not in get_args(Kind):
            raise ValueError(f"column {c.name!r} is of kind {c.kind!r}; it must be one of {', '.join(get_args(Kind))}")
        if c.start != at or c.stop <= c.start:
            raise ValueError(
                f"column {c.name!r} is x[:, {c.start}:{c.stop}]; columns must be contiguous, starting here at {at}"
            )
        if c.kind != "categorical" and c.stop != c.start + 1:
            raise ValueError(
                f"column {c.name!r} ({c.kind}) takes {c.stop - c.start} features; only a category takes more than 1"
            )
        at = c.stop
    if at != features:
        raise ValueError(f"the columns describe {at} features; x has {features}")
    return ordered
