"""Graphs in ``.npz`` files: plain arrays, no pickles, written whole or not at all.

Keys: ``x`` (dense features) or ``attr_data, attr_indices, attr_indptr, attr_shape`` (CSR), ``edge_index``,
and where the graph has them ``y``, ``train_mask``, ``val_mask``, ``test_mask``, ``grid`` and ``name``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from magnet.arrays import is_sparse, to_scipy, to_torch_csr
from magnet.files import complete_or_absent, damaged
from magnet.untrusted import open_npz, read_csr

_OPTIONAL = ("y", "train_mask", "val_mask", "test_mask")
_SPARSE = ("attr_data", "attr_indices", "attr_indptr", "attr_shape")
_GRAPH = {"x", "edge_index", "grid", "name", *_OPTIONAL, *_SPARSE}


def save_arrays(path: str | os.PathLike[str], arrays: Mapping[str, Any], compress: bool = True) -> None:
    """Write named arrays to ``path``, atomically."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write: Any = np.savez_compressed if compress else np.savez
    with complete_or_absent(path) as part, part.open("wb") as file:
        write(file, **arrays)


def save_graph(path: str | os.PathLike[str], data: Data, **extra: Any) -> None:
    """Write a graph, and further arrays beside it."""
    arrays: dict[str, Any] = {"edge_index": data.edge_index.cpu().numpy()}
    if is_sparse(data.x):
        x = to_scipy(data.x)
        arrays |= dict(zip(_SPARSE, (x.data, x.indices, x.indptr, np.array(x.shape)), strict=True))
    else:
        arrays["x"] = data.x.detach().cpu().numpy()
    for key in _OPTIONAL:
        if data.get(key) is not None:
            arrays[key] = data[key].cpu().numpy()
    for key in ("grid", "name"):
        if data.get(key) is not None:
            arrays[key] = np.array(data[key])
    save_arrays(path, arrays | extra)


def load_graph(path: str | os.PathLike[str]) -> tuple[Data, dict[str, Any]]:
    """The graph that :func:`save_graph` wrote to ``path``, and the further arrays."""
    with damaged(Path(path)), open_npz(path) as arrays:
        if "x" in arrays:
            x = torch.from_numpy(arrays["x"])
        else:
            values, indices, indptr, shape = (arrays[key] for key in _SPARSE)
            x = to_torch_csr(read_csr(values, indices, indptr, shape), torch.from_numpy(values).dtype)
        data = Data(x=x, edge_index=torch.from_numpy(arrays["edge_index"]))
        for key in _OPTIONAL:
            if key in arrays:
                data[key] = torch.from_numpy(arrays[key])
        if "grid" in arrays:
            data.grid = tuple(int(size) for size in arrays["grid"])
        if "name" in arrays:
            data.name = str(arrays["name"])
        return data, {key: arrays[key] for key in arrays.files if key not in _GRAPH}
