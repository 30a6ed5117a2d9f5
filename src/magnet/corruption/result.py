"""The result of a corruption: the corrupted graph, the ground truth and the parameters."""

from __future__ import annotations

import copy
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from magnet.arrays import CELLS_PER_BLOCK, checksum, is_sparse, to_scipy
from magnet.datasets import DATASETS
from magnet.datasets.npz import load_graph, save_graph
from magnet.files import damaged


@dataclass(frozen=True, eq=False)
class Corruption:
    """A corrupted graph and the truth about it.

    Args:
        data: copy of the input whose ``x`` is corrupted; everything else is shared with the input.
        cells: bool ``[nodes, features]``, dense, true exactly where the new value differs from the old one by
            more than the tolerance.
        nodes: bool ``[nodes]``, true where a node has at least one such cell.
        info: the parameters, the seed, the shares of wrong cells and nodes, and a checksum of the new ``x``.
    """

    data: Data
    cells: torch.Tensor
    nodes: torch.Tensor
    info: dict[str, Any]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the corrupted graph and its truth to an ``.npz`` file (see :mod:`magnet.datasets.npz`).

        Besides the graph it holds ``cells`` (bool, ``[nodes, features]``) and ``info`` (JSON).
        """
        save_graph(path, self.data, cells=self.cells.cpu().numpy(), info=np.array(json.dumps(self.info)))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Corruption:
        """Read what :meth:`save` wrote, and check it against its checksum."""
        data, extra = load_graph(path)
        with damaged(Path(path)):
            cells, info = torch.from_numpy(extra["cells"]), json.loads(str(extra["info"]))
            if cells.shape != data.x.shape or checksum(data.x) != info["checksum"]:
                raise ValueError("the features do not match the saved checksum")
        return cls(data, cells, cells.any(dim=1), info)

    def __repr__(self) -> str:
        kind, share = self.info["kind"], self.info["cell_share"]
        cells, nodes = int(self.cells.sum()), int(self.nodes.sum())
        return f"Corruption({kind!r}, {cells} cells = {share:.3%}, {nodes} nodes)"


def finish(data: Data, x: torch.Tensor, tolerance: float | None, **info: Any) -> Corruption:
    """The result for new features ``x``. A cell that moved by more than the tolerance is wrong (default: the paper's
    tolerance for a known dataset, else 0)."""
    entry = DATASETS.get(getattr(data, "name", None) or "")
    margin = (0.0 if entry is None else entry.tolerance) if tolerance is None else float(tolerance)
    if not margin >= 0:
        raise ValueError(f"tolerance is {tolerance}; it must be 0 or more")
    cells = changed(data.x, x, margin)
    nodes = cells.any(dim=1)
    corrupted = copy.copy(data)
    corrupted.x = x
    facts = {
        "dataset": getattr(data, "name", None),
        **info,
        "tolerance": margin,
        "cell_share": int(cells.sum()) / cells.numel(),
        "node_share": int(nodes.sum()) / nodes.numel(),
        "checksum": checksum(x),
    }
    return Corruption(corrupted, cells, nodes, facts)


def changed(old: torch.Tensor, new: torch.Tensor, tolerance: float = 0.0) -> torch.Tensor:
    """Dense bool ``[nodes, features]``: where two feature matrices differ by more than ``tolerance``."""
    if is_sparse(old):
        difference = abs(to_scipy(new) - to_scipy(old))
        difference.data = difference.data > tolerance
        return torch.from_numpy(sp.csr_matrix(difference, dtype=bool).toarray()).to(old.device)
    cells = torch.empty(old.shape, dtype=torch.bool, device=old.device)
    step = max(1, CELLS_PER_BLOCK // old.shape[1])
    for start in range(0, old.shape[0], step):
        rows = slice(start, start + step)
        cells[rows] = (new[rows] - old[rows]).abs() > tolerance
    return cells


def check_features(data: Data) -> tuple[int, int]:
    """``(nodes, features)`` of a graph whose features can be corrupted."""
    x = getattr(data, "x", None)
    if not isinstance(x, torch.Tensor) or x.dim() != 2 or not x.is_floating_point():
        raise ValueError("data.x must be a 2-D tensor of floating-point features")
    nodes, columns = int(x.shape[0]), int(x.shape[1])
    if nodes == 0 or columns == 0:
        raise ValueError(f"data.x has shape {nodes} x {columns}: there is nothing to corrupt")
    if not torch.isfinite(x.values() if x.layout == torch.sparse_csr else x).all():
        raise ValueError("data.x holds missing or infinite values; replace them before corrupting")
    return nodes, columns


def check_share(name: str, value: float) -> None:
    if not (isinstance(value, int | float | np.number) and 0 < value <= 1):
        raise ValueError(f"{name} is {value!r}; it must be above 0 and at most 1")
