"""What the columns of a feature matrix are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from magnet.arrays import is_sparse, to_scipy, to_torch_csr

Kind = Literal["binary", "count", "continuous", "categorical"]


@dataclass(frozen=True)
class Column:
    """One column of a table and its place in the feature matrix.

    Args:
        name: what the user calls it.
        kind: ``"binary"`` (0/1), ``"count"`` (whole numbers from 0), ``"continuous"``, or ``"categorical"``: a group of
            0/1 features, one per category, exactly one of which is 1.
        start, stop: it is ``x[:, start:stop]``; only a categorical column has more than one feature.
    """

    name: str
    kind: Kind
    start: int
    stop: int


def feature_tensor(x: Any) -> Tensor:
    """Features as a floating-point tensor ``[n, d]``, dense or sparse CSR, from a tensor, a NumPy array or a SciPy
    matrix of numbers or bools.

    Example:
        >>> feature_tensor(np.array([[True, False]])).tolist()
        [[1.0, 0.0]]
    """
    if sp.issparse(x):
        x = to_torch_csr(sp.csr_matrix(x, dtype=np.float32))
    elif isinstance(x, np.ndarray) and x.dtype.kind in "fiub":
        x = torch.from_numpy(np.ascontiguousarray(x))
    if not isinstance(x, Tensor) or x.is_complex():
        held = "is missing" if x is None else f"is a {type(x).__name__} of {getattr(x, 'dtype', 'objects')}"
        raise ValueError(
            f"data.x {held}; it must be a tensor, NumPy array or SciPy matrix of numbers [nodes, features]"
        )
    if x.dim() != 2 or x.shape[1] == 0:
        raise ValueError(f"data.x has shape {tuple(x.shape)}; it must be [nodes, features] with at least one feature")
    x = x.detach()
    return x if x.is_floating_point() else x.to(torch.float32)


def infer_columns(x: Any) -> list[Column]:
    """One column per feature: binary where all values are 0 or 1, a count where they are whole numbers from 0, else
    continuous. Missing values (NaN) do not matter.

    Example:
        >>> x = torch.tensor([[0.0, 0.0, 0.5], [1.0, 3.0, -1.0], [float("nan"), 1.0, 2.0]])
        >>> [c.kind for c in infer_columns(x)]
        ['binary', 'count', 'continuous']
    """
    x = feature_tensor(x)
    features = int(x.shape[1])
    if is_sparse(x):
        matrix = to_scipy(x).tocsc()
        values, place = matrix.data, np.repeat(np.arange(features), np.diff(matrix.indptr))
        binary, whole = np.ones(features, bool), np.ones(features, bool)
        binary[place[values != 1]] = False
        whole[place[(values < 0) | (values % 1 != 0)]] = False
    else:
        binary, whole = np.empty(features, bool), np.empty(features, bool)
        for start in range(0, features, 64):
            block = x[:, start : start + 64]
            missing = block.isnan()
            binary[start : start + 64] = ((block == 0) | (block == 1) | missing).all(dim=0).cpu().numpy()
            whole[start : start + 64] = (((block >= 0) & (block == block.round())) | missing).all(dim=0).cpu().numpy()
    kinds: list[Kind] = ["binary" if b else "count" if w else "continuous" for b, w in zip(binary, whole, strict=True)]
    return [Column(str(j), kind, j, j + 1) for j, kind in enumerate(kinds)]


def check_columns(columns: Sequence[Column], features: int) -> list[Column]:
    """The columns in order, or an error that says what is wrong with them."""
    ordered = sorted(columns, key=lambda c: c.start)
    at = 0
    for c in ordered:
        if c.kind not in get_args(Kind):
            raise ValueError(f"column {c.name!r} is of kind {c.kind!r}; it must be one of {', '.join(get_args(Kind))}")
        if c.start != at or c.stop <= c.start:
            raise ValueError(
                f"column {c.name!r} is x[:, {c.start}:{c.stop}]; columns must follow one another, here from {at}"
            )
        if c.kind != "categorical" and c.stop != c.start + 1:
            raise ValueError(
                f"column {c.name!r} ({c.kind}) takes {c.stop - c.start} features; only a category takes more than 1"
            )
        at = c.stop
    if at != features:
        raise ValueError(f"the columns describe {at} features; x has {features}")
    return ordered
