"""Graphs as arrays: ``.npz`` files (``x``, ``edge_index``) and PyG's ``.pt`` files. Nothing in them is executed."""

from __future__ import annotations

import copy
import pickle
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from magnet.arrays import is_sparse, to_scipy
from magnet.tables.errors import BadTable, quoted, readable
from magnet.tables.values import Change, parser
from magnet.untrusted import check_size, open_npz, read_csr, to_dense

HALF_PRECISION = (torch.float16, torch.bfloat16)
_SPARSE = ("attr_data", "attr_indices", "attr_indptr", "attr_shape")


@dataclass(frozen=True, eq=False)
class Arrays:
    """A file with a feature matrix and an edge list.

    Args:
        path: the file.
        content: everything that is in it, under its own names.
        x: the features, dense.
        names: a name for each feature.
        edge_index: ``[2, edges]``.
        edge_weight: ``[edges]``, or None where all are 1.
        frame: the features as a data frame.
    """

    path: Path
    content: Any
    x: NDArray[Any]
    names: list[str]
    edge_index: NDArray[np.int64]
    edge_weight: NDArray[Any] | None
    frame: pd.DataFrame = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "frame", pd.DataFrame(self.x, columns=self.names))

    @property
    def suffix(self) -> str:
        return self.path.suffix.lower()

    @property
    def stored(self) -> torch.dtype | None:
        """The type of a tensor whose numbers NumPy cannot hold, or holds as wider ones."""
        x = self.content.get("x")
        return x.dtype if isinstance(x, torch.Tensor) and x.dtype in HALF_PRECISION else None

    def parser(self, column: str) -> Callable[[str], Any]:
        """What makes a cell of a column of a text."""
        parse, stored = parser(self.frame[column]), self.stored
        if stored is None:
            return parse

        def rounded(text: str) -> float:
            value = torch.tensor(parse(text)).to(stored)
            if not bool(value.isfinite()):
                raise ValueError(f"{quoted(text)} is not a finite number of the column's type")
            return float(str(np.float32(value.float().item())))

        return rounded

    def write(self, target: Path, changes: Mapping[str, Change]) -> None:
        """The file again, with other numbers in some cells of x; type and layout stay."""
        x = self.x.copy()
        place = {name: k for k, name in enumerate(self.names)}
        for name, (rows, values) in changes.items():
            x[rows, place[name]] = np.asarray(list(values), dtype=x.dtype)
        if self.suffix == ".npz":
            arrays = dict(self.content)
            if "x" in arrays:
                arrays["x"] = x
            else:
                sparse = to_scipy(x)
                parts = (sparse.data.astype(x.dtype), sparse.indices, sparse.indptr, np.array(sparse.shape))
                arrays |= dict(zip(_SPARSE, parts, strict=True))
            with target.open("wb") as file:
                np.savez_compressed(file, **arrays)
            return
        content = copy.copy(self.content)
        old = self.content["x"]
        new = torch.from_numpy(x).to(old.dtype)
        if old.layout == torch.sparse_coo:
            new = new.to_sparse_coo()
        elif is_sparse(old):
            new = new.to_sparse(layout=old.layout)
        content["x"] = new
        torch.save(content, target)


def read_npz(path: Path) -> Arrays:
    """Read an ``.npz`` file; arrays of Python objects, which could run code, are refused."""
    with readable(path, ".npz"), open_npz(path) as file:
        try:
            content = {key: file[key] for key in file.files}
        except ValueError as error:
            if "allow_pickle" in str(error):
                raise BadTable(f"{path} holds Python objects, which could run code and are refused") from None
            raise
    if "x" not in content and all(key in content for key in _SPARSE):
        with readable(path, "sparse features"):
            x = to_dense(read_csr(*(content[key] for key in _SPARSE)))
    elif "x" in content:
        x = content["x"]
    else:
        raise BadTable(f"{path} holds {', '.join(list(content)[:8]) or 'nothing'}; 'x' and 'edge_index' are needed")
    edges = content.get("edge_index", np.zeros((2, 0), dtype=np.int64))
    return _checked(path, content, x, edges, content.get("edge_weight"), content.get("columns"))


