"""Cora, CiteSeer and PubMed as published by Yang et al. 2016 (Planetoid), with the public split."""

from __future__ import annotations

import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from magnet.datasets.build import index_mask, make_data
from magnet.files import damaged
from magnet.untrusted import check_size, checked_csr, to_dense

VALIDATION = 500  # nodes, which follow the training nodes


class _Unpickler(pickle.Unpickler):
    """Reads the published Python 2 pickles, which hold only arrays, CSR matrices and a dict of lists."""

    _ALLOWED: ClassVar[dict[tuple[str, str], Any]] = {
        ("numpy.core.multiarray", "_reconstruct"): np.zeros(1).__reduce__()[0],
        ("numpy", "dtype"): np.dtype,
        ("numpy", "ndarray"): np.ndarray,
        ("scipy.sparse.csr", "csr_matrix"): sp.csr_matrix,
        ("collections", "defaultdict"): defaultdict,
        ("__builtin__", "list"): list,
    }

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self._ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no Planetoid file does") from None


def read(name: str, folder: Path, split: int) -> Data:
    """Nodes ``0..`` carry ``allx``, the nodes of ``test.index`` carry ``tx`` in that order.

    CiteSeer's test range has 15 ids without data: they get zero rows and class 0, and are in no mask.
    """
    kinds = {"y": np.ndarray, "tx": sp.csr_matrix, "allx": sp.csr_matrix, "ty": np.ndarray, "ally": np.ndarray}
    part = {key: _unpickle(folder / f"ind.{name}.{key}", kind) for key, kind in {**kinds, "graph": dict}.items()}
    path = folder / f"ind.{name}.test.index"
    with damaged(path):
        test = np.loadtxt(path, dtype=np.int64)
    with damaged(folder / f"ind.{name}.allx"):
        count, last = part["allx"].shape[0], int(test.max())
        check_size(4 * (last + 1) * part["allx"].shape[1], "the features")
        x = np.zeros((last + 1, part["allx"].shape[1]), dtype=np.float32)
        x[:count] = to_dense(checked_csr(part["allx"]))
        x[test] = to_dense(checked_csr(part["tx"]))
        y = np.zeros(last + 1, dtype=np.int64)
        y[:count] = part["ally"].argmax(axis=1)
        y[test] = part["ty"].argmax(axis=1)
    with damaged(folder / f"ind.{name}.graph"):
        degree = [len(neighbors) for neighbors in part["graph"].values()]
        edges = np.stack([np.repeat(list(part["graph"]), degree), np.concatenate(list(part["graph"].values()))])
        train = len(part["y"])
        index = (np.arange(train), np.arange(train, train + VALIDATION), test)
        masks = tuple(index_mask(nodes, last + 1) for nodes in index)
        return make_data(torch.from_numpy(x), edges, y, masks)  # type: ignore[arg-type]


def _unpickle(path: Path, kind: type) -> Any:
    with damaged(path), path.open("rb") as file:
        try:
            content = _Unpickler(file, encoding="latin1").load()
        except AttributeError as error:  # an instruction that the object does not support
            raise pickle.UnpicklingError(str(error)) from None
        if not isinstance(content, kind):
            raise ValueError(f"it holds a {type(content).__name__}, not a {kind.__name__}")
        return content
