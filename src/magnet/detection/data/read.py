"""Check a graph with node features and bring it into the form that detectors work on."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from magnet.detection.data.columns import Column, check_columns, feature_matrix, matrix_columns, row_units
from magnet.detection.data.dataset import DetectionData, block_width
from magnet.detection.data.scales import Scales, nan_median
from magnet.detection.data.scratch import columns_on_disk, row_ranges
from magnet.detection.data.sparse_rows import row_pieces, stored_values
from magnet.detection.options import DATA, ROUNDING
from magnet.graph import Graph, need_edges

if TYPE_CHECKING:
    from torch_geometric.data import Data

MAX_ROUNDING = 0.01  # of the spread of a column: what single precision may take away


def read_data(
    data: Data,
    columns: Sequence[Column] | None = None,
    trusted: Any = None,
    scales: Scales | None = None,
    device: Any = None,
) -> DetectionData:
    """Check the data and put it on the device (that of ``data.x`` unless another is named).

    Args:
        data: a graph with ``x`` and ``edge_index``.
        columns: what the features are. (default: inferred)
        trusted: bool ``[n, d]`` or ``[n]``, cells or rows known to be right. (default: none)
        scales: column scales of another graph. (default: from this one)
        device: where the work is done.
    """
    given = getattr(data, "x", None)
    x = feature_matrix(given)
    is_dense = isinstance(x, Tensor)
    on_disk = isinstance(given, str | os.PathLike | np.memmap) and (not is_dense or device in (None, "cpu"))
    if on_disk and is_dense:
        x = columns_on_disk(x)
    elif is_dense:
        _warn_of_rounding(given)
    bag = columns is None or all(c.kind in ("binary", "count") for c in columns)
    row_unit = row_units(x) if bag else None
    if row_unit is not None:
        x = _divided(x, row_unit)
    need_edges(data)
    where = torch.device(device if device is not None else getattr(given, "device", "cpu"))
    graph = Graph.from_edges(data.edge_index, int(x.shape[0]), getattr(data, "edge_weight", None))
    chosen = matrix_columns(x) if columns is None else check_columns(columns, int(x.shape[1]))
    if scales is not None and scales.center.numel() != x.shape[1]:
        raise ValueError(f"the detector was fitted on {scales.center.numel()} features; x has {x.shape[1]}")
    unit = torch.tensor([c.unit for c in chosen for _ in range(c.start, c.stop)], device=where)
    row_sizes = torch.ones(x.shape[0], device=where) if row_unit is None else row_unit.to(where, torch.float32)
    return DetectionData(
        graph=graph,
        x=_dense(x, where, unit, on_disk) if isinstance(x, Tensor) else None,
        matrix=None if isinstance(x, Tensor) else _sparse(x, unit),
        columns=chosen,
        trusted=None if trusted is None else _trusted(trusted, tuple(x.shape), where),
        device=where,
        given_scales=scales,
        edges_from_rows=bool(getattr(data, "edges_from_rows", False)),
        units=None if row_unit is None and bool((unit == 1).all()) else (row_sizes, unit),
        on_disk=on_disk,
    )


def _dense(x: Tensor, device: torch.device, unit: Tensor, in_place: bool) -> Tensor:
    """Finite features in single precision, divided by the units of their columns."""
    dense = x.to(device, torch.float32)
    for rows in row_ranges(*dense.shape):
        if bool(dense[rows].isinf().any()):
            row, column = dense[rows].isinf().nonzero()[0].tolist()
            value = x[rows][row, column].item()
            allowed = "only NaN (missing) may" if math.isinf(value) else "detectors work in single precision"
            raise ValueError(f"data.x holds {value} at node {row + rows.start}, feature {column}; {allowed}")
    if not in_place:
        return dense / unit if bool((unit != 1).any()) else dense
    for j in (unit != 1).nonzero().flatten().tolist():
        dense[:, j] /= unit[j]
    return dense


def _sparse(x: sp.csr_matrix, unit: Tensor) -> sp.csr_matrix:
    """The same for a sparse matrix, in its place if it is in single precision."""
    matrix, size = x.astype(np.float32, copy=False), unit.cpu().numpy()
    for rows, piece in row_pieces(matrix):
        if not np.isfinite(piece.data).all():
            raise ValueError("data.x is sparse and holds NaN or infinity; missing values need a dense matrix")
        stored_values(matrix, rows)[:] = piece.data / size[piece.indices]
    return matrix


def _trusted(given: Any, shape: tuple[int, int], device: torch.device) -> Tensor:
    trusted = torch.as_tensor(given, dtype=torch.bool, device=device)
    trusted = trusted[:, None] if trusted.dim() == 1 else trusted
    if tuple(trusted.shape) not in ((shape[0], 1), shape):
        raise ValueError(f"trusted has shape {tuple(trusted.shape)}; it must be [{shape[0]}] or {list(shape)}")
    return trusted


def _warn_of_rounding(given: Any) -> None:
    """Warn of a column that loses more than a hundredth of its spread in single precision, such as times in seconds
    since 1970: its errors cannot be seen."""
    wide = torch.as_tensor(given).detach()
    if wide.layout != torch.strided or wide.dtype not in (torch.float64, torch.int64, torch.int32):
        return
    wide = wide[:: max(1, wide.shape[0] // DATA.quantile_sample)]
    width = block_width(max(1, wide.shape[0]))
    for first in range(0, wide.shape[1], width):
        block = wide[:, first : first + width].double()
        lost = (block - block.float().double()).nan_to_num(posinf=0.0, neginf=0.0).abs().amax(dim=0)
        if not bool(lost.any()):
            continue
        center = nan_median(block)
        distance = (block - center).abs()
        spread, widest = nan_median(distance), distance.nan_to_num().amax(dim=0)
        spread = torch.where(spread > 0, spread, widest)
        rounded = torch.nonzero((lost > MAX_ROUNDING * spread) & (spread > 0)).flatten().tolist()
        if rounded:
            warnings.warn(
                f"data.x, feature {first + rounded[0]}: values around {float(center[rounded[0]]):.6g} differ by less "
                "than single precision holds, in which detectors work; subtract a constant from them",
                stacklevel=4,
            )
            return


def _divided(x: Tensor | sp.csr_matrix, row_unit: Tensor) -> Tensor | sp.csr_matrix:
    """A row-normalized bag divided by the units of its rows, in place if it is sparse; multiples of a unit become
    whole."""
    if not isinstance(x, Tensor):
        size = row_unit.numpy()
        for rows, piece in row_pieces(x):
            values = piece.data.astype(np.float64) / np.repeat(size[rows], np.diff(piece.indptr))
            stored_values(x, rows)[:] = _whole_where_close(torch.from_numpy(values)).numpy()
        return x.astype(np.float32, copy=False)
    row, column = x.nonzero(as_tuple=True)  # few of a bag's cells are filled
    out = torch.zeros(x.shape, device=x.device)
    out[row, column] = _whole_where_close(x[row, column].double() / row_unit[row]).float()
    return out


def _whole_where_close(values: Tensor) -> Tensor:
    return torch.where((values - values.round()).abs() <= ROUNDING * values.abs(), values.round(), values)