def read_pt(path: Path) -> Arrays:
    """Read a PyG ``Data`` (or a plain dict of tensors) without running anything that the file may hold."""
    from torch_geometric.data import Data

    with readable(path, "a PyG file"):
        check_size(_unpacked(path), str(path))
        allowed, checked = (
            torch.serialization.safe_globals(_pyg_classes()),
            torch.sparse.check_sparse_tensor_invariants(),
        )
        with allowed, checked, warnings.catch_warnings():
            try:
                warnings.simplefilter("ignore")  # about pickles that torch finds unusual
                content = torch.load(path, map_location="cpu", weights_only=True)
            except pickle.UnpicklingError:
                raise BadTable(
                    f"{path} holds Python objects other than tensors and a PyG Data; they could run code and "
                    "are refused"
                ) from None
        if isinstance(content, tuple) and content and isinstance(content[0], Data | dict):
            content = content[0]  # what InMemoryDataset.save wrote
            content = Data.from_dict(content) if isinstance(content, dict) else content
        if not isinstance(content, Data | dict):
            raise BadTable(f"{path} holds a {type(content).__name__}; a PyG Data or a dict of tensors is needed")
        x = content.get("x")
        if not isinstance(x, torch.Tensor):
            raise BadTable(f"{path} holds no tensor 'x'; features and 'edge_index' are needed")
        edges = content.get("edge_index")
        edges = torch.zeros((2, 0), dtype=torch.long) if edges is None else edges
        if not isinstance(edges, torch.Tensor):
            raise BadTable(f"{path}: edge_index is a {type(edges).__name__}; it must be a tensor [2, edges]")
        weight = content.get("edge_weight")
        check_size(x.numel() * max(4, x.element_size()), f"the dense form of x in {path}")
        dense = (x.to_dense() if is_sparse(x) else x).detach()
        dense = dense.float() if dense.dtype in HALF_PRECISION else dense
        weight = weight.detach().numpy() if isinstance(weight, torch.Tensor) else None
        arrays = dense.numpy(), edges.detach().numpy()
    return _checked(path, content, *arrays, weight, None)


def _unpacked(path: Path) -> int:
    """Bytes that a file of torch's unfolds to; old ones are not archives."""
    if not zipfile.is_zipfile(path):
        return path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())


def _pyg_classes() -> list[Any]:
    """What a pickled ``Data`` is made of; all of it plain containers."""
    from torch_geometric.data import Data
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import BaseStorage, EdgeStorage, GlobalStorage, NodeStorage

    return [Data, DataEdgeAttr, DataTensorAttr, BaseStorage, EdgeStorage, GlobalStorage, NodeStorage]


def _checked(path: Path, content: Any, x: NDArray[Any], edges: NDArray[Any], weight: Any, names: Any) -> Arrays:
    if x.ndim != 2 or 0 in x.shape or not (np.issubdtype(x.dtype, np.number) or x.dtype == bool):
        raise BadTable(f"{path}: x is {x.dtype} of shape {list(x.shape)}; it must be numbers [nodes, features]")
    if np.issubdtype(x.dtype, np.complexfloating):
        raise BadTable(f"{path}: x holds complex numbers; real ones are needed")
    if edges.ndim != 2 or edges.shape[0] != 2 or not (edges.dtype.kind in "iu" or not edges.size):
        raise BadTable(
            f"{path}: edge_index is {edges.dtype} of shape {list(edges.shape)}; it must be integers [2, edges]"
        )
    if edges.size and (edges.min() < 0 or edges.max() >= x.shape[0]):
        stray = int(edges.min() if edges.min() < 0 else edges.max())
        raise BadTable(f"{path}: edge_index names node {stray}; x has {x.shape[0]} rows")
    if weight is not None:
        weight, count = np.asarray(weight).reshape(-1), edges.shape[1]
        fits = weight.dtype.kind in "biuf" and weight.size == count
        if not fits or not np.isfinite(weight).all() or (weight < 0).any():
            raise BadTable(f"{path}: edge_weight must hold one finite weight from 0 for each of the {count} edges")
    listed = [str(name) for name in np.asarray(names).reshape(-1)] if names is not None else []
    if len(set(listed)) != x.shape[1]:
        listed = [f"x{k}" for k in range(x.shape[1])]
    return Arrays(path, content, x, listed, edges.astype(np.int64), weight)
